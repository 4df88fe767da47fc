"""What a test can end in, and the tail of the normal distribution that every test here needs."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from patcache.records import Alternative, DoubleArray

MIN_DEFINED = 3  # with fewer defined tuples there is no test
SQRT_2 = math.sqrt(2.0)


class Outcome(IntEnum):
    """How a test ended; `words` is what a screen shows where there is no p-value to show."""

    TESTED = 0
    NO_DIFFERENCE = 1  # all values equal: p = 1, in the family, never a win
    TOO_FEW = 2  # fewer than MIN_DEFINED tuples: no p-value, outside the family

    @property
    def words(self) -> str:
        return {0: "tested", 1: "no difference", 2: "too few"}[self.value]


def upper_tail(z: DoubleArray) -> DoubleArray:
    """P(Z > z) of a standard normal, with full relative accuracy down to the smallest doubles.

    Shapes: any -> the same. Source: erfc(z / sqrt 2) / 2, by the C library.
    """
    scaled = np.asarray(z, dtype=np.float64) / SQRT_2
    tail = np.fromiter(map(math.erfc, scaled.ravel().tolist()), dtype=np.float64, count=scaled.size)
    return 0.5 * tail.reshape(scaled.shape)


def check_alternative(alternative: Alternative) -> None:
    """Errors: ValueError unless it is greater, less or two-sided."""
    if alternative not in ("greater", "less", "two-sided"):
        raise ValueError(f"alternative {alternative!r} is not greater, less or two-sided")
