"""Tests of normality say what they can, and in words what they cannot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from patcache.kernels.normality import Normality, normality


def seeded() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("n", [3, 50, 6_000])
def test_constant_values_are_constant_and_not_normal(n: int) -> None:
    # scipy says p = 1 (Shapiro) and p = 1e-80 (Kolmogorov-Smirnov with deviation 0)
    assert normality(np.full(n, 0.444), seeded()) == Normality("constant", n)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_values_are_too_few(n: int) -> None:
    assert normality(np.arange(n, dtype=np.float64), seeded()) == Normality("too few", n)


def test_many_values_get_a_result_that_says_it_is_approximate() -> None:
    values = seeded().integers(0, 19, size=6_000) / 18
    found = normality(values, seeded())
    assert (found.outcome, found.is_approximate) == ("tested", True)
    assert found.w_pvalue is not None
    assert 0 <= found.w_pvalue < 1e-6
    assert found.d is not None
    assert found.d > 0.05
    assert found.d_pvalue is None


def test_values_a_billionth_apart_are_tested_like_the_same_values_far_apart() -> None:
    far = seeded().normal(size=40)
    near = normality(0.5 + 1e-9 * far, seeded())
    wide = normality(far, seeded())
    assert near.outcome == "tested"
    assert near.w == pytest.approx(wide.w, abs=1e-6)
    assert near.d == pytest.approx(wide.d, abs=1e-6)
    assert near.w_pvalue is not None
    assert near.d_pvalue is not None
    assert 0 <= near.w_pvalue <= 1
    assert 0 <= near.d_pvalue <= 1


def test_normal_values_pass_and_two_valued_ones_do_not() -> None:
    passed = normality(seeded().normal(3, 2, size=200), seeded())
    assert passed.w_pvalue is not None
    assert passed.w_pvalue > 0.05
    assert passed.d_pvalue is not None
    assert passed.d_pvalue > 0.05
    failed = normality(np.repeat([0.0, 1.0], 100), seeded())
    assert failed.d_pvalue == 0.001  # 1 / (999 + 1), the least there is
    assert failed.w_pvalue is not None
    assert failed.w_pvalue < 1e-10


def test_shapiro_wilk_is_scipys() -> None:
    values = seeded().exponential(size=60)
    found, expected = normality(values, seeded()), stats.shapiro(values)
    assert found.w == pytest.approx(expected.statistic, rel=1e-9)
    assert found.w_pvalue == pytest.approx(expected.pvalue, rel=1e-6)


def test_the_same_seed_gives_the_same_p() -> None:
    values = seeded().uniform(size=30)
    assert normality(values, seeded()) == normality(values, seeded())


def test_a_value_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        normality(np.array([1.0, 2.0, np.nan]), seeded())
