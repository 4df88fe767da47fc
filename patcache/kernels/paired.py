"""Paired tests from counts of differences: all specs score the same tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from patcache.kernels.outcomes import (
    MIN_DEFINED,
    Outcome,
    Resampled,
    check_alternative,
    upper_tail,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import Alternative, DoubleArray, IntArray

ZeroMethod = Literal["pratt", "wilcox"]


@dataclass(frozen=True, slots=True)
class SignedRank:
    """Tests of differences against 0; pvalue is NaN exactly where the outcome is TOO_FEW.

    Shapes: all alike. w: sum of the ranks of positive differences; n: tuples, zeros included.
    """

    w: DoubleArray
    n: IntArray
    pvalue: DoubleArray
    outcome: NDArray[np.int8]


def signed_rank(
    positive: IntArray,
    negative: IntArray,
    n_zero: IntArray,
    alternative: Alternative = "greater",
    zero_method: ZeroMethod = "pratt",
) -> SignedRank:
    """Whether differences tend to be positive.

    Shapes: counts (..., V) over one ascending axis of |difference| > 0; n_zero (...) -> (...).
    Source: Wilcoxon 1945, zeros after Pratt 1959 (variance: Cureton 1967) or dropped; normal
            approximation, tie-corrected, without continuity correction, equal to
            scipy.stats.wilcoxon(method="asymptotic").
    Errors: ValueError for an unknown alternative.
    """
    check_alternative(alternative)
    positive, negative = np.asarray(positive, np.int64), np.asarray(negative, np.int64)
    n_zero = np.asarray(n_zero, np.int64)
    ties = positive + negative
    n = ties.sum(axis=-1) + n_zero
    ranked_zero = n_zero if zero_method == "pratt" else np.zeros_like(n_zero)
    twice_rank = 2 * (ranked_zero[..., None] + ties.cumsum(axis=-1)) - ties + 1
    w = np.asarray((positive * twice_rank).sum(axis=-1) / 2)
    outcome = np.full(w.shape, Outcome.TESTED, dtype=np.int8)
    outcome[n_zero == n] = Outcome.NO_DIFFERENCE
    outcome[n < MIN_DEFINED] = Outcome.TOO_FEW
    pvalue = np.where(outcome == Outcome.TOO_FEW, np.nan, 1.0)
    tested = outcome == Outcome.TESTED
    pvalue[tested] = _pvalues(w[tested], ties[tested], ranked_zero[tested], alternative)
    return SignedRank(w, n, pvalue, outcome)


def _pvalues(
    w: DoubleArray, ties: IntArray, ranked_zero: IntArray, alternative: Alternative
) -> DoubleArray:
    ties_f, zero = ties.astype(np.float64), ranked_zero.astype(np.float64)
    n = ties_f.sum(axis=-1) + zero
    mean = (n * (n + 1) - zero * (zero + 1)) / 4
    tie_term = (ties_f**3 - ties_f).sum(axis=-1)
    cubic = n * (n + 1) * (2 * n + 1) - zero * (zero + 1) * (2 * zero + 1)
    z = (w - mean) / np.sqrt((cubic - tie_term / 2) / 24)
    if alternative == "two-sided":
        return 2 * upper_tail(np.abs(z))
    return upper_tail(z if alternative == "greater" else -z)


def permutation_test(
    positive: IntArray,
    negative: IntArray,
    n_zero: int,
    magnitudes: DoubleArray,
    rng: np.random.Generator,
    n_resamples: int = 9_999,
) -> Resampled:
    """A mean difference of 0 against signs flipped at random.

    Flipping t equal differences is one binomial draw, so a resample costs V draws, not n.

    Shapes: counts (V,), magnitudes (V,) > 0.
    Source: Fisher 1935, by simulation.
    """
    ties = np.asarray(positive, np.int64) + np.asarray(negative, np.int64)
    if int(ties.sum()) + n_zero < MIN_DEFINED:
        return Resampled.without(Outcome.TOO_FEW)
    if not ties.any():
        return Resampled.without(Outcome.NO_DIFFERENCE)
    found = float(((positive - np.asarray(negative)) * magnitudes).sum())
    occurs = ties > 0
    heads = rng.binomial(ties[occurs], 0.5, size=(n_resamples, int(occurs.sum())))
    sums = (2 * heads - ties[occurs]) @ magnitudes[occurs]
    return Resampled.of(sums, found, slack=1e-9 * float(ties @ magnitudes))  # rounding of sums
