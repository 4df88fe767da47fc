"""Two independent samples: intervals whose variances add, places, tau-b."""

from __future__ import annotations

import numpy as np
import pytest

from patcache.kernels.independent import difference_interval, kendall_tau_b, ranks


def test_variances_of_two_sides_add() -> None:
    # Half-widths 0.03 and 0.04: the difference of 0.1 has 0.05 (3-4-5).
    first = np.array([0.5]), np.array([0.47]), np.array([0.53])
    second = np.array([0.6]), np.array([0.56]), np.array([0.64])
    low, high = difference_interval(first, second)
    assert (low[0], high[0]) == pytest.approx((0.05, 0.15), abs=1e-12)
    low, high = difference_interval(second, first)
    assert (low[0], high[0]) == pytest.approx((-0.15, -0.05), abs=1e-12)


def test_lopsided_intervals_keep_their_side() -> None:
    # Down: 0.6 - 0.56 and 0.53 - 0.5; up: 0.72 - 0.6 = 0.12 and 0.5 - 0.34 = 0.16, so 0.2.
    first = np.array([0.5, np.nan]), np.array([0.34, 0.1]), np.array([0.53, 0.2])
    second = np.array([0.6, 0.6]), np.array([0.56, 0.5]), np.array([0.72, 0.7])
    low, high = difference_interval(first, second)
    assert (low[0], high[0]) == pytest.approx((0.1 - 0.05, 0.1 + 0.2), abs=1e-12)
    assert np.isnan([low[1], high[1]]).all()


def test_normal_means_get_the_textbook_interval() -> None:
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(2_000):
        sides = [rng.normal(1.0, 2.0, size=40), rng.normal(1.5, 1.0, size=90)]
        ends = []
        for side in sides:
            half = 1.96 * side.std(ddof=1) / np.sqrt(len(side))
            ends.append((side.mean(), side.mean() - half, side.mean() + half))
        low, high = difference_interval(ends[0], ends[1])
        inside += bool(low <= 0.5 <= high)
    assert inside / 2_000 == pytest.approx(0.95, abs=0.015)


def test_equal_values_share_the_best_place() -> None:
    found = ranks(np.array([0.3, 0.5, 0.3, np.nan, 0.1]))
    assert found[:3].tolist() == [2, 1, 2]
    assert np.isnan(found[3])
    assert found[4] == 4


def test_tau_b_is_worked_by_hand_and_equals_scipy_with_ties() -> None:
    # a: 1 2 3 4, b: 1 3 2 4: five pairs agree, one does not: 4 of 6.
    assert kendall_tau_b(np.arange(4.0), np.array([1.0, 3, 2, 4])) == pytest.approx(4 / 6)
    from scipy.stats import kendalltau

    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.integers(0, 4, size=(2, 9)).astype(float)
        assert kendall_tau_b(a, b) == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0, 2.0]])
def test_nothing_to_order_has_no_tau(values: list[float]) -> None:
    assert np.isnan(kendall_tau_b(np.array(values), np.arange(len(values), dtype=float)))
