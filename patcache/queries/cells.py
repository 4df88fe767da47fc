"""Year by year, section by section: which model ranks best where, and which it beats there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from patcache.kernels.outcomes import MIN_DEFINED, Outcome
from patcache.listing import Listing, column, known
from patcache.queries.cautions import cautions, few_for_intervals
from patcache.queries.comparison import EQUAL_DIGITS, Comparison, compare
from patcache.queries.question import Question
from patcache.queries.wording import interval_words

if TYPE_CHECKING:
    from patcache.queries.counts import Part
    from patcache.queries.testing import Family
    from patcache.store import StoreFolder

Parts = Literal["year", "section", "cell"]


@dataclass(frozen=True, slots=True)
class CellRow:
    """One model in one year, section or cell; year or section is None where all are meant.

    outcome: "too few" (in no test here), "no difference" (from none of its rivals: all values
    equal) or "tested". low, high: 95 % interval of the mean, None with fewer than three tuples.
    n_rivals: models it was tested against here. is_winner: no model that was tested here has a
    higher mean.
    """

    year: int | None = column("year", fmt="d")
    section: str | None = column("section")
    model: str = column("model")
    mean: float | None = column("mean", fmt=".3f")
    low: float | None = column("from", fmt=".3f")
    high: float | None = column("to", fmt=".3f")
    chance: float = column("chance", fmt=".3f")
    n: int = column("n", fmt=",")
    n_undefined: int = column("undefined", fmt=",")
    n_near_ties: int = column("near-ties", fmt=",")
    outcome: str = column("outcome")
    is_winner: bool = column("winner")
    beats: int = column("beats")
    beaten_by: int = column("beaten by")
    n_rivals: int = column("of")
    indicator: str = column("indicator", hidden=True)


def cells(
    store: StoreFolder,
    question: Question | None = None,
    *,
    by: Parts = "year",
    family: Family = "matrix",
) -> Listing[CellRow]:
    """Every model in every year, section or cell of a slice, models from best to worst overall.

    family: "matrix" corrects the tests of each part by themselves, "sweep" all of them together.
    Errors: as for the leaderboard.
    """
    comparison = compare(store, question or Question(), by, family)
    parts = comparison.counts.parts
    rows = tuple(
        _row(comparison, (part, where), model)
        for part, where in enumerate(parts)
        for model in comparison.best_first
    )
    scope = " of all" if family == "sweep" else " in each of"
    scope = f"{scope} {len(parts):,} {by}s" if len(parts) > 1 else f" in 1 {by}"
    notes = (
        *cautions(comparison),
        interval_words(comparison.question),
        *few_for_intervals(comparison.counts.n_defined),
    )
    return Listing(CellRow, rows, comparison.caption(scope), notes)


def _row(comparison: Comparison, at: tuple[int, Part], model: int) -> CellRow:
    part, where = at
    counts, beats = comparison.counts, comparison.decisions.beats[part]
    n, mean = counts.n_defined[part], comparison.means.mean[part].round(EQUAL_DIGITS)
    is_tested = n >= MIN_DEFINED
    best = mean[is_tested].max(initial=-np.inf)
    return CellRow(
        year=where.year,
        section=where.section,
        model=comparison.labels[model],
        mean=known(comparison.means.mean[part, model]),
        low=known(comparison.means.low[part, model]),
        high=known(comparison.means.high[part, model]),
        chance=float(counts.chance[part]),
        n=int(n[model]),
        n_undefined=int(counts.n_undefined[part, model]),
        n_near_ties=int(counts.n_near_ties[part, model]),
        outcome=_outcome(comparison, part, model).words,
        is_winner=bool(is_tested[model] and mean[model] >= best),
        beats=int(beats[model].sum()),
        beaten_by=int(beats[:, model].sum()),
        n_rivals=int(np.count_nonzero(~np.isnan(comparison.tests.pvalue[part, model]))),
        indicator=comparison.question.indicator,
    )


def _outcome(comparison: Comparison, part: int, model: int) -> Outcome:
    """TESTED where any pair of the model was; TOO_FEW where the model itself has too few."""
    if comparison.counts.n_defined[part, model] < MIN_DEFINED:
        return Outcome.TOO_FEW
    others = np.delete(comparison.tests.outcome[part, model], model)
    if Outcome.TESTED in others or Outcome.NO_DIFFERENCE not in others:
        return Outcome.TESTED
    return Outcome.NO_DIFFERENCE
