"""The model of chance gives the same vector for a text, always and everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from patcache.embedders.random import gaussian
from tests.embedders.tiny import opened


def test_a_vector_depends_on_seed_and_text_alone() -> None:
    embedder = opened("random", dim=7)
    texts = ["one", "two", "three"]
    together = embedder.encode(texts, "query").vectors
    backwards = embedder.encode(texts[::-1], "document").vectors[::-1]
    assert np.array_equal(together, backwards)
    assert together.shape == (3, 7)
    assert not np.array_equal(
        together, opened("random", dim=7, seed=1).encode(texts, "query").vectors
    )


def test_the_numbers_stay_those_of_the_first_release() -> None:
    # Written down once: stored specs rely on them.
    assert gaussian(0, "a seat belt", 3).tolist() == pytest.approx(EXPECTED, abs=1e-6)


def test_numbers_are_standard_normal_and_texts_unrelated() -> None:
    vectors = opened("random").encode([f"text {i}" for i in range(400)], "query").vectors
    assert abs(vectors.mean()) < 0.02
    assert abs(vectors.std() - 1) < 0.02
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = (unit @ unit.T)[np.triu_indices(400, 1)]
    assert abs(cosines.mean()) < 0.001  # sd 1/16 over 79,800 pairs


def test_no_texts_give_no_rows() -> None:
    assert opened("random").encode([], "query").vectors.shape == (0, 256)


EXPECTED = [0.8292112, -0.5643923, -0.2048674]
