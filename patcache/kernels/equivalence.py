"""Is one model as good as another, to within a margin: two one-sided tests of a mean difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.outcomes import MIN_DEFINED

if TYPE_CHECKING:
    from patcache.records import DoubleArray, IntArray


@dataclass(frozen=True, slots=True)
class Equivalence:
    """p-values of one-sided tests; NaN with fewer than MIN_DEFINED tuples.

    Shapes: all alike. not_worse: against "at least the margin worse"; not_better: against "at
    least the margin better"; worse: against "at most the margin worse". equivalent: the larger of
    the first two, against "one of the two".
    """

    not_worse: DoubleArray
    not_better: DoubleArray
    worse: DoubleArray

    @property
    def equivalent(self) -> DoubleArray:
        return np.maximum(self.not_worse, self.not_better)


def equivalence(
    n: IntArray, mean: DoubleArray, standard_error: DoubleArray, margin: float
) -> Equivalence:
    """Whether paired differences are, in the mean, within a margin of 0.

    Without any spread the mean itself decides: p is 0 inside the margin and 1 outside.

    Shapes: n (tuples), mean, standard_error (of the mean) alike -> the same.
    Source: Schuirmann 1987, by Student's t with n - 1 degrees of freedom.
    Errors: ValueError for a margin that is not above 0.
    """
    if not margin > 0:
        raise ValueError(f"a margin of {margin} is not above 0")
    return Equivalence(
        _upper_tails(n, mean + margin, standard_error),
        _upper_tails(n, margin - mean, standard_error),
        _upper_tails(n, -margin - mean, standard_error),
    )


def _upper_tails(n: IntArray, above: DoubleArray, standard_error: DoubleArray) -> DoubleArray:
    """P(T > above / standard_error)."""
    from scipy.special import stdtr

    is_spread = standard_error > 0
    t = np.divide(above, standard_error, out=np.zeros(np.shape(above)), where=is_spread)
    tail = np.where(is_spread, stdtr(np.maximum(n - 1, 1), -t), np.where(above > 0, 0.0, 1.0))
    return np.where((n < MIN_DEFINED) | np.isnan(standard_error), np.nan, tail)
