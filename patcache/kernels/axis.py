"""One axis of values for tuples of several shapes: exact fractions, equal ones merged."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from patcache.records import DoubleArray, IntArray

INT64_SCALE = 2**61  # values are at most 2 (a difference of agreements) in absolute value


@dataclass(frozen=True, slots=True)
class Axis:
    """Where each fraction stands among all of them, ascending.

    Shapes: position (n,) into values (V,), which are the distinct fractions as doubles.
    """

    position: IntArray
    values: DoubleArray


def common_axis(numerators: IntArray, denominators: IntArray) -> Axis:
    """Orders numerator / denominator exactly, whatever the denominators are.

    Shapes: numerators (n,), denominators (n,) > 0 -> Axis of n positions.
    Errors: ValueError for a denominator below 1.
    """
    if len(denominators) and denominators.min() < 1:
        raise ValueError(f"a denominator of {denominators.min()}: fractions need at least 1")
    scale = lcm(*np.unique(denominators).tolist())
    number = np.dtype(np.int64 if scale <= INT64_SCALE else object)  # object: Python's integers
    exact = numerators.astype(number) * (scale // denominators.astype(number))
    distinct, position = np.unique(exact, return_inverse=True)
    return Axis(position.astype(np.int64), (distinct / scale).astype(np.float64))
