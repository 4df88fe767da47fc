"""Moments in pieces are numpy's and scipy's of the whole; quantiles are those of the values."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from scipy import stats

from patcache.kernels.moments import (
    Moments,
    bin_counts,
    binned_quantile,
    counted_quantile,
    merged,
    moments,
    standard_difference,
)


def test_pieces_of_values_far_from_zero_give_scipys_moments() -> None:
    values = 0.97 + 1e-3 * np.random.default_rng(3).gamma(2, size=5_000)
    found = reduce(merged, map(moments, np.split(values, [0, 1, 7, 1_500])), Moments())
    assert found.n == 5_000
    assert found.mean == pytest.approx(values.mean(), rel=1e-14)
    assert found.deviation == pytest.approx(values.std(ddof=1), rel=1e-12)
    assert found.skewness == pytest.approx(stats.skew(values), rel=1e-10)
    assert (found.lowest, found.highest) == (values.min(), values.max())


def test_counts_stand_for_values_that_repeat() -> None:
    # 0, 0, 0, 1: mean 1/4, squares 3/16 + 9/16 = 3/4, cubes -3/64 + 27/64 = 3/8,
    # so g1 = (3/32) / (3/16) ** 1.5 = 1.1547.
    found = moments(np.array([0.0, 0.5, 1.0]), np.array([3, 0, 1]))
    assert (found.n, found.mean, found.squares, found.cubes) == (4, 0.25, 0.75, 0.375)
    assert found.skewness == pytest.approx(2 / np.sqrt(3))
    assert (found.lowest, found.highest) == (0.0, 1.0)
    assert found == moments(np.array([0.0, 0.0, 0.0, 1.0]))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.0, 0.9, 1.0, 1.0], "left-skewed"),  # the long tail is on the low side
        ([0.0, 0.0, 0.1, 1.0], "right-skewed"),
        ([0.0, 0.5, 1.0], "about symmetric"),
        ([0.4, 0.4, 0.4], "constant"),
        ([0.1, 0.4], "too few"),
        ([], "too few"),
    ],
)
def test_the_sign_of_skewness_is_named_by_the_side_of_the_tail(
    values: list[float], words: str
) -> None:
    found = moments(np.array(values, dtype=np.float64))
    assert found.skew_words == words
    assert (found.skewness is None) == (words in ("constant", "too few"))
    if words == "left-skewed":
        assert found.skewness is not None
        assert found.skewness < 0


def test_one_value_has_no_deviation_and_nothing_is_nan() -> None:
    assert moments(np.array([0.3])).deviation is None
    assert moments(np.array([])) == Moments()
    with pytest.raises(ValueError, match="not finite"):
        moments(np.array([0.3, np.nan]))


def test_the_difference_in_pooled_deviations_is_cohens_d() -> None:
    # Means 2 and 5, variances 1 and 4 with 3 values each: 3 / sqrt(2.5).
    near, far = moments(np.array([1.0, 2, 3])), moments(np.array([3.0, 5, 7]))
    assert standard_difference(far, near) == pytest.approx(3 / np.sqrt(2.5))
    assert standard_difference(moments(np.ones(3)), moments(np.ones(3))) is None
    assert standard_difference(far, moments(np.array([1.0]))) is None


def test_bins_hold_both_edges_and_quantiles_are_within_a_bin() -> None:
    values = np.random.default_rng(1).normal(size=20_000)
    edges = float(values.min()), float(values.max())
    counts = bin_counts(values, edges, 10_000)
    assert counts.sum() == 20_000
    assert counts[0] >= 1
    assert counts[-1] >= 1
    width = (edges[1] - edges[0]) / 10_000
    for share in (0.0, 0.025, 0.5, 0.975, 1.0):
        found = binned_quantile(counts, edges, share)
        assert found == pytest.approx(np.quantile(values, share), abs=3 * width)
    assert bin_counts(np.full(4, 0.2), (0.2, 0.2), 3).tolist() == [4, 0, 0]
    assert binned_quantile(np.array([4, 0, 0]), (0.2, 0.2), 0.5) == 0.2
    assert binned_quantile(np.zeros(3, dtype=np.int64), (0.0, 1.0), 0.5) is None


def test_quantiles_of_counts_are_values_that_occur() -> None:
    counts, values = np.array([5, 90, 5]), np.array([0.0, 0.5, 1.0])
    raw = np.repeat(values, counts)
    for share in (0.025, 0.05, 0.06, 0.5, 0.95, 0.975):
        wanted = np.quantile(raw, share, method="inverted_cdf")
        assert counted_quantile(counts, values, share) == wanted
    assert counted_quantile(np.zeros(3, dtype=np.int64), values, 0.5) is None
