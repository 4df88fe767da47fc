"""What a reader of a comparison must know beside its numbers."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.outcomes import MIN_DEFINED
from patcache.queries.testing import N_RESAMPLES, decide, run_tests
from patcache.queries.wording import TEST_NAMES, named

if TYPE_CHECKING:
    from patcache.queries.comparison import Comparison
    from patcache.records import BoolArray, IntArray, TestName

OTHER_TEST: dict[TestName, TestName] = {
    "u": "signed-rank",
    "signed-rank": "u",
    "permutation": "u",
    "bootstrap": "u",
}
FEW = 20  # tuples, below which a bootstrap is too sure of itself


def cautions(comparison: Comparison) -> tuple[str, ...]:
    """One line for each thing that could mislead: ties, undefined tuples, tests that disagree."""
    return (
        *data_cautions(comparison),
        *_too_few(comparison.counts.n_defined),
        *_other_test(comparison),
        *_means(comparison),
        *_resampling(comparison),
    )


def data_cautions(comparison: Comparison) -> tuple[str, ...]:
    """What could mislead whatever is asked of the tuples: ties, undefined or unscored ones."""
    return (
        _near_ties(comparison.counts.n_near_ties),
        *_undefined(comparison),
        *_partly_scored(comparison),
    )


def _near_ties(n_near_ties: IntArray) -> str:
    total = int(n_near_ties.sum())
    if total == 0:
        return "near-ties 0"
    return f"near-ties {total:,}: gaps so close to the tie tolerance that rounding may decide them"


def _undefined(comparison: Comparison) -> list[str]:
    counts = comparison.counts
    n, total = counts.n_defined.sum(axis=0), int(counts.n_undefined.sum())
    if comparison.question.is_common:
        of = int(counts.n_tuples.max(axis=1).sum())
        return [f"common tuples only: {int(n.max()):,} of {of:,} are defined for every model"]
    if n.min() != n.max():
        return [
            f"undefined tuples {total:,}: the models have {n.min():,} to {n.max():,} tuples each; "
            "--common compares them on the same ones"
        ]
    return [f"undefined tuples {total:,}"] if total else []


def _partly_scored(comparison: Comparison) -> list[str]:
    subject = comparison.subject
    partly = [
        f"{model.label} {model.n_scored:,}"
        for model in subject.models
        if model.n_scored != subject.n_tuples
    ]
    if not partly:
        return []
    return [f"not all {subject.n_tuples:,} tuples are scored: {named(partly)}; patcache score"]


def _too_few(n_defined: IntArray) -> list[str]:
    few = int((n_defined < MIN_DEFINED).any(axis=1).sum())
    if few == 0:
        return []
    where = "" if len(n_defined) == 1 else f" in {few:,} of {len(n_defined):,} parts"
    return [f"too few{where}: a model with fewer than {MIN_DEFINED} defined tuples is in no test"]


def _other_test(comparison: Comparison) -> list[str]:
    """Where the test shown and the other one, corrected alike, decide differently."""
    question, shown = comparison.question, comparison.decisions.beats
    other = OTHER_TEST[question.test]
    tests = run_tests(
        comparison.subject,
        comparison.counts,
        comparison.differences,
        replace(question, test=other),
    )
    beats = decide(tests, question, comparison.family).beats
    differ = shown != beats
    if not differ.any():
        return []
    found = _named_pairs(comparison, differ & shown, f" by {TEST_NAMES[question.test]} only")
    found += _named_pairs(comparison, differ & beats, f" by {TEST_NAMES[other]} only")
    decisions = np.count_nonzero(~np.isnan(comparison.tests.pvalue))
    return [
        f"{TEST_NAMES[question.test]} and {TEST_NAMES[other]} disagree on "
        f"{np.count_nonzero(differ):,} of {decisions:,} decisions: {named(found)}"
    ]


def _means(comparison: Comparison) -> list[str]:
    """Where a model is ahead by rank while its mean is not: ranks and means ask two things."""
    odd = comparison.decisions.beats & ~comparison.paired.is_above_zero
    found = _named_pairs(comparison, odd)
    if not found:
        return []
    return [
        f"ahead by {TEST_NAMES[comparison.question.test]}, though the 95 % interval of the mean "
        f"difference is not above 0: {named(found)}"
    ]


def _resampling(comparison: Comparison) -> list[str]:
    """Where resamples are too few for the family, or tuples for the bootstrap."""
    question = comparison.question
    if question.test in ("u", "signed-rank"):
        return []
    notes = []
    n_resamples = question.n_resamples or N_RESAMPLES
    least = 1 / (n_resamples + 1)
    n_tests = 1 if question.correction == "none" else comparison.decisions.n_tests
    if least * n_tests >= question.alpha:
        wanted = ceil(n_tests / question.alpha)
        notes.append(
            f"no p can be below {least:.2g} with {n_resamples:,} resamples, too much for a family "
            f"of {n_tests:,}: ask for more than {wanted:,} (--resamples)"
        )
    return notes + few_for_bootstrap(comparison)


def few_for_intervals(n: IntArray) -> list[str]:
    """Whether an interval is of few tuples; n: tuples of every mean or difference shown.

    Simulated on RCIs of 6 candidates, 95 % intervals hold the mean in 77 % of draws of 3 tuples,
    87 % of 5, 91 % of 10, 93 % of 20, and 94 to 95 % from 50 on.
    """
    if not ((n >= MIN_DEFINED) & (n < FEW)).any():
        return []
    return [f"with fewer than {FEW} tuples a 95 % interval is too narrow: of 5, it holds 87 %"]


def few_for_bootstrap(comparison: Comparison) -> list[str]:
    """Whether tuples are too few somewhere for the bootstrap test."""
    few = comparison.counts.n_defined.min() < FEW
    if comparison.question.test != "bootstrap" or not few:
        return []
    return [f"with fewer than {FEW} tuples a bootstrap test finds too many differences"]


def _named_pairs(comparison: Comparison, pairs: BoolArray, ending: str = "") -> list[str]:
    """The pairs marked in any part, each once, as "a > b"."""
    labels = comparison.labels
    return [
        f"{labels[i]} > {labels[j]}{ending}"
        for i, j in permutations(comparison.best_first, 2)
        if pairs[:, i, j].any()
    ]
