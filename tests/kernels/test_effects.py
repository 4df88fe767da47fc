"""Effects from counts: equal to numpy on the values themselves, with intervals that cover."""

from __future__ import annotations

import math

import numpy as np
import pytest

from patcache.kernels.effects import bootstrap_interval, means, medians, standard_errors


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
        error = np.std(sample / 6, ddof=1) / math.sqrt(n)
        assert standard_errors(counts, values) == pytest.approx(error, abs=1e-12)


def test_nothing_has_no_mean_and_raises_no_warning() -> None:
    counts, values = np.zeros((2, 3), dtype=np.int64), np.array([0.0, 0.5, 1.0])
    with np.errstate(all="raise"):
        assert np.isnan(means(counts, values)).all()
        assert np.isnan(medians(counts, values)).all()
        assert np.isnan(standard_errors(counts, values)).all()
    assert np.isnan(bootstrap_interval(counts[0], values, np.random.default_rng(1))).all()


def test_the_interval_equals_resampling_the_values_themselves() -> None:
    rng = np.random.default_rng(2)
    sample = rng.integers(0, 7, size=300) / 6
    drawn = rng.choice(sample, size=(20_000, 300)).mean(axis=1)
    counts = np.bincount((sample * 6).round().astype(int), minlength=7)
    found = bootstrap_interval(counts, np.arange(7) / 6, rng, n_resamples=20_000)
    assert found == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.002)


def test_ninety_five_in_a_hundred_intervals_hold_the_mean() -> None:
    rng = np.random.default_rng(3)
    shares, values = np.array([0.1, 0.2, 0.4, 0.3]), np.array([0.0, 0.4, 0.6, 1.0])
    counts = rng.multinomial(200, shares, size=400)
    intervals = [bootstrap_interval(row, values, rng, n_resamples=400) for row in counts]
    held = sum(low <= shares @ values <= high for low, high in intervals)
    assert 0.91 <= held / 400 <= 0.98  # 95 % plus or minus 3 sd


def test_the_same_seed_gives_the_same_interval_and_one_value_gives_a_point() -> None:
    counts, values = np.array([5, 9, 3]), np.array([0.0, 0.5, 1.0])
    one, two = (bootstrap_interval(counts, values, np.random.default_rng(7)) for _ in range(2))
    assert one == two
    rng = np.random.default_rng(7)
    assert bootstrap_interval(np.array([0, 4, 0]), values, rng) == (0.5, 0.5)
