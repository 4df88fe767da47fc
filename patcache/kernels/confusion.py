"""Which gold levels a model confuses: where their candidates stand, and which of two is nearer.

Ranks count from 1, the least similar candidate; candidates stand in gold order, level 1 first.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.kernels.footrule import DEFAULT_TIE_TOLERANCE, tie_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import DoubleArray, IntArray, Shape

Z_95 = 1.959963984540054  # 97.5 % point of the standard normal


@dataclass(frozen=True, slots=True)
class Standing:
    """Counts of T tuples of one shape with m candidates and L levels; counts of pieces add up.

    Shapes: blocks (m, m + 1, m + 1), of each candidate's lowest and highest rank; halves
    (L - 1, H), how often k halves of the pairs of two neighbouring levels are in gold order, for
    k = 0 ... H - 1: a pair in order is two halves, a tie one.
    """

    blocks: IntArray
    halves: IntArray

    def __add__(self, other: Standing) -> Standing:
        return Standing(self.blocks + other.blocks, self.halves + other.halves)


def standing(
    similarities: NDArray[np.floating[Any]],
    shape: Shape,
    tie_tolerance: float = DEFAULT_TIE_TOLERANCE,
) -> Standing:
    """Where the candidates of each tuple stand, by the tie rule that scores are made by.

    Shapes: similarities (T, m), finite, in gold order.
    Errors: ValueError if the widths differ.
    """
    n_candidates = shape.n_candidates
    if similarities.shape[1] != n_candidates:
        raise ValueError(f"{similarities.shape[1]} candidates in a tuple, {n_candidates} levels")
    low, high, _ = tie_blocks(similarities, tie_tolerance)
    width = n_candidates + 1
    place = (np.arange(n_candidates) * width + low) * width + high
    blocks = np.bincount(place.ravel(), minlength=n_candidates * width * width)
    return Standing(blocks.reshape(n_candidates, width, width), _halves(low, shape))


def neighbours(shape: Shape) -> tuple[tuple[int, int], ...]:
    """The neighbouring levels of a shape, the shallower one first: (1, 2), (2, 3) ..."""
    levels = sorted(set(shape.levels))
    return tuple(pairwise(levels))


def pairs_of_neighbours(shape: Shape) -> IntArray:
    """Pairs of candidates (L - 1,) of each two neighbouring levels of one tuple."""
    sizes = np.array(shape.level_sizes, dtype=np.int64)
    pairs: IntArray = sizes[:-1] * sizes[1:]
    return pairs


def confusion(blocks: IntArray, shape: Shape) -> DoubleArray:
    """Candidates of each gold level that stand where each level belongs, ties shared evenly.

    A candidate whose tie block spans k ranks counts 1 / k at each of them. Level j belongs at the
    ranks its candidates have in gold order: rank j itself with one candidate a level.

    Shapes: blocks (m, m + 1, m + 1) as in Standing -> (L, L), gold level by place; every row sums
            to the candidates of its level.
    """
    n_candidates = shape.n_candidates
    at_rank = np.zeros((n_candidates, n_candidates))
    for low in range(1, n_candidates + 1):
        for high in range(low, n_candidates + 1):
            share = blocks[:, low, high] / (high - low + 1)
            at_rank[:, low - 1 : high] += share[:, None]
    starts = np.cumsum([0, *shape.level_sizes[:-1]])
    by_level = np.add.reduceat(at_rank, starts, axis=0)
    table: DoubleArray = np.add.reduceat(by_level, starts, axis=1)
    return table


def mean_interval(mean: float, variance: float, n: int) -> tuple[float, float]:
    """95 % interval of the mean of n values between 0 and 1, inside [0, 1] even at its ends.

    variance: of the values, with n - 1; where it is 0 the n values count as n trials.
    Source: Wilson 1927, with the effective number of trials mean (1 - mean) / (variance / n) of
            Korn and Graubard 1998: for values 0 and 1 it is Wilson's interval, but for n - 1.
    Errors: ValueError without a value.
    """
    if n < 1:
        raise ValueError("no values, no interval")
    spread = mean * (1 - mean)
    trials = n * spread / variance if variance > 0 and spread > 0 else float(n)
    squared = Z_95**2 / trials
    middle = (mean + squared / 2) / (1 + squared)
    half = Z_95 / (1 + squared) * np.sqrt(spread / trials + squared / (4 * trials))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def _halves(low: IntArray, shape: Shape) -> IntArray:
    sizes = np.array(shape.level_sizes)
    ends = sizes.cumsum()
    n_pairs = pairs_of_neighbours(shape)
    counts = np.zeros((len(sizes) - 1, 2 * int(n_pairs.max(initial=0)) + 1), dtype=np.int64)
    for i, size in enumerate(sizes[:-1]):
        shallow = low[:, ends[i] - size : ends[i], None]
        deep = low[:, None, ends[i] : ends[i + 1]]
        found = (np.sign(deep - shallow) + 1).sum(axis=(1, 2))
        counts[i] = np.bincount(found, minlength=counts.shape[1])
    return counts
