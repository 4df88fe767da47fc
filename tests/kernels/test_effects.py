"""Effects from counts: equal to numpy on the values themselves."""

from __future__ import annotations

import numpy as np
import pytest

from patcache.kernels.effects import means, medians


def test_means_and_medians_of_counts_are_those_of_the_values() -> None:
    # Counts 1 2 1 of 0, 1, 4 stand for 0 1 1 4: mean 6/4, median 1; 2 0 2 for 0 0 4 4: median 2.
    counts, values = np.array([[1, 2, 1], [2, 0, 2]]), np.array([0.0, 1.0, 4.0])
    assert means(counts, values).tolist() == [1.5, 2.0]
    assert medians(counts, values).tolist() == [1.0, 2.0]


def test_equal_numpy_on_random_values() -> None:
    rng = np.random.default_rng(1)
    for n in range(2, 60):
        sample = rng.integers(0, 7, size=n)
        counts, values = np.bincount(sample, minlength=7), np.arange(7) / 6
        assert means(counts, values) == pytest.approx(np.mean(sample / 6), abs=1e-12)
        assert medians(counts, values) == pytest.approx(np.median(sample / 6), abs=1e-12)


def test_nothing_has_no_mean_and_raises_no_warning() -> None:
    counts, values = np.zeros((2, 3), dtype=np.int64), np.array([0.0, 0.5, 1.0])
    with np.errstate(all="raise"):
        assert np.isnan(means(counts, values)).all()
        assert np.isnan(medians(counts, values)).all()
