"""Where a model wins and where it loses: every slice against every rival, largest effect first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import Misused, NotThere
from patcache.kernels.corrections import adjust
from patcache.kernels.effects import superiority
from patcache.kernels.outcomes import Outcome
from patcache.kernels.utest import u_test
from patcache.listing import Listing, column, known
from patcache.queries.cautions import (
    OTHER_TEST,
    data_cautions,
    few_for_bootstrap,
    few_for_intervals,
)
from patcache.queries.comparison import Comparison, compare
from patcache.queries.question import Question, subject_of
from patcache.queries.testing import PairTests, run_tests
from patcache.queries.wording import TEST_NAMES, interval_words, words_of_test

if TYPE_CHECKING:
    from patcache.queries.cells import Parts
    from patcache.queries.counts import Part
    from patcache.records import DoubleArray
    from patcache.store import StoreFolder

WINS, LOSES, NOT_SEPARABLE, TOO_FEW = "wins", "loses", "not separable", Outcome.TOO_FEW.words
VERDICTS = (WINS, LOSES, NOT_SEPARABLE, TOO_FEW)
SLICES: tuple[Parts, ...] = ("section", "year")
FALSE_DISCOVERIES = Question(correction="bh")


@dataclass(frozen=True, slots=True)
class WhereRow:
    """One model against one other in one slice; year or section is None where all are meant.

    n: tuples defined for both. difference: mean of model minus other on those, with its 95 %
    interval. superiority: probability that a value of model is larger, ties half. p: two-sided;
    q: corrected over the family the caption names. verdict: "wins" or "loses" where q is below
    alpha, "not separable" where it is not, "too few" where there is no test. other_place: of the
    rival among the models, from 1, by the mean over all slices.
    """

    year: int | None = column("year", fmt="d")
    section: str | None = column("section")
    model: str = column("model")
    other: str = column("against")
    n: int = column("n", fmt=",")
    difference: float | None = column("difference", fmt="+.3f")
    low: float | None = column("from", fmt="+.3f")
    high: float | None = column("to", fmt="+.3f")
    superiority: float | None = column("superiority", fmt=".3f")
    p: float | None = column("p", fmt=".3g")
    q: float | None = column("q", fmt=".3g")
    verdict: str = column("verdict")
    other_place: int = column("place", hidden=True)
    indicator: str = column("indicator", hidden=True)


def where(
    store: StoreFolder,
    model: str,
    question: Question = FALSE_DISCOVERIES,
    *,
    against: str | None = None,
    by: Parts | None = None,
    top: int | None = None,
) -> Listing[WhereRow]:
    """A model against every rival, or `against` only, in every section and every year.

    by: only sections, only years, or cells. Tests are two-sided, whatever the question says, and
    all rows are one family; top then keeps as many of each verdict, "too few" left out. Wins come
    first, then losses, then the rest, each from the largest difference of means.
    Errors: as for the leaderboard; NotThere where there is no rival.
    """
    asked = _asked(store, model, replace(question, alternative="two-sided"), against)
    kinds = SLICES if by is None else (by,)
    comparisons = [compare(store, asked, kind) for kind in kinds]
    found = [_rows(one, one.tests, model, against) for one in comparisons]
    rows = _judged([row for rows in found for row in rows], asked)
    ranked = sorted(rows, key=_rank)
    notes = (
        _counted(rows, top),
        *_dependence(asked, rows, kinds),
        *_other_test(comparisons, rows, model, against),
        *_means(rows, asked),
        *data_cautions(comparisons[0]),
        *_few(comparisons),
        interval_words(asked),
        *few_for_intervals(np.array([row.n for row in rows])),
    )
    return Listing(WhereRow, _top(ranked, top), _caption(comparisons, rows, model), notes)


def _asked(store: StoreFolder, model: str, question: Question, against: str | None) -> Question:
    """The question of the models that are needed. Errors: Misused, or NotThere without a rival."""
    named = tuple(name for name in (model, against) if name is not None)
    if against == model:
        raise Misused(
            f"{model} cannot be compared with itself",
            "MODEL and --against are the same model",
            "name another: --against MODEL",
        )
    if question.models is not None:
        named = (*named, *question.models)
    elif against is None or question.is_common:
        with store.read() as cursor:
            scored = subject_of(cursor, question).models
        named = (*named, *(one.label for one in scored))
    labels = tuple(dict.fromkeys(named))
    if len(labels) == 1:
        raise NotThere(
            f"{model} has no rival here",
            "no other model is scored or named",
            "add one: patcache add MODEL",
        )
    return replace(question, models=labels)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A comparison as one of its models sees it. Shapes: superiority (P, M); parts (P,)."""

    comparison: Comparison
    tests: PairTests
    model: int
    superiority: DoubleArray
    parts: tuple[Part, ...]
    labels: list[str]
    best_first: list[int]

    @classmethod
    def of(cls, comparison: Comparison, tests: PairTests, model: str) -> _Seen:
        """What a model sees by these tests."""
        counts, one = comparison.counts.counts, comparison.labels.index(model)
        u = u_test(counts[:, one, None], counts)
        better = superiority(u.u, u.n_a, u.n_b)
        parts = tuple(comparison.counts.parts)
        return cls(comparison, tests, one, better, parts, comparison.labels, comparison.best_first)


def _rows(
    comparison: Comparison, tests: PairTests, model: str, against: str | None
) -> list[WhereRow]:
    """Every part and rival, not yet judged: the verdict says only in whose favour it is."""
    seen = _Seen.of(comparison, tests, model)
    return [
        _row(seen, part, other)
        for part in range(len(seen.parts))
        for other, label in enumerate(seen.labels)
        if other != seen.model and against in (None, label)
    ]


