"""IPC section by section: how many models each one outperforms, and its mean RCI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.queries.cells import CellRow, cells

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.question import Question
    from patcache.queries.testing import Family
    from patcache.store import StoreFolder


def fields(
    store: StoreFolder, question: Question | None = None, *, family: Family = "matrix"
) -> Listing[CellRow]:
    """Every model in every IPC section of a slice that has tuples, models from best to worst.

    family: "matrix" corrects the tests of each section by themselves, "sweep" all together.
    Source: Figure 5 of the study. Errors: as for the leaderboard.
    """
    return cells(store, question, by="section", family=family)
