"""Everything one question brings to light: fetched once, tested once, shown by three views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.effects import means
from patcache.queries.counts import By, ModelCounts, model_counts, shapes
from patcache.queries.differences import Differences
from patcache.queries.intervals import Means, PairedMeans, means_of_models, means_of_pairs
from patcache.queries.question import Question, Subject, subject_of
from patcache.queries.testing import Decisions, Family, PairTests, decide, run_tests
from patcache.queries.wording import indicator_words, slice_words, words_of_test

if TYPE_CHECKING:
    from patcache.store import StoreFolder


EQUAL_DIGITS = 12  # of a mean: sums in another order differ by rounding only


@dataclass(frozen=True, slots=True)
class Comparison:
    """The models of a sample in every part of a slice; models are numbered as in the subject."""

    question: Question
    family: Family
    subject: Subject
    counts: ModelCounts
    differences: Differences
    tests: PairTests
    decisions: Decisions
    means: Means
    paired: PairedMeans

    @property
    def labels(self) -> list[str]:
        return [model.label for model in self.subject.models]

    @property
    def best_first(self) -> list[int]:
        """Models by mean over all parts; equal ones by name, those without any tuple last."""
        mean = means(self.counts.shown_counts.sum(axis=0), self.counts.shown)
        ranked = np.where(np.isnan(mean), -np.inf, mean.round(EQUAL_DIGITS))
        return sorted(range(len(mean)), key=lambda i: (-ranked[i], self.labels[i]))

    @property
    def about(self) -> str:
        """What this is of: sample, tuples, slice, indicator with its level of chance."""
        words = (
            f"sample {self.subject.sample}",
            f"{int(self.counts.n_tuples.max(axis=1).sum()):,} tuples",
            slice_words(self.question),
            indicator_words(self.question, self.counts.chance.tolist()),
        )
        return " · ".join(words)

    def caption(self, scope: str = "") -> tuple[str]:
        """What this is of, and which test it is, corrected over which family."""
        test = words_of_test(self.question, self.decisions.n_tests, scope)
        return (f"{self.about} · {test}",)


def compare(
    store: StoreFolder, question: Question, by: By = "all", family: Family = "matrix"
) -> Comparison:
    """A question's comparison, over the whole slice or by year, section or cell.

    Errors: NotThere for a sample, model or slice that is not there; PatcacheError where no sample
    is named and there are several.
    """
    with store.read() as cursor:
        subject = subject_of(cursor, question)
        scales = shapes(cursor)
        counts = model_counts(cursor, subject, question, scales, by)
        differences = Differences(cursor, subject, question, counts.parts, scales)
    tests = run_tests(subject, counts, differences, question)
    return Comparison(
        question,
        family,
        subject,
        counts,
        differences,
        tests,
        decide(tests, question, family),
        means_of_models(subject, counts, question),
        means_of_pairs(subject, differences, question),
    )
