"""Two one-sided tests, and the tuples they would take."""

from __future__ import annotations

import numpy as np
import pytest

from patcache.kernels.equivalence import equivalence
from patcache.kernels.power import reach, smallest_difference, tuples_needed


def test_equals_scipys_one_sided_t_tests_on_the_differences() -> None:
    from scipy.stats import ttest_1samp

    rng = np.random.default_rng(1)
    for n in (3, 7, 40, 900):
        differences = rng.normal(-0.004, 0.05, size=n)
        mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(n)
        found = equivalence(np.array(n), np.array(mean), np.array(error), margin=0.01)
        not_worse = ttest_1samp(differences, -0.01, alternative="greater").pvalue
        not_better = ttest_1samp(differences, 0.01, alternative="less").pvalue
        assert found.not_worse == pytest.approx(not_worse, rel=1e-10)
        assert found.not_better == pytest.approx(not_better, rel=1e-10)
        assert found.worse == pytest.approx(1 - not_worse, rel=1e-10)
        assert found.equivalent == max(found.not_worse, found.not_better)


def test_without_spread_the_mean_decides_and_few_are_not_tested() -> None:
    n, mean = np.array([9, 9, 2, 0]), np.array([-0.01, -0.05, 0.0, np.nan])
    error = np.array([0.0, 0.0, 0.1, np.nan])
    with np.errstate(all="raise"):
        found = equivalence(n, mean, error, margin=0.02)
    assert found.not_worse[:2].tolist() == [0.0, 1.0]
    assert found.worse[:2].tolist() == [1.0, 0.0]
    assert np.isnan(found.not_worse[2:]).all()
    assert np.isnan(found.equivalent[2:]).all()
    with pytest.raises(ValueError, match="a margin of 0 is not above 0"):
        equivalence(n, mean, error, margin=0)


def test_four_in_five_studies_of_the_reckoned_size_see_the_difference() -> None:
    # z(0.95) + z(0.8) = 1.6449 + 0.8416 = 2.4865: a deviation of 0.2 takes (2.4865 * 20)^2.
    assert reach(0.05, 0.8) == pytest.approx(2.48647, abs=1e-4)
    n = int(tuples_needed(np.array(0.2), 0.01, 0.05, 0.8))
    assert n == 2474
    assert smallest_difference(np.array(0.2), np.array(n), 0.05, 0.8) == pytest.approx(
        0.01, rel=1e-3
    )
    studies = np.random.default_rng(1).normal(0.01, 0.2, size=(2_000, n))
    z = studies.mean(axis=1) / (studies.std(axis=1, ddof=1) / np.sqrt(n))
    assert np.mean(z > 1.6449) == pytest.approx(0.8, abs=0.03)  # 3 sd of 2,000


def test_what_is_no_difference_or_power_is_refused() -> None:
    with pytest.raises(ValueError, match="a difference of 0 is not above 0"):
        tuples_needed(np.array(0.2), 0, 0.05, 0.8)
    with pytest.raises(ValueError, match="power 1 is not between 0 and 1"):
        reach(0.05, 1)
    assert np.isnan(smallest_difference(np.array(0.2), np.array(0), 0.05, 0.8))
    assert np.isnan(tuples_needed(np.array(np.nan), 0.01, 0.05, 0.8))
