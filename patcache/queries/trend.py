"""Year by year: how many models each one outperforms, and its mean RCI."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from patcache.queries.cells import CellRow, cells
from patcache.queries.wording import year_spans

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.question import Question
    from patcache.queries.testing import Family
    from patcache.store import StoreFolder


def trend(
    store: StoreFolder, question: Question | None = None, *, family: Family = "matrix"
) -> Listing[CellRow]:
    """Every model in every year of a slice that has tuples, models from best to worst overall.

    family: "matrix" corrects the tests of each year by themselves, "sweep" all of them together.
    Source: Figure 4 of the study. Errors: as for the leaderboard.
    """
    listing = cells(store, question, by="year", family=family)
    return replace(listing, notes=(*_gaps(listing, question), *listing.notes))


def _gaps(listing: Listing[CellRow], question: Question | None) -> list[str]:
    """The years without a tuple, of those asked for, else between the first and the last."""
    years = {row.year for row in listing if row.year is not None}
    asked = question.years if question is not None else None
    missing = sorted(set(asked or range(min(years), max(years) + 1)) - years)
    return [f"no tuples in {year_spans(missing)}"] if missing else []
