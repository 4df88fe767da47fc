"""Wins and losses as people read them: one line a slice and rival."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.report.grid import MISSING, Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.where import WhereRow

HEADINGS = ("slice", "against", "n", "difference", "95 % interval", "superiority", "p", "q")


def grid_of_where(listing: Listing[WhereRow]) -> Grid:
    """Slices from the clearest win; p is of one test alone, q of all of them."""
    cells = tuple(
        (
            slice_text(row),
            row.other,
            cell_text(row.n),
            cell_text(row.difference, "+z.3f"),
            span_text(row.low, row.high),
            cell_text(row.superiority, ".3f"),
            cell_text(row.p, "p"),
            cell_text(row.q, "p"),
            row.verdict,
        )
        for row in listing
    )
    return Grid((*HEADINGS, "verdict"), cells, (False, False, *[True] * 6, False))


def slice_text(row: WhereRow) -> str:
    """The slice of a row: "H", "2013", "2013 H"."""
    return " ".join(str(part) for part in (row.year, row.section) if part is not None)


def span_text(low: float | None, high: float | None) -> str:
    """An interval of a difference: "+0.012 to +0.056"."""
    if low is None or high is None:
        return MISSING
    return f"{low:+z.3f} to {high:+z.3f}"
