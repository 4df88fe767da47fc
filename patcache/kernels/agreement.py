"""How far two models agree on which tuples are easy: correlations from joint counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from patcache.records import DoubleArray, IntArray


@dataclass(frozen=True, slots=True)
class Joint:
    """How often each pair of values occurs: n[k] tuples have value a[k] of one, b[k] of the other.

    Shapes: a, b, n (K,); a and b are positions among V ascending values, each pair there once.
    """

    a: IntArray
    b: IntArray
    n: IntArray

    @property
    def total(self) -> int:
        return int(self.n.sum())

    def marginals(self, n_values: int) -> tuple[IntArray, IntArray]:
        """How often each value (V,) occurs of one and of the other."""
        counts = np.zeros((2, n_values), dtype=np.int64)
        np.add.at(counts[0], self.a, self.n)
        np.add.at(counts[1], self.b, self.n)
        return counts[0], counts[1]


def joint_counts(a: IntArray, b: IntArray, n_values: int) -> Joint:
    """The joint counts of T tuples. Shapes: a, b (T,), positions among n_values values."""
    pairs, n = np.unique(a.astype(np.int64) * n_values + b, return_counts=True)
    return Joint(pairs // n_values, pairs % n_values, n)


def added(one: Joint, two: Joint, n_values: int) -> Joint:
    """The joint counts of the tuples of both."""
    pairs = np.concatenate([one.a * n_values + one.b, two.a * n_values + two.b])
    distinct, place = np.unique(pairs, return_inverse=True)
    n = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(n, place, np.concatenate([one.n, two.n]))
    return Joint(distinct // n_values, distinct % n_values, n)


def mid_ranks(counts: IntArray) -> DoubleArray:
    """Rank (V,) of each value, the mean of the ranks of those equal to it. Shapes: counts (V,)."""
    upto = counts.cumsum()
    ranks: DoubleArray = upto - (counts - 1) / 2
    return ranks


def pearson(joint: Joint, a_values: DoubleArray, b_values: DoubleArray) -> float | None:
    """Correlation of two models' values; None where either does not vary.

    Shapes: a_values, b_values (V,), what the positions stand for. Source: Pearson 1896.
    """
    if joint.total == 0:
        return None
    x, y = a_values[joint.a], b_values[joint.b]
    if x.min() == x.max() or y.min() == y.max():
        return None
    x, y = x - joint.n @ x / joint.total, y - joint.n @ y / joint.total
    found = (joint.n * x) @ y / np.sqrt(joint.n @ x**2) / np.sqrt(joint.n @ y**2)
    return float(np.clip(found, -1, 1))


def spearman(joint: Joint, n_values: int) -> float | None:
    """Correlation of two models' ranks, ties by their mean rank; None where either is constant.

    Source: Spearman 1904, as Pearson's correlation of mid-ranks.
    """
    if joint.total == 0:
        return None
    a, b = joint.marginals(n_values)
    return pearson(joint, mid_ranks(a), mid_ranks(b))