def _row(seen: _Seen, part: int, other: int) -> WhereRow:
    tests, paired, at = seen.tests, seen.comparison.paired, (part, seen.model, other)
    is_ahead = tests.statistic[at] > tests.statistic[part, other, seen.model]
    is_tested = tests.outcome[at] == Outcome.TESTED
    return WhereRow(
        year=seen.parts[part].year,
        section=seen.parts[part].section,
        model=seen.labels[seen.model],
        other=seen.labels[other],
        n=int(paired.n[at]),
        difference=known(paired.mean[at]),
        low=known(paired.low[at]),
        high=known(paired.high[at]),
        superiority=known(seen.superiority[part, other]),
        p=known(tests.pvalue[at]),
        q=None,
        verdict=(WINS if is_ahead else LOSES) if is_tested else NOT_SEPARABLE,
        other_place=seen.best_first.index(other) + 1,
        indicator=seen.comparison.question.indicator,
    )


def _judged(rows: list[WhereRow], question: Question) -> list[WhereRow]:
    """The rows with q over all of them, and the verdict that alpha leaves."""
    pvalues = np.array([np.nan if row.p is None else row.p for row in rows])
    adjusted = adjust(pvalues, ~np.isnan(pvalues), question.correction)
    judged = []
    for row, q in zip(rows, adjusted.tolist(), strict=True):
        verdict = row.verdict if q < question.alpha else NOT_SEPARABLE
        verdict = TOO_FEW if row.p is None else verdict
        judged.append(replace(row, q=known(q), verdict=verdict))
    return judged


def _rank(row: WhereRow) -> tuple[int, float, int, str, str]:
    size = -abs(row.difference) if row.difference is not None else 0.0
    return VERDICTS.index(row.verdict), size, row.year or 0, row.section or "", row.other


def _top(rows: list[WhereRow], top: int | None) -> tuple[WhereRow, ...]:
    """The first rows of each verdict that a test decided."""
    if top is None:
        return tuple(rows)
    decided = (WINS, LOSES, NOT_SEPARABLE)
    kept = [[row for row in rows if row.verdict == verdict][:top] for verdict in decided]
    return tuple(row for some in kept for row in some)


def _caption(comparisons: list[Comparison], rows: list[WhereRow], model: str) -> tuple[str, ...]:
    question = comparisons[0].question
    n_slices = len({(row.year, row.section) for row in rows})
    n_others = len({row.other for row in rows})
    scope = (
        f": {n_slices:,} slice{'s' * (n_slices != 1)} x {n_others:,} rival{'s' * (n_others != 1)}"
    )
    n_tests = sum(row.p is not None for row in rows)
    few = len(rows) - n_tests
    left_out = f", {few:,} with too few tuples left out" if few else ""
    test = words_of_test(question, n_tests, scope + left_out)
    return (comparisons[0].about, f"where {model} wins and loses: {test}")


def _counted(rows: list[WhereRow], top: int | None) -> str:
    """How many of each verdict there are, whatever is shown of them."""
    counted = Counter(row.verdict for row in rows)
    words = " · ".join(f"{verdict} {counted[verdict]:,}" for verdict in VERDICTS)
    return words if top is None else f"{words}; shown: at most {top:,} of each that was tested"


def _dependence(question: Question, rows: list[WhereRow], kinds: tuple[Parts, ...]) -> list[str]:
    """What the control of false discoveries rests on, where rows share tuples."""
    shared = [
        *(["a tuple is in a section and in a year"] if len(kinds) > 1 else []),
        *(["all rivals meet one model"] if len({row.other for row in rows}) > 1 else []),
    ]
    if not shared or question.correction != "bh":
        return []
    return [
        f"{' and '.join(shared)}: Benjamini-Hochberg then relies on positive dependence of the "
        "tests; --correction by relies on nothing"
    ]


def _other_test(
    comparisons: list[Comparison], rows: list[WhereRow], model: str, against: str | None
) -> list[str]:
    """How many verdicts the other test, corrected alike, would not give."""
    question = comparisons[0].question
    other = OTHER_TEST[question.test]
    found: list[WhereRow] = []
    for one in comparisons:
        asked = replace(question, test=other)
        tests = run_tests(one.subject, one.counts, one.differences, asked)
        found += _rows(one, tests, model, against)
    pairs = zip(rows, _judged(found, question), strict=True)
    differ = Counter((one.verdict, two.verdict) for one, two in pairs if one.verdict != two.verdict)
    if not differ:
        return []
    names = TEST_NAMES[question.test], TEST_NAMES[other]
    words = ", ".join(f"{one} -> {two} {n:,}" for (one, two), n in sorted(differ.items()))
    total = sum(differ.values())
    return [f"{names[0]} and {names[1]} disagree on {total:,} of {len(rows):,} rows: {words}"]


def _few(comparisons: list[Comparison]) -> list[str]:
    """Whether tuples are too few for the test in a section or a year."""
    return [*dict.fromkeys(note for one in comparisons for note in few_for_bootstrap(one))]


def _means(rows: list[WhereRow], question: Question) -> list[str]:
    """How many verdicts by rank lack a difference of means to show for it."""
    odd = [row for row in rows if row.verdict in (WINS, LOSES) and not _is_apart(row)]
    if not odd:
        return []
    return [
        f"ahead or behind by {TEST_NAMES[question.test]}, though the 95 % interval of the mean "
        f"difference is not on that side of 0: {len(odd):,}"
    ]


def _is_apart(row: WhereRow) -> bool:
    """Whether the interval lies on the side of 0 that the verdict says."""
    if row.low is None or row.high is None:
        return False
    return row.low > 0 if row.verdict == WINS else row.high < 0
