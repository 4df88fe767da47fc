"""Cosines: values by hand, what is undefined, and that places do not matter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from patcache.kernels.cosine import dense_cosines, sparse_cosines

NAN, INF = math.nan, math.inf


def cosines(tuples: Any) -> Any:
    """Both ways: dense rows, and the same as CSR."""
    vectors = np.array(tuples, dtype=np.float32)
    dense = dense_cosines(vectors)
    width = vectors.shape[2]
    sparse = sparse_cosines(csr_array(vectors[:, 0]), csr_array(vectors[:, 1:].reshape(-1, width)))
    np.testing.assert_allclose(sparse, dense, atol=2e-7)
    assert dense.dtype == sparse.dtype == np.float32
    return dense


def test_angles_known_by_hand() -> None:
    # (3, 4) has length 5: with (1, 0) 3/5, with (4, 3) 24/25, with (-3, -4) -1.
    found = cosines([[[3, 4], [1, 0], [4, 3], [-3, -4]]])
    assert found.tolist() == [pytest.approx([0.6, 0.96, -1.0])]


@pytest.mark.parametrize("bad", [[0, 0], [NAN, 1], [INF, 1], [-INF, 1], [INF, INF]])
def test_a_vector_without_a_direction_is_undefined_as_target_and_as_candidate(bad: Any) -> None:
    found = cosines([[[1, 0], [1, 1], bad], [bad, [1, 0], [0, 1]], [[1, 0], [1, 0], [0, 1]]])
    assert np.isnan(found).tolist() == [[False, True], [True, True], [False, False]]
    assert found[2].tolist() == [1.0, 0.0]


def test_very_long_and_very_short_vectors_have_a_direction() -> None:
    found = dense_cosines(np.array([[[3e30, 4e30], [1, 0], [4e-30, 3e-30]]], dtype=np.float32))
    np.testing.assert_allclose(found, [[0.6, 0.96]], rtol=1e-6)


def test_the_place_of_a_candidate_changes_no_bit() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((5, 8, 331), dtype=np.float32)
    for order in (rng.permutation(7) for _ in range(20)):
        shuffled = np.concatenate([vectors[:, :1], vectors[:, 1:][:, order]], axis=1)
        assert np.array_equal(dense_cosines(shuffled), dense_cosines(vectors)[:, order])
    alone = np.concatenate([dense_cosines(vectors[i : i + 1]) for i in range(5)])
    assert np.array_equal(alone, dense_cosines(vectors))


def test_equal_vectors_have_equal_cosines_wherever_they_stand() -> None:
    vectors = np.random.default_rng(1).standard_normal((1, 7, 100), dtype=np.float32)
    vectors[0, [2, 4, 6]] = vectors[0, 1]
    found = dense_cosines(vectors)[0]
    assert len({found[0], found[1], found[3], found[5]}) == 1


def test_agrees_with_float64() -> None:
    vectors = np.random.default_rng(2).standard_normal((50, 7, 300), dtype=np.float32)
    exact = vectors.astype(np.float64)
    exact /= np.linalg.norm(exact, axis=2, keepdims=True)
    expected = np.einsum("tmd,td->tm", exact[:, 1:], exact[:, 0])
    np.testing.assert_allclose(dense_cosines(vectors), expected, atol=3e-7)


def test_a_dense_row_beside_a_bad_one_keeps_its_bits() -> None:
    vectors = np.random.default_rng(3).standard_normal((2, 7, 64), dtype=np.float32)
    bad = vectors.copy()
    bad[0, 3] = NAN
    assert np.array_equal(dense_cosines(bad)[1], dense_cosines(vectors)[1])
