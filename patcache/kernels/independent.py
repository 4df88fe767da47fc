"""Two independent samples: the interval of a difference, and how alike two rankings are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from patcache.records import DoubleArray


def difference_interval(
    first: tuple[DoubleArray, DoubleArray, DoubleArray],
    second: tuple[DoubleArray, DoubleArray, DoubleArray],
) -> tuple[DoubleArray, DoubleArray]:
    """The interval of second minus first, from the interval of each: variances add.

    Shapes: (mean, low, high) of each, all alike -> lower ends, upper ends; NaN where one is.
    Source: Zou and Donner 2008, equations 5 and 6; for symmetric intervals of normal means this
            is the root of the sum of the squared standard errors.
    """
    (mean_a, low_a, high_a), (mean_b, low_b, high_b) = first, second
    difference = mean_b - mean_a
    low = difference - np.hypot(mean_b - low_b, high_a - mean_a)
    high = difference + np.hypot(high_b - mean_b, mean_a - low_a)
    return low, high


def ranks(values: DoubleArray) -> DoubleArray:
    """Places from 1, the largest first; equal values share the best of their places.

    Shapes: (n,) -> (n,), NaN where a value is NaN.
    """
    larger = (values[None, :] > values[:, None]).sum(axis=1)
    return np.where(np.isnan(values), np.nan, larger + 1.0)


def kendall_tau_b(a: DoubleArray, b: DoubleArray) -> float:
    """Agreement of two rankings in [-1, 1], corrected for ties; NaN where one is all ties.

    Shapes: (n,), (n,). Source: Kendall 1945.
    """
    upper = np.triu_indices(len(a), 1)
    signs_a = np.sign(a[:, None] - a[None, :])[upper]
    signs_b = np.sign(b[:, None] - b[None, :])[upper]
    ordered = np.count_nonzero(signs_a) * np.count_nonzero(signs_b)
    if ordered == 0:
        return float("nan")
    return float((signs_a * signs_b).sum() / np.sqrt(ordered))
