"""How large a difference is, whatever a test says of it: from counts of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import DoubleArray, IntArray


def superiority(u: DoubleArray, n_a: IntArray, n_b: IntArray) -> DoubleArray:
    """Probability that a random value of a is larger than one of b, ties half; NaN without values.

    Shapes: all alike. Source: McGraw and Wong 1992; U / (n_a n_b).
    """
    pairs = n_a.astype(np.float64) * n_b
    return _ratio(u, pairs)


def cliffs_delta(u: DoubleArray, n_a: IntArray, n_b: IntArray) -> DoubleArray:
    """P(a > b) - P(a < b), in [-1, 1]. Shapes: all alike. Source: Cliff 1993."""
    return 2 * superiority(u, n_a, n_b) - 1


def means(counts: IntArray, values: DoubleArray) -> DoubleArray:
    """Mean value of each row of counts; NaN for a row without any.

    Shapes: counts (..., V), values (V,) -> (...).
    """
    return _ratio(counts @ values, counts.sum(axis=-1))


def medians(counts: IntArray, values: DoubleArray) -> DoubleArray:
    """Median of each row of counts, the mean of the middle two; NaN for a row without any.

    Shapes: counts (..., V), values (V,) ascending -> (...).
    """
    if not len(values):
        return np.full(counts.shape[:-1], np.nan)
    upto = counts.cumsum(axis=-1)
    total = upto[..., -1]
    lower = np.count_nonzero(upto < ((total + 1) // 2)[..., None], axis=-1)
    upper = np.count_nonzero(upto < (total // 2 + 1)[..., None], axis=-1)
    last = len(values) - 1
    middle = (values[np.minimum(lower, last)] + values[np.minimum(upper, last)]) / 2
    return np.where(total > 0, middle, np.nan)


def _ratio(numerator: DoubleArray, denominator: NDArray[Any]) -> DoubleArray:
    """The quotient, NaN where the denominator is 0."""
    empty = np.full(np.shape(denominator), np.nan)
    ratio: DoubleArray = np.divide(
        numerator, denominator, out=empty, where=np.asarray(denominator) > 0
    )
    return ratio
