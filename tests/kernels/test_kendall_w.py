"""Kendall's W: worked by hand, against Friedman's test, and p against all orders."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from patcache.kernels import kendall_w
from patcache.kernels.kendall_w import concordance, ranks_of


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_w_of_three_rankings_by_hand() -> None:
    # Rank sums 4, 6, 8 about 6: S = 4 + 0 + 4 = 8; W = 12 * 8 / (9 * (27 - 3)) = 4/9;
    # chi-square = 3 * 2 * 4/9 = 8/3.
    found = concordance(np.array([[1.0, 2, 3], [1, 3, 2], [2, 1, 3]]), rng())
    assert found is not None
    assert found.w == pytest.approx(4 / 9, abs=1e-12)
    assert found.chi_square == pytest.approx(8 / 3, abs=1e-12)


def test_ties_are_corrected_by_hand() -> None:
    # Sums 4, 6, 8 again; the third ranking ties all three: T = 27 - 3 = 24, so that
    # W = 12 * 8 / (9 * 24 - 3 * 24) = 96 / 144 = 2/3.
    found = concordance(np.array([[1.0, 2, 3], [1, 2, 3], [2, 2, 2]]), rng())
    assert found is not None
    assert found.w == pytest.approx(2 / 3, abs=1e-12)


def test_equal_rankings_give_1_and_opposite_ones_0() -> None:
    same = concordance(np.array([[1.0, 2, 3, 4]] * 5), rng())
    opposite = concordance(np.array([[1.0, 2, 3, 4], [4, 3, 2, 1]]), rng())
    assert same is not None
    assert opposite is not None
    assert same.w == pytest.approx(1, abs=1e-12)
    assert opposite.w == 0
    assert opposite.pvalue == 1


@pytest.mark.parametrize("seed", range(5))
def test_chi_square_is_friedmans_with_ties(seed: int) -> None:
    from scipy.stats import friedmanchisquare

    draws = np.random.default_rng(seed)
    values = draws.integers(0, 4, (6, 5)).astype(float)
    found = concordance(ranks_of(values), rng())
    assert found is not None
    expected = friedmanchisquare(*values.T).statistic
    assert found.chi_square == pytest.approx(expected, abs=1e-10)
    assert 0 <= found.w <= 1


def test_ranks_are_those_of_scipy() -> None:
    from scipy.stats import rankdata

    values = np.random.default_rng(3).integers(0, 3, (4, 6)).astype(float)
    assert ranks_of(values) == pytest.approx(rankdata(-values, axis=1), abs=0)


def brute_force(ranks: np.ndarray) -> float:
    """Share of all orders of all rankings whose rank sums spread at least as far."""

    def spread(rows: list[tuple[float, ...]]) -> float:
        sums = np.sum(rows, axis=0)
        return float(((sums - sums.mean()) ** 2).sum())

    found = spread([tuple(row) for row in ranks])
    every = [spread(list(rows)) for rows in product(*(list(permutations(row)) for row in ranks))]
    return float(np.mean(np.array(every) >= found - 1e-9))


@pytest.mark.parametrize(
    "ranks",
    [
        [[1, 2, 3], [1, 2, 3], [1, 2, 3]],
        [[1, 2, 3], [2, 1, 3], [1, 3, 2]],
        [[1.5, 1.5, 3], [1, 2, 3], [1, 2.5, 2.5]],
        [[1, 2, 3, 4], [2, 1, 3, 4]],
    ],
)
def test_p_of_few_rankings_is_exact(ranks: list[list[float]]) -> None:
    found = concordance(np.array(ranks, dtype=float), rng())
    assert found is not None
    assert found.is_exact
    assert found.pvalue == pytest.approx(brute_force(np.array(ranks)), abs=1e-12)


def test_p_of_many_rankings_is_drawn_and_near_the_exact_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranks = np.array([[1.0, 2, 3, 4], [2, 1, 3, 4], [1, 3, 2, 4]])
    exact = concordance(ranks, rng())
    monkeypatch.setattr(kendall_w, "MOST_ARRANGEMENTS", 1)
    drawn = concordance(ranks, rng())
    assert exact is not None
    assert drawn is not None
    assert (exact.is_exact, drawn.is_exact) == (True, False)
    # The standard error of a share of 9,999 draws is sqrt(p (1 - p) / 9999), here under 0.003.
    assert drawn.pvalue == pytest.approx(exact.pvalue, abs=0.01)
    assert drawn == concordance(ranks, rng())


@pytest.mark.parametrize("ranks", [[[1.0, 2]], [[1.0], [1.0]], [[1.5, 1.5], [1.5, 1.5]], [[], []]])
def test_nothing_to_compare_is_none(ranks: list[list[float]]) -> None:
    assert concordance(np.array(ranks, dtype=float), rng()) is None
