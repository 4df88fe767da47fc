"""Which of several choices no other one beats on both sides: cost and value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from patcache.records import BoolArray, DoubleArray


def pareto_front(cost: DoubleArray, value: DoubleArray) -> BoolArray:
    """Which points no other one equals or beats on both sides and beats on one.

    Equal points are on the front together or not at all; a point without a number is not on it.

    Shapes: cost (n,), smaller is better; value (n,), larger is better -> (n,).
    Source: Kung, Luccio and Preparata 1975, in two dimensions: one pass over the sorted points.
    """
    is_on = np.zeros(len(cost), dtype=np.bool_)
    known = np.flatnonzero(~np.isnan(cost) & ~np.isnan(value))
    order = known[np.lexsort((-value[known], cost[known]))]
    best, at_best = -np.inf, np.nan
    for i in order.tolist():
        if value[i] > best:
            best, at_best = value[i], cost[i]
            is_on[i] = True
        elif value[i] == best and cost[i] == at_best:
            is_on[i] = True
    return is_on
