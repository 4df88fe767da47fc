"""p-values adjusted for having asked many questions at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from patcache.records import BoolArray, Correction, DoubleArray, IntArray


def adjust(pvalues: DoubleArray, in_family: BoolArray, correction: Correction) -> DoubleArray:
    """Adjusted p-values of one family: what is below alpha is decided; NaN outside the family.

    Shapes: any, alike -> the same; the family is every value where in_family holds.
    Errors: ValueError for an unknown correction.
    """
    if correction not in METHODS:
        raise ValueError(f"correction {correction!r} is none of {', '.join(METHODS)}")
    adjusted = np.full(pvalues.shape, np.nan)
    adjusted[in_family] = METHODS[correction](pvalues[in_family])
    return adjusted


def holm(pvalues: DoubleArray) -> DoubleArray:
    """Step-down Bonferroni (n,) -> (n,): no false decision at all, with probability 1 - alpha.

    Source: Holm 1979.
    """
    order = np.argsort(pvalues, kind="stable")
    scaled = pvalues[order] * np.arange(len(pvalues), 0, -1)
    return _unsorted(np.maximum.accumulate(scaled), order)


def benjamini_hochberg(pvalues: DoubleArray) -> DoubleArray:
    """Step-up (n,) -> (n,): an expected share of at most alpha of the decisions is false.

    Source: Benjamini and Hochberg 1995.
    """
    order = np.argsort(pvalues, kind="stable")
    scaled = pvalues[order] * len(pvalues) / np.arange(1, len(pvalues) + 1)
    return _unsorted(np.minimum.accumulate(scaled[::-1])[::-1], order)


def benjamini_yekutieli(pvalues: DoubleArray) -> DoubleArray:
    """Benjamini-Hochberg under any dependence (n,) -> (n,). Source: Benjamini, Yekutieli 2001."""
    harmonic = (1 / np.arange(1, len(pvalues) + 1)).sum()
    adjusted: DoubleArray = np.minimum(1.0, benjamini_hochberg(pvalues) * harmonic)
    return adjusted


def bonferroni(pvalues: DoubleArray) -> DoubleArray:
    """Every p-value times their number (n,) -> (n,). Source: Dunn 1961."""
    adjusted: DoubleArray = np.minimum(1.0, pvalues * len(pvalues))
    return adjusted


def uncorrected(pvalues: DoubleArray) -> DoubleArray:
    """The p-values as they are (n,) -> (n,)."""
    return pvalues.copy()


def strictest_share(correction: Correction, n_tests: int) -> float:
    """What part of alpha the least of n_tests p-values must be below, where all others are 1."""
    if correction == "none" or n_tests < 1:
        return 1.0
    harmonic = float((1 / np.arange(1, n_tests + 1)).sum()) if correction == "by" else 1.0
    return 1 / (n_tests * harmonic)


def _unsorted(ascending: DoubleArray, order: IntArray) -> DoubleArray:
    adjusted = np.empty_like(ascending)
    adjusted[order] = np.minimum(1.0, ascending)
    return adjusted


METHODS: dict[str, Callable[[DoubleArray], DoubleArray]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
    "bonferroni": bonferroni,
    "none": uncorrected,
}
