"""The second indicator: in how many pairs of candidates a model agrees with the gold order."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from patcache.records import IntArray, Shape


def concordance(blocks: IntArray, shape: Shape) -> IntArray:
    """Concordant minus discordant pairs of each tuple: how far a model agrees with the gold order.

    Shapes: blocks (T, m) in gold order, growing with similarity, equal for ties -> (T,).
    Units:  pairs; divide by n_cross_pairs(shape) for a value in [-1, 1], 0 at chance.
    Source: Kendall 1938, over pairs of different gold level; a tie counts 0, its expectation.
    Errors: ValueError if the widths differ.
    """
    if blocks.shape[1] != shape.n_candidates:
        raise ValueError(
            f"{blocks.shape[1]} candidates in a tuple, {shape.n_candidates} gold levels"
        )
    by_candidate = np.ascontiguousarray(blocks.T, dtype=np.int8)  # a column is one contiguous row
    balance = np.zeros(len(blocks), dtype=np.int64)
    for low, high in _cross_pairs(shape):
        above = by_candidate[high] > by_candidate[low]
        below = by_candidate[high] < by_candidate[low]
        balance += above.view(np.int8) - below.view(np.int8)
    return balance


def n_cross_pairs(shape: Shape) -> int:
    """Pairs of candidates of different gold level."""
    return len(_cross_pairs(shape))


def _cross_pairs(shape: Shape) -> list[tuple[int, int]]:
    levels = shape.levels
    return [(i, j) for i, j in combinations(range(len(levels)), 2) if levels[i] < levels[j]]
