"""Whether models agree on which tuples are easy, and where two of them disagree most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.agreement import Joint, added, joint_counts, pearson, spearman
from patcache.kernels.outcomes import MIN_DEFINED
from patcache.listing import Listing, column
from patcache.queries.comparison import EQUAL_DIGITS, Comparison, compare
from patcache.queries.question import Question
from patcache.queries.similarities import undefined_notes
from patcache.queries.tuple_values import TupleValues
from patcache.queries.wording import INDICATOR_NAMES, ONE_MODEL, named

if TYPE_CHECKING:
    from patcache.records import DoubleArray, IntArray
    from patcache.store import StoreFolder

MIN_WHERE = 20  # common tuples of a section or year that may be named as the one of most difference


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """Two models on the n tuples that are defined for both.

    outcome: "compared", or why there is no correlation: "too few" tuples, or which is "constant".
    mean_difference: mean absolute difference of their values. section, year: those with the
    largest one among those with at least MIN_WHERE common tuples; None where there is none.
    """

    model: str = column("model")
    other: str = column("other")
    n: int = column("n", fmt=",")
    outcome: str = column("outcome")
    spearman: float | None = column("Spearman", fmt=".3f")
    pearson: float | None = column("Pearson", fmt=".3f")
    mean_difference: float | None = column("mean |difference|", fmt=".3f")
    section: str | None = column("most in section")
    section_difference: float | None = column("|difference|", fmt=".3f")
    section_n: int | None = column("n", fmt=",")
    year: int | None = column("most in year", fmt="d")
    year_difference: float | None = column("|difference|", fmt=".3f")
    year_n: int | None = column("n", fmt=",")


@dataclass(slots=True)
class _Pair:
    """What is added up of two models: joint counts; tuples and |differences| (2, C) by cell."""

    joint: Joint
    by_cell: DoubleArray


def agreement(store: StoreFolder, question: Question | None = None) -> Listing[AgreementRow]:
    """Correlation of the values of every two models over their common tuples, best model first.

    Errors: as for the leaderboard.
    """
    comparison = compare(store, question or Question())
    with store.read() as cursor:
        values = TupleValues(cursor, comparison.subject, comparison.question)
        pairs = _added_up(values, len(comparison.labels))
    rows = tuple(
        _row(comparison, (a, b), pairs[min(a, b), max(a, b)], values)
        for a, b in combinations(comparison.best_first, 2)
    )
    return Listing(AgreementRow, rows, (comparison.about,), tuple(_notes(comparison, rows)))


def _added_up(values: TupleValues, n_models: int) -> dict[tuple[int, int], _Pair]:
    n_values, n_cells = len(values.axis), len(values.cells)
    nothing = np.zeros(0, dtype=np.int64)
    pairs = {
        (a, b): _Pair(Joint(nothing, nothing, nothing), np.zeros((2, n_cells)))
        for a, b in combinations(range(n_models), 2)
    }
    for window in values.windows():
        for (a, b), pair in pairs.items():
            is_common = (window.codes[a] >= 0) & (window.codes[b] >= 0)
            one, two = window.codes[a][is_common], window.codes[b][is_common]
            cell = window.cell[is_common]
            pair.joint = added(pair.joint, joint_counts(one, two, n_values), n_values)
            difference = np.abs(values.axis[one] - values.axis[two])
            pair.by_cell[0] += np.bincount(cell, minlength=n_cells)
            pair.by_cell[1] += np.bincount(cell, weights=difference, minlength=n_cells)
    return pairs


def _row(
    comparison: Comparison, of: tuple[int, int], pair: _Pair, values: TupleValues
) -> AgreementRow:
    labels = [comparison.labels[i] for i in sorted(of)]
    n = pair.joint.total
    outcome = _outcome(pair.joint, labels)
    is_compared = outcome == "compared"
    section = _most(pair.by_cell, values.cells % 128)
    year = _most(pair.by_cell, values.cells // 128)
    return AgreementRow(
        model=comparison.labels[of[0]],
        other=comparison.labels[of[1]],
        n=n,
        outcome=outcome,
        spearman=spearman(pair.joint, len(values.axis)) if is_compared else None,
        pearson=pearson(pair.joint, values.axis, values.axis) if is_compared else None,
        mean_difference=float(pair.by_cell[1].sum() / n) if n else None,
        section=chr(section[0]) if section else None,
        section_difference=section[1] if section else None,
        section_n=section[2] if section else None,
        year=year[0] if year else None,
        year_difference=year[1] if year else None,
        year_n=year[2] if year else None,
    )


def _outcome(joint: Joint, labels: list[str]) -> str:
    """ "compared", "too few", or which of the two models (a and b of the joint) is constant."""
    if joint.total < MIN_DEFINED:
        return "too few"
    constant = [
        label
        for label, values in zip(labels, (joint.a, joint.b), strict=True)
        if len(np.unique(values)) == 1
    ]
    return f"constant: {', '.join(constant)}" if constant else "compared"


def _most(by_cell: DoubleArray, part_of_cell: IntArray) -> tuple[int, float, int] | None:
    """The part of the largest mean difference, that mean, and its tuples; the first of equals."""
    n, total = (np.bincount(part_of_cell, weights=of_cells) for of_cells in by_cell)
    enough = np.flatnonzero(n >= MIN_WHERE)
    if not len(enough):
        return None
    mean = total[enough] / n[enough]
    place = int(np.argmax(mean.round(EQUAL_DIGITS)))
    return int(enough[place]), float(mean[place]), int(n[enough[place]])


def _notes(comparison: Comparison, rows: tuple[AgreementRow, ...]) -> Iterator[str]:
    name = INDICATOR_NAMES[comparison.question.indicator]
    if not rows:
        yield ONE_MODEL
        return
    yield (
        f"1: both find the same tuples easy; 0: unrelated. {name} of each tuple, over the tuples "
        "that both models define"
    )
    yield (
        f"where they differ most: mean |difference| of {name} in sections and years with at "
        f"least {MIN_WHERE} common tuples"
    )
    constant = dict.fromkeys(row.outcome for row in rows if row.outcome.startswith("constant"))
    if constant:
        yield f"no correlation with a model that never varies: {named(list(constant))}"
    if any(row.outcome == "too few" for row in rows):
        yield f"too few: fewer than {MIN_DEFINED} common tuples have no correlation"
    yield from undefined_notes(comparison)
