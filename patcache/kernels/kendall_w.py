"""Whether several rankings of the same items agree: Kendall's W."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from patcache.records import DoubleArray

N_RESAMPLES = 9_999
MOST_ARRANGEMENTS = 50_000  # that are all looked at; of more, N_RESAMPLES are drawn
SLACK = 1e-9  # equal sums of squares differ by rounding only


@dataclass(frozen=True, slots=True)
class Concordance:
    """How far rankings agree. w: 1 where they are all the same, 0 where they cancel out.

    chi_square: Friedman's statistic, with n_items - 1 degrees of freedom. pvalue: of rankings that
    are each in random order; is_exact: over all such orders instead of a draw of them.
    """

    w: float
    chi_square: float
    pvalue: float
    is_exact: bool


def ranks_of(values: DoubleArray) -> DoubleArray:
    """Rank of each item in each row, 1 for the largest value; equal values share their mean rank.

    Shapes: values (D, n) -> (D, n).
    """
    above = (values[:, None, :] > values[:, :, None]).sum(axis=-1)
    alike = (values[:, None, :] == values[:, :, None]).sum(axis=-1)
    ranks: DoubleArray = above + (alike + 1) / 2
    return ranks


def concordance(ranks: DoubleArray, rng: np.random.Generator) -> Concordance | None:
    """Kendall's W of D rankings of n items, corrected for ties, and its p by permutation.

    None with fewer than two rankings or items, or where every ranking ties all items.

    Shapes: ranks (D, n), mean ranks where tied.
    Source: Kendall and Babington Smith 1939; W = 12 S / (D^2 (n^3 - n) - D sum(t^3 - t)), S the
            sum of squares of the items' rank sums about their mean; chi-square = D (n - 1) W
            (Friedman 1937). p: all (n!)^(D - 1) orders against the first ranking, or a draw of
            them, (hits + 1) / (draws + 1).
    """
    n_rankings, n_items = ranks.shape
    if n_rankings < 2 or n_items < 2:
        return None
    ties = sum(_tie_term(row) for row in ranks)
    largest = n_rankings**2 * (n_items**3 - n_items) - n_rankings * ties
    if largest <= 0:
        return None
    found = float(_spread(ranks.sum(axis=0)))
    w = 12 * found / largest
    is_exact = factorial(n_items) ** (n_rankings - 1) <= MOST_ARRANGEMENTS
    pvalue = _exact(ranks, found) if is_exact else _resampled(ranks, found, rng)
    return Concordance(w, n_rankings * (n_items - 1) * w, pvalue, is_exact)


def _tie_term(row: DoubleArray) -> float:
    sizes = np.unique(row, return_counts=True)[1].astype(np.float64)
    return float((sizes**3 - sizes).sum())


def _spread(sums: DoubleArray) -> DoubleArray:
    """Sum of squares about the mean, over the last axis."""
    spread: DoubleArray = ((sums - sums.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return spread


def _exact(ranks: DoubleArray, found: float) -> float:
    sums = ranks[:1]
    for row in ranks[1:]:
        orders = np.array(list(permutations(row)))
        sums = (sums[:, None, :] + orders).reshape(-1, ranks.shape[1])
    return float((_spread(sums) >= found - SLACK).mean())


def _resampled(ranks: DoubleArray, found: float, rng: np.random.Generator) -> float:
    sums = np.zeros((N_RESAMPLES, ranks.shape[1]))
    for row in ranks:
        sums += rng.permuted(np.broadcast_to(row, sums.shape), axis=1)
    hits = int(np.count_nonzero(_spread(sums) >= found - SLACK))
    return (hits + 1) / (N_RESAMPLES + 1)
