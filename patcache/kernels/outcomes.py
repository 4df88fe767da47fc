"""What a test can end in, and the tail of the normal distribution that every test here needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Resampled:
    """p-values of a test by resampling, NaN where there are too few tuples."""

    greater: float
    less: float
    two_sided: float
    outcome: Outcome

    @classmethod
    def of(cls, resamples: DoubleArray, found: float, slack: float) -> Resampled:
        """Where the value found stands among resamples under the hypothesis of no difference.

        Shapes: resamples (R,), around 0; slack: values nearer than this are equal.
        Source: (hits + 1) / (R + 1), Davison and Hinkley 1997, section 4.2.
        """
        hits = (
            resamples >= found - slack,
            resamples <= found + slack,
            np.abs(resamples) >= abs(found) - slack,
        )
        shares = ((int(np.count_nonzero(hit)) + 1) / (len(resamples) + 1) for hit in hits)
        greater, less, two_sided = shares
        return cls(greater, less, two_sided, Outcome.TESTED)

    @classmethod
    def without(cls, outcome: Outcome) -> Resampled:
        """No test was made: p is 1 without a difference, and there is none with too few."""
        p = math.nan if outcome is Outcome.TOO_FEW else 1.0
        return cls(p, p, p, outcome)


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
