"""Tests of every pair of models in every part of a slice, and what they decide once corrected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from patcache.kernels import effects
from patcache.kernels.corrections import adjust
from patcache.kernels.outcomes import Outcome
from patcache.kernels.paired import signed_rank
from patcache.kernels.utest import u_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.queries.counts import ModelCounts
    from patcache.queries.differences import Differences, PairDifferences
    from patcache.queries.question import Question
    from patcache.records import (
        Alternative,
        BoolArray,
        Correction,
        DoubleArray,
        IntArray,
        TestName,
    )

Family = Literal["matrix", "sweep"]
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class PairTests:
    """One test of every ordered pair. Shapes: all (P, M, M); [p, i, j] is model i against j.

    pvalue is NaN on the diagonal and where the outcome is TOO_FEW.
    """

    statistic: DoubleArray
    pvalue: DoubleArray
    outcome: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Decisions:
    """What corrected tests decide. Shapes: adjusted, beats (P, M, M); n_tests: of the family, or
    the largest family where each part has its own."""

    adjusted: DoubleArray
    beats: BoolArray
    n_tests: int


@dataclass(frozen=True, slots=True)
class PairedMeans:
    """Mean differences over common tuples. Shapes: all (P, M, M); [p, i, j] is i minus j."""

    n: IntArray
    mean: DoubleArray
    standard_error: DoubleArray

    @property
    def is_above_zero(self) -> BoolArray:
        """Where even the lower end of the 95 % interval (normal) is above 0."""
        low = np.nan_to_num(self.mean - NORMAL_95 * self.standard_error, nan=-1.0)
        above: BoolArray = low > 0
        return above


def run_tests(
    counts: ModelCounts, differences: Differences, test: TestName, alternative: Alternative
) -> PairTests:
    """Every ordered pair of every part by one test."""
    shape = (len(counts.part_numbers), counts.counts.shape[1], counts.counts.shape[1])
    statistic, pvalue = np.zeros(shape), np.full(shape, np.nan)
    outcome = np.full(shape, Outcome.TOO_FEW, dtype=np.int8)
    for part in range(shape[0]):
        if test == "u":
            one = counts.counts[part]
            u = u_test(one[:, None], one[None, :], alternative)
            statistic[part], pvalue[part], outcome[part] = u.u, u.pvalue, u.outcome
        else:
            pairs = differences.of_part(part)
            w = signed_rank(pairs.positive, pairs.negative, pairs.n_zero, alternative)
            statistic[part], pvalue[part], outcome[part] = w.w, w.pvalue, w.outcome
    diagonal = np.arange(shape[1])
    pvalue[:, diagonal, diagonal] = np.nan
    return PairTests(statistic, pvalue, outcome)


def decide(tests: PairTests, question: Question, family: Family = "matrix") -> Decisions:
    """Which model beats which: the corrected p-value is below alpha, in that direction.

    One-sided families hold every ordered pair; two-sided ones each pair once.
    """
    in_family = ~np.isnan(tests.pvalue)
    if question.alternative == "two-sided":
        in_family &= np.triu(np.ones(tests.pvalue.shape[1:], dtype=bool))
    adjusted = _adjusted(tests.pvalue, in_family, question.correction, family)
    if question.alternative == "two-sided":
        adjusted = np.where(np.isnan(adjusted), np.swapaxes(adjusted, 1, 2), adjusted)
    significant = np.nan_to_num(adjusted, nan=1.0) < question.alpha
    significant &= tests.outcome == Outcome.TESTED
    if question.alternative == "less":
        significant = np.swapaxes(significant, 1, 2)
    favoured = tests.statistic > np.swapaxes(tests.statistic, 1, 2)
    sizes = in_family.sum(axis=(1, 2))
    n_tests = int(sizes.sum() if family == "sweep" else sizes.max(initial=0))
    return Decisions(adjusted, significant & favoured, n_tests)


def paired_means(counts: ModelCounts, differences: Differences) -> PairedMeans:
    """Mean difference of every pair in every part, with its standard error."""
    shape = (len(counts.part_numbers), counts.counts.shape[1], counts.counts.shape[1])
    n, mean, error = np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape)
    for part in range(shape[0]):
        pairs: PairDifferences = differences.of_part(part)
        n[part] = pairs.counts.sum(axis=-1)
        mean[part] = effects.means(pairs.counts, pairs.values)
        error[part] = effects.standard_errors(pairs.counts, pairs.values)
    return PairedMeans(n, mean, error)


def _adjusted(
    pvalue: DoubleArray, in_family: BoolArray, correction: Correction, family: Family
) -> DoubleArray:
    if family == "sweep":
        return adjust(pvalue, in_family, correction)
    adjusted = [adjust(p, inside, correction) for p, inside in zip(pvalue, in_family, strict=True)]
    return np.stack(adjusted) if adjusted else pvalue
