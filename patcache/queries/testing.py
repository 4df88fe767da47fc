"""Tests of every pair of models in every part of a slice, and what they decide once corrected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from patcache.hashing import settings_digest
from patcache.kernels.bootstrap import bootstrap_test
from patcache.kernels.corrections import adjust
from patcache.kernels.outcomes import Outcome, Resampled
from patcache.kernels.paired import permutation_test, signed_rank
from patcache.kernels.utest import u_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.queries.counts import ModelCounts
    from patcache.queries.differences import Differences, PairDifferences
    from patcache.queries.question import Question, Subject
    from patcache.records import BoolArray, Correction, DoubleArray

Family = Literal["matrix", "sweep"]
N_RESAMPLES = 9_999  # of a test by resampling
MAX_NUMBERS = 2_000_000  # of counts compared at a time


@dataclass(frozen=True, slots=True)
class PairTests:
    """One test of every ordered pair. Shapes: all (P, M, M); [p, i, j] is model i against j.

    pvalue is NaN on the diagonal and where the outcome is TOO_FEW. statistic: U, W, or of a test
    by resampling the mean difference.
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


def run_tests(
    subject: Subject, counts: ModelCounts, differences: Differences, question: Question
) -> PairTests:
    """Every ordered pair of every part by the question's test."""
    n_models = len(subject.models)
    shape = (len(counts.parts), n_models, n_models)
    tests = PairTests(
        np.zeros(shape), np.full(shape, np.nan), np.full(shape, Outcome.TOO_FEW, dtype=np.int8)
    )
    if question.test == "u":
        _run_u(tests, counts, question)
    elif question.test == "signed-rank":
        _run_signed_rank(tests, differences, question)
    else:
        _run_resampled(tests, subject, differences, question)
    diagonal = np.arange(n_models)
    tests.pvalue[:, diagonal, diagonal] = np.nan
    return tests


def _run_u(tests: PairTests, counts: ModelCounts, question: Question) -> None:
    n_at_once = max(1, MAX_NUMBERS // max(1, counts.counts[0].size * counts.counts.shape[1]))
    for start in range(0, len(counts.parts), n_at_once):
        here = slice(start, start + n_at_once)
        some = counts.counts[here]
        found = u_test(some[:, :, None], some[:, None, :], question.alternative)
        tests.statistic[here], tests.pvalue[here] = found.u, found.pvalue
        tests.outcome[here] = found.outcome


def _run_signed_rank(tests: PairTests, differences: Differences, question: Question) -> None:
    i, j = differences.pairs.T
    for here, some in differences.by_part():
        for a, b, plus, minus in (
            (i, j, some.positive, some.negative),
            (j, i, some.negative, some.positive),
        ):
            found = signed_rank(plus, minus, some.n_zero, question.alternative)
            tests.statistic[here, a, b], tests.pvalue[here, a, b] = found.w, found.pvalue
            tests.outcome[here, a, b] = found.outcome


def _run_resampled(
    tests: PairTests, subject: Subject, differences: Differences, question: Question
) -> None:
    resample = RESAMPLED[question.test]
    for here, some in differences.by_part():
        totals = some.counts.sum(axis=-1)
        means = (some.counts @ some.values) / np.maximum(totals, 1)
        for offset, pair in np.ndindex(*totals.shape):
            part = here.start + offset
            i, j = differences.pairs[pair].tolist()
            found, sign = resample(subject, differences, some, (part, offset, pair), question)
            for a, b, direction in ((i, j, 1), (j, i, -1)):
                tests.statistic[part, a, b] = direction * means[offset, pair]
                tests.pvalue[part, a, b] = _pvalue(found, question, sign * direction)
                tests.outcome[part, a, b] = found.outcome


def pair_rng(
    subject: Subject, differences: Differences, pair: int, part: int, seed: int
) -> tuple[np.random.Generator, int]:
    """Random numbers of one pair in one part, whatever other models and parts there are.

    The second number is 1 where the pair stands in the order of its spec ids, else -1: resamples
    are drawn for that order, so that the order of the models changes nothing.
    """
    ids = [subject.models[model].spec_id for model in differences.pairs[pair].tolist()]
    names = [*sorted(ids), int(differences.parts.numbers[part])]
    entropy = int(settings_digest({"seed": seed, "of": names}), 16)
    return np.random.default_rng(entropy), 1 if ids == sorted(ids) else -1


def _permutation(
    subject: Subject,
    differences: Differences,
    some: PairDifferences,
    at: tuple[int, int, int],
    question: Question,
) -> tuple[Resampled, int]:
    part, offset, pair = at
    rng, sign = pair_rng(subject, differences, pair, part, question.seed)
    positive, negative = some.positive[offset, pair], some.negative[offset, pair]
    if sign < 0:
        positive, negative = negative, positive
    n_zero = int(some.n_zero[offset, pair])
    n_resamples = question.n_resamples or N_RESAMPLES
    return permutation_test(positive, negative, n_zero, some.sizes, rng, n_resamples), sign


def _bootstrap(
    subject: Subject,
    differences: Differences,
    some: PairDifferences,
    at: tuple[int, int, int],
    question: Question,
) -> tuple[Resampled, int]:
    part, _, pair = at
    rng, sign = pair_rng(subject, differences, pair, part, question.seed)
    counts = differences.of_cells(pair, part)[:, ::sign]
    return bootstrap_test(counts, some.values, rng, question.n_resamples or N_RESAMPLES), sign


RESAMPLED = {"permutation": _permutation, "bootstrap": _bootstrap}


def _pvalue(found: Resampled, question: Question, direction: int) -> float:
    if question.alternative == "two-sided":
        return found.two_sided
    return found.greater if (question.alternative == "greater") == (direction > 0) else found.less


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


def _adjusted(
    pvalue: DoubleArray, in_family: BoolArray, correction: Correction, family: Family
) -> DoubleArray:
    if family == "sweep":
        return adjust(pvalue, in_family, correction)
    adjusted = [adjust(p, inside, correction) for p, inside in zip(pvalue, in_family, strict=True)]
    return np.stack(adjusted) if adjusted else pvalue
