"""How far the order a model gives to a tuple's candidates is from the gold order, exactly.

Ranks count from 1, the least similar candidate; candidates stand in gold order, level 1 first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.kernels.tau import concordance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import BoolArray, IntArray, Shape

DEFAULT_TIE_TOLERANCE = 1e-6
NEAR_TIE_WIDTH = 1e-6
FLOAT32_NOISE = 2.5e-7  # what batch and device may add to the gap between two equal vectors
MAX_CANDIDATES = 40  # 40 * 40 / 2 ranks of lcm(1..40) units still fit 64 bits; 41 do not
UNDEFINED = -1  # no distance is negative


@dataclass(frozen=True, slots=True)
class Scores:
    """What one spec makes of T tuples; footrule and concordance mean nothing where undefined.

    Shapes: all (T,). footrule int64, in units of 1/units_per_rank of a rank (UNDEFINED where
    undefined); concordance int32, in pairs (0 where undefined).
    """

    footrule: IntArray
    concordance: NDArray[np.int32]
    is_defined: BoolArray
    is_near_tie: BoolArray


def score(
    similarities: NDArray[np.floating[Any]],
    shape: Shape,
    tie_tolerance: float = DEFAULT_TIE_TOLERANCE,
) -> Scores:
    """Both indicators of each tuple, from the similarities of its candidates.

    Shapes: similarities (T, m) in gold order -> (T,).
    Errors: ValueError if the widths differ, or m is above MAX_CANDIDATES.
    """
    defined = is_defined(similarities)
    usable = similarities if defined.all() else np.where(defined[:, None], similarities, 0)
    low, high, near_tie = tie_blocks(usable, tie_tolerance)
    footrule = _distances_of_blocks(low, high, shape)
    footrule[~defined] = UNDEFINED
    agreement = concordance(low, shape)
    agreement[~defined] = 0
    return Scores(footrule, agreement.astype(np.int32), defined, near_tie & defined)


def distances(
    similarities: NDArray[np.floating[Any]],
    shape: Shape,
    tie_tolerance: float = DEFAULT_TIE_TOLERANCE,
) -> IntArray:
    """Expected footrule distance of each tuple over every way to break its ties.

    Shapes: similarities (T, m) in gold order, finite -> (T,).
    Units:  1/units_per_rank(m) of a rank; divide by units_per_rank(m) * max_distance(shape).
    Source: Spearman's footrule (Diaconis and Graham 1977); a candidate at rank r costs its
            distance from the gold interval of its level, averaged over the ranks of its tie block.
    Errors: ValueError if the widths differ, or m is above MAX_CANDIDATES.
    """
    low, high, _ = tie_blocks(similarities, tie_tolerance)
    return _distances_of_blocks(low, high, shape)


def is_defined(similarities: NDArray[np.floating[Any]]) -> BoolArray:
    """Which tuples (T,) have only finite similarities (T, m): the others must not be ranked."""
    finite: BoolArray = np.isfinite(similarities).all(axis=1)
    return finite


def tie_blocks(
    similarities: NDArray[np.floating[Any]], tie_tolerance: float = DEFAULT_TIE_TOLERANCE
) -> tuple[IntArray, IntArray, BoolArray]:
    """The lowest and highest rank each candidate can have, and which tuples have a near-tie.

    Neighbours in order of similarity whose gap is at most the tolerance share a block (single
    linkage). A near-tie is a gap within 1e-6 of the tolerance, which other hardware could decide
    the other way; gaps that duplicates show (up to FLOAT32_NOISE, or up to the tolerance where
    that is smaller) are too far from the default tolerance to be decided the other way.

    Shapes: similarities (T, m), finite -> low (T, m), high (T, m), is_near_tie (T,).
    Errors: ValueError for a tolerance below 0, by which not even equal similarities would tie.
    """
    if not tie_tolerance >= 0:
        raise ValueError(f"a tie tolerance of {tie_tolerance} is not 0 or more")
    n_candidates = similarities.shape[1]
    order = np.argsort(similarities, axis=1)
    ascending = np.take_along_axis(similarities, order, axis=1).astype(np.float64)
    gaps = ascending[:, 1:] - ascending[:, :-1]
    is_apart = gaps > tie_tolerance
    position = np.arange(n_candidates)
    first = np.zeros(order.shape, dtype=np.int64)
    last = np.full(order.shape, n_candidates - 1, dtype=np.int64)
    first[:, 1:] = np.where(is_apart, position[1:], 0)
    last[:, :-1] = np.where(is_apart, position[:-1], n_candidates - 1)
    np.maximum.accumulate(first, axis=1, out=first)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    low, high = _unsorted(first + 1, order), _unsorted(last + 1, order)
    is_close = np.abs(gaps - tie_tolerance) <= NEAR_TIE_WIDTH
    is_close &= gaps > min(FLOAT32_NOISE, tie_tolerance)
    return low, high, np.asarray(is_close.any(axis=1))


def units_per_rank(n_candidates: int) -> int:
    """lcm(1..m): the mean over any tie block of m candidates is a whole number of these."""
    return lcm(*range(1, n_candidates + 1))


def max_distance(shape: Shape) -> int:
    """Distance, in ranks, of the reversed gold order: m * m // 2 with one candidate a level.

    Errors: ValueError for a single level, which no order can contradict.
    """
    first, last = _gold_intervals(shape)
    ranks = np.arange(shape.n_candidates, 0, -1)
    largest = int(_rank_costs(first, last, ranks).sum())
    if largest == 0:
        raise ValueError(f"gold levels {shape.levels} are all the same: there is no order to test")
    return largest


def paper_max_distance(n_candidates: int) -> float:
    """m * m / 2 ranks, the largest distance as the study prints it: too large for odd m."""
    return n_candidates**2 / 2


def chance(shape: Shape) -> Fraction:
    """RCI of a model that knows nothing: 1 minus the mean distance over every order."""
    cost = _cost_table(shape)
    expected = int(cost[:, 1, shape.n_candidates].sum())
    return 1 - Fraction(expected, units_per_rank(shape.n_candidates) * max_distance(shape))


def _unsorted(ascending: IntArray, order: IntArray) -> IntArray:
    in_gold_order: IntArray = np.empty(ascending.shape, dtype=np.int64)
    np.put_along_axis(in_gold_order, order, ascending, axis=1)
    return in_gold_order


def _distances_of_blocks(low: IntArray, high: IntArray, shape: Shape) -> IntArray:
    if low.shape[1] != shape.n_candidates:
        raise ValueError(f"{low.shape[1]} candidates in a tuple, {shape.n_candidates} gold levels")
    width = shape.n_candidates + 1
    candidate = np.arange(shape.n_candidates) * (width * width)
    costs: IntArray = _cost_table(shape).ravel()[candidate + low * width + high]
    total: IntArray = costs.sum(axis=1)
    return total


@lru_cache(maxsize=64)
def _cost_table(shape: Shape) -> IntArray:
    """Units that a candidate in a tie block costs: cost[candidate, low, high] (m, m + 1, m + 1)."""
    n_candidates = shape.n_candidates
    if not 1 <= n_candidates <= MAX_CANDIDATES:
        raise ValueError(f"{n_candidates} candidates; a tuple has 1 to {MAX_CANDIDATES}")
    units = units_per_rank(n_candidates)
    first, last = _gold_intervals(shape)
    ranks = np.arange(1, n_candidates + 1)
    at_rank = _rank_costs(first[:, None], last[:, None], ranks)
    upto = np.concatenate([np.zeros((n_candidates, 1), np.int64), at_rank.cumsum(axis=1)], axis=1)
    table = np.zeros((n_candidates, n_candidates + 1, n_candidates + 1), dtype=np.int64)
    for low in ranks:
        for high in range(low, n_candidates + 1):
            total = upto[:, high] - upto[:, low - 1]
            table[:, low, high] = total * (units // (high - low + 1))
    table.flags.writeable = False
    return table


def _gold_intervals(shape: Shape) -> tuple[IntArray, IntArray]:
    """First and last gold rank (m,) of each candidate: those its level spans."""
    sizes = np.array(shape.level_sizes, dtype=np.int64)
    ends = sizes.cumsum()
    return np.repeat(ends - sizes + 1, sizes), np.repeat(ends, sizes)


def _rank_costs(first: IntArray, last: IntArray, ranks: IntArray) -> IntArray:
    """Ranks between a candidate's rank and its gold interval: 0 inside, order there is free."""
    costs: IntArray = np.maximum(0, np.maximum(first - ranks, ranks - last))
    return costs
