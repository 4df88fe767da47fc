"""The words around a comparison: what it is of, which test it is, and what to be careful of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patcache.queries.question import Question

TEST_NAMES = {
    "u": "U-test",
    "signed-rank": "signed-rank test",
    "permutation": "permutation test",
    "bootstrap": "bootstrap test",
}
CORRECTION_NAMES = {
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
    "bonferroni": "Bonferroni",
    "none": "uncorrected",
}
INDICATOR_NAMES = {"footrule": "RCI", "concordance": "Kendall"}
ONE_MODEL = "one model: no pair to compare"
MAX_NAMED = 5
FEW_RESAMPLES = 1000  # below which the ends of a 95 % interval are rough


def slice_words(question: Question) -> str:
    """The slice: "2010-2020, 2022 · sections A B"."""
    years = "all years" if question.years is None else year_spans(question.years)
    if question.sections is None:
        return f"{years} · all sections"
    return f"{years} · section{'s' * (len(question.sections) > 1)} {' '.join(question.sections)}"


def year_spans(years: Sequence[int]) -> str:
    """Years as people write them: "2010-2020, 2022"."""
    runs: list[list[int]] = []
    for year in sorted(years):
        if runs and year == runs[-1][-1] + 1:
            runs[-1].append(year)
        else:
            runs.append([year])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def words_of_test(question: Question, n_tests: int, scope: str = "") -> str:
    """The test and its family: "U-test, Holm over 6 tests"; scope says whose tests they are."""
    name = TEST_NAMES[question.test]
    if question.alternative != "greater":
        name += f" ({question.alternative})"
    family = CORRECTION_NAMES[question.correction]
    over = "" if question.correction == "none" else " over"
    tests = f"{n_tests:,} test{'s' * (n_tests != 1)}"
    return f"{name}, {family}{over} {tests}{scope}"


def indicator_words(question: Question, chances: Sequence[float]) -> str:
    """The indicator with its level of chance: "RCI (chance 0.352)"."""
    low, high = (f"{value:.3f}" for value in (min(chances), max(chances)))
    chance = low if low == high else f"{low}-{high}"
    is_paper = question.dmax == "paper" and question.indicator == "footrule"
    paper = ", largest distance m*m/2 as in the paper" if is_paper else ""
    return f"{INDICATOR_NAMES[question.indicator]} (chance {chance}{paper})"


def interval_words(question: Question) -> str:
    """How the intervals were made."""
    way = (
        "the limit of many resamples"
        if question.n_resamples is None
        else f"{question.n_resamples:,} resamples, seed {question.seed}"
    )
    if question.n_resamples is not None and question.n_resamples < FEW_RESAMPLES:
        way += f"; fewer than {FEW_RESAMPLES:,} leave their ends to luck"
    return f"95 % intervals: bootstrap over targets, cell by cell; {way}"


def named(items: Sequence[str]) -> str:
    """The first few items, and how many more there are."""
    more = len(items) - MAX_NAMED
    return "; ".join(items[:MAX_NAMED]) + (f"; and {more} more" if more > 0 else "")
