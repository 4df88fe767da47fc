"""How many tuples it takes to see a difference, and how small a one so many can show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.bootstrap import normal_quantile

if TYPE_CHECKING:
    from patcache.records import DoubleArray, IntArray


def reach(alpha: float, power: float) -> float:
    """Standard errors that a true difference must measure to be seen with this power.

    Source: one-sided z-test at level alpha: z(1 - alpha) + z(power).
    Errors: ValueError for an alpha or power outside (0, 1).
    """
    for name, value in (("alpha", alpha), ("power", power)):
        if not 0 < value < 1:
            raise ValueError(f"{name} {value} is not between 0 and 1")
    return normal_quantile(1 - alpha) + normal_quantile(power)


def tuples_needed(
    deviation: DoubleArray, difference: float, alpha: float, power: float
) -> DoubleArray:
    """Tuples that show a mean difference of this size; at least 3, NaN where no deviation is.

    Shapes: deviation, the standard deviation of one tuple's difference -> the same, whole numbers.
    Errors: ValueError for a difference that is not above 0.
    """
    if not difference > 0:
        raise ValueError(f"a difference of {difference} is not above 0")
    needed = np.ceil((reach(alpha, power) * deviation / difference) ** 2)
    return np.where(np.isnan(deviation), np.nan, np.maximum(needed, 3))


def smallest_difference(
    deviation: DoubleArray, n: IntArray, alpha: float, power: float
) -> DoubleArray:
    """The mean difference that n tuples show with this power; NaN without tuples.

    Shapes: deviation, n alike -> the same.
    """
    seen = reach(alpha, power) * deviation / np.sqrt(np.maximum(n, 1))
    return np.where(n > 0, seen, math.nan)
