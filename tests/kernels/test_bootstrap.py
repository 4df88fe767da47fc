"""Bootstrap over targets, cell by cell: the limit is what simulation approaches, and it covers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from patcache.kernels.bootstrap import (
    bootstrap_test,
    mean_spread,
    normal_quantile,
    pooled,
    power_sums,
    resampled_means,
)
from patcache.kernels.outcomes import Outcome

VALUES = np.array([0.0, 0.2, 0.5, 1.0])
SHARES = np.array([0.1, 0.2, 0.3, 0.4])


def test_one_cell_has_the_standard_error_of_the_textbook() -> None:
    # 0 0.2 0.2 1: mean 0.35; squared deviations 0.1225 + 2 * 0.0225 + 0.4225 = 0.59, over 3 * 4.
    spread = mean_spread(power_sums(np.array([[1, 2, 0, 1]]), VALUES))
    assert spread.mean == pytest.approx(0.35, abs=1e-15)
    assert spread.standard_error == pytest.approx((0.59 / 12) ** 0.5, abs=1e-15)


def test_cells_are_weighted_by_their_targets_and_each_varies_by_itself() -> None:
    # Cells far apart but constant inside: no spread at all, where one pool of values has much.
    apart = np.array([[6, 0, 0, 0], [0, 0, 0, 2]])
    spread = mean_spread(power_sums(apart, VALUES))
    assert (spread.mean, spread.standard_error) == (0.25, 0.0)
    assert spread.interval() == (0.25, 0.25)
    assert mean_spread(power_sums(apart.sum(axis=0)[None], VALUES)).standard_error > 0.15


def test_the_moments_are_those_of_every_resample_there_is() -> None:
    # One cell 0 0.2 1, another 0.5 1: 2 of 3 and 1 of 2 are drawn, 9 * 2 ways, equally likely.
    counts = np.array([[1, 1, 0, 1], [0, 0, 1, 1]])
    ways = np.array(
        [3 / 5 * (a + b) / 2 + 2 / 5 * c for a, b, c in product((0, 0.2, 1), (0, 0.2, 1), (0.5, 1))]
    )
    spread = mean_spread(power_sums(counts, VALUES))
    around = ways - ways.mean()
    assert spread.mean == pytest.approx(ways.mean(), abs=1e-15)
    assert spread.standard_error == pytest.approx(ways.std(), abs=1e-15)
    assert spread.skewness == pytest.approx((around**3).mean() / ways.std() ** 3, abs=1e-12)
    assert spread.excess == pytest.approx((around**4).mean() / ways.std() ** 4 - 3, abs=1e-12)


@pytest.mark.parametrize(("n_cells", "n"), [(1, 400), (8, 13), (3, 5), (30, 1), (40, 2)])
def test_the_limit_is_what_many_resamples_approach(n_cells: int, n: int) -> None:
    rng = np.random.default_rng(n)
    counts = rng.multinomial(n, SHARES, size=n_cells)
    spread = mean_spread(power_sums(counts, VALUES))
    drawn = resampled_means(counts, VALUES, rng, 60_000)
    assert drawn.std() == pytest.approx(float(spread.standard_error), rel=0.02)
    grid = 0.1 / (n_cells * max(n - 1, 1))  # means of few values lie on a grid this wide
    wanted = np.quantile(drawn, [0.025, 0.975])
    assert spread.interval() == pytest.approx(tuple(wanted), abs=grid / 2 + 0.002)


def test_single_targets_are_one_stratum_and_a_lonely_one_joins_the_smallest() -> None:
    three = pooled(np.array([[1, 0], [0, 1], [2, 3], [1, 0]]), np.array([1, 1, 5, 1]))
    assert three.tolist() == [[2, 1], [0, 0], [2, 3], [0, 0]]
    one = pooled(np.array([[4, 4], [0, 1], [1, 1]]), np.array([8, 1, 2]))
    assert one.tolist() == [[4, 4], [0, 0], [1, 2]]
    alone = pooled(np.array([[0, 0], [0, 1]]), np.array([0, 1]))
    assert alone.tolist() == [[0, 0], [0, 1]]


def test_a_single_target_has_a_mean_and_no_interval_and_nothing_has_neither() -> None:
    counts = np.array([[[0, 1, 0, 0], [0, 0, 0, 0]], [[0, 0, 0, 0], [0, 0, 0, 0]]])
    with np.errstate(all="raise"):
        spread = mean_spread(power_sums(counts, VALUES))
        ends = spread.interval()
    assert spread.n.tolist() == [1, 0]
    assert spread.mean[0] == 0.2
    assert np.isnan(spread.mean[1])
    assert np.isnan(ends).all()


def test_ninety_five_in_a_hundred_intervals_hold_the_mean() -> None:
    rng = np.random.default_rng(3)
    n_held, n_studies = 0, 2_000
    for _ in range(n_studies):
        shares = rng.dirichlet(8 * SHARES, size=30)  # cells differ, as years and fields do
        counts = np.stack([rng.multinomial(4, share) for share in shares])
        low, high = mean_spread(power_sums(counts, VALUES)).interval()
        n_held += bool(low <= (shares @ VALUES).mean() <= high)
    assert n_held / n_studies == pytest.approx(0.95, abs=0.015)  # 3 sd of 2,000


def test_the_order_of_cells_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    counts = rng.multinomial(6, SHARES, size=9)
    sums = power_sums(counts, VALUES)
    one, two = mean_spread(sums), mean_spread(sums[::-1])
    assert one.interval() == pytest.approx(two.interval(), abs=1e-14)


def test_the_bootstrap_test_finds_a_shift_and_none_where_there_is_none() -> None:
    rng = np.random.default_rng(1)
    values = np.array([-0.2, 0.0, 0.2])
    level = bootstrap_test(np.array([[40, 20, 40]] * 5), values, rng, 2_000)
    assert 0.4 < level.greater < 0.6
    assert 0.4 < level.less < 0.6
    assert level.two_sided > 0.9
    ahead = bootstrap_test(np.array([[30, 20, 50]] * 5), values, rng, 2_000)
    assert ahead.greater < 0.005 < 0.99 < ahead.less
    flipped = bootstrap_test(np.array([[50, 20, 30]] * 5), values, rng, 2_000)
    assert flipped.less < 0.005


def test_the_bootstrap_test_has_the_pvalue_of_a_z_test_when_there_are_many() -> None:
    rng = np.random.default_rng(2)
    values = np.array([-0.2, 0.0, 0.2])
    counts = rng.multinomial(500, [0.31, 0.36, 0.33], size=4)
    spread = mean_spread(power_sums(counts, values))
    p = bootstrap_test(counts, values, rng, 40_000).greater
    assert float(spread.mean / spread.standard_error) == pytest.approx(
        -normal_quantile(p), abs=0.08
    )


def test_few_and_equal_are_told_in_words() -> None:
    rng, values = np.random.default_rng(1), np.array([-0.2, 0.0, 0.2])
    assert bootstrap_test(np.array([[1, 1, 0]]), values, rng, 99).outcome is Outcome.TOO_FEW
    equal = bootstrap_test(np.array([[0, 50, 0]]), values, rng, 99)
    assert (equal.greater, equal.outcome) == (1.0, Outcome.NO_DIFFERENCE)
