"""The nearest rows: exactly those that numpy finds, whatever is filtered, copied or broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from patcache.vectors.rows import AnyRows, open_rows
from patcache.vectors.search import BLOCK_ROWS, exact_search, unit_rows
from tests.vectors.test_rows import RUN, spec_of


def rows_of(folder: Path, vectors: Any, storage: str = "float32", sparse: bool = False) -> AnyRows:
    """A folder of vectors with random keys, in one block."""
    rows: Any = open_rows(folder, spec_of(vectors.shape[1], storage, sparse))
    add_rows(rows, vectors)
    found: AnyRows = rows
    return found


def add_rows(rows: Any, vectors: Any) -> None:
    keys = np.random.default_rng(rows.n_rows).integers(0, 256, (len(vectors), 16), dtype=np.uint8)
    with rows.writing():
        rows.append(keys, csr_array(vectors) if rows.spec.sparse else vectors, RUN)


def random_vectors(n: int, dim: int = 16, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


def by_argsort(vectors: Any, queries: Any, k: int) -> Any:
    """Cosines in float64 and a stable sort: rows (q, k)."""

    def unit(array: Any) -> Any:
        array = array.astype(np.float64)
        return array / np.linalg.norm(array, axis=1, keepdims=True)

    return np.argsort(-(unit(queries) @ unit(vectors).T), axis=1, kind="stable")[:, :k]


def test_three_vectors_by_hand(tmp_path: Path) -> None:
    # Cosine with (1, 0, 0): 1 of (5, 0, 0); 4/5 of (4, 3, 0); 0 of (0, 0, 2).
    rows = rows_of(tmp_path, np.array([[0, 0, 2], [4, 3, 0], [5, 0, 0]], dtype=np.float32))
    hits = exact_search(rows, np.array([[1, 0, 0]], dtype=np.float32), 3)
    assert hits.rows.tolist() == [[2, 1, 0]]
    assert hits.similarities[0].tolist() == pytest.approx([1.0, 0.8, 0.0], abs=1e-7)


@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_exact_search_is_what_argsort_finds(tmp_path: Path, storage: str) -> None:
    vectors = random_vectors(2 * BLOCK_ROWS + 100)
    rows = rows_of(tmp_path, vectors, storage)
    queries = random_vectors(150, seed=1)  # more than are searched for at once
    stored: Any = rows.gather(np.arange(len(vectors)))
    hits = exact_search(rows, queries, 10)
    assert hits.rows.tolist() == by_argsort(stored, queries, 10).tolist()


def test_equal_vectors_come_by_row_with_one_similarity(tmp_path: Path) -> None:
    vectors = np.repeat(random_vectors(3), 7, axis=0)  # each seven times, in blocks of seven
    hits = exact_search(rows_of(tmp_path, vectors), vectors[7:8], 7)
    assert hits.rows[0].tolist() == list(range(7, 14))
    assert len(set(hits.similarities[0].tolist())) == 1


def test_only_wanted_rows_are_hits_and_only_they_are_read(tmp_path: Path) -> None:
    vectors = random_vectors(3 * BLOCK_ROWS)
    rows: Any = rows_of(tmp_path, vectors)
    wanted = np.zeros(len(vectors), dtype=np.bool_)
    wanted[np.arange(5, len(vectors), 97)] = True
    gathered = []
    whole = rows.gather
    rows.gather = lambda some: gathered.append(some) or whole(some)
    hits = exact_search(rows, vectors[:4], 10, wanted=wanted)
    numbers = np.flatnonzero(wanted)
    assert hits.rows.tolist() == numbers[by_argsort(vectors[wanted], vectors[:4], 10)].tolist()
    assert all(wanted[some].all() for some in gathered)


def test_a_query_s_own_row_is_no_hit_and_fewer_than_k_are_said(tmp_path: Path) -> None:
    vectors = random_vectors(4)
    rows = rows_of(tmp_path, vectors)
    hits = exact_search(rows, vectors[:2], 4, own=np.array([0, -1]))
    assert 0 not in hits.rows[0].tolist()
    assert hits.rows[0, 3] == -1
    assert np.isnan(hits.similarities[0, 3])
    assert sorted(hits.rows[1].tolist()) == [0, 1, 2, 3]
    assert exact_search(rows, vectors[:1], 9).rows.shape == (1, 4)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_without_a_direction_are_never_hits(tmp_path: Path, sparse: bool) -> None:
    vectors = -np.abs(random_vectors(6, 3))  # all far from the query: zero rows would come first
    vectors[1] = 0
    vectors[2, 0] = np.nan
    vectors[4, 1] = np.inf
    rows = rows_of(tmp_path, vectors, sparse=sparse)
    query: Any = np.ones((1, 3), dtype=np.float32)
    hits = exact_search(rows, csr_array(query) if sparse else query, 6)
    assert sorted(hits.rows[hits.rows >= 0].tolist()) == [0, 3, 5]
    assert (hits.similarities[hits.rows >= 0] < 0).all()


def test_lengths_that_float32_cannot_square_keep_their_direction() -> None:
    vectors = np.array([[3e-30, 4e-30], [3e30, 4e30], [0, 0]], dtype=np.float32)
    unit, is_defined = unit_rows(vectors)
    assert unit[:2].ravel().tolist() == pytest.approx([0.6, 0.8, 0.6, 0.8])
    assert is_defined.tolist() == [True, True, False]


def test_unit_vectors_are_not_copied() -> None:
    vectors = np.eye(5, dtype=np.float32)
    assert unit_rows(vectors)[0] is vectors


def test_sparse_products_find_what_dense_ones_do(tmp_path: Path) -> None:
    vectors = random_vectors(500, 40)
    vectors[np.random.default_rng(2).random(vectors.shape) < 0.8] = 0
    dense = rows_of(tmp_path / "dense", vectors)
    sparse = rows_of(tmp_path / "sparse", vectors, sparse=True)
    queries, own = vectors[:150], np.arange(150)
    wanted = np.arange(500) % 3 > 0
    for options in ({}, {"wanted": wanted}, {"own": own}, {"wanted": wanted, "own": own}):
        one = exact_search(dense, queries, 5, **options)
        other = exact_search(sparse, csr_array(queries), 5, **options)
        assert one.rows.tolist() == other.rows.tolist()
        assert np.abs(one.similarities - other.similarities).max() < 1e-6
