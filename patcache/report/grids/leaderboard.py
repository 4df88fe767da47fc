"""The leaderboard as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.grid import MISSING, Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.leaderboard import LeaderboardRow


def grid_of_leaderboard(listing: Listing[LeaderboardRow], between: str) -> Grid:
    """The table people read: the interval is one column, the mean has its indicator's name.

    Near-ties, and undefined tuples where there are none, are in the notes only.
    """
    mean = INDICATOR_NAMES[listing[0].indicator]
    headings = ("group", "model", mean, "95 % interval", "beats", "beaten by", "s/text", "n")
    cells = [
        (
            row.group,
            row.model,
            cell_text(row.mean, ".3f"),
            interval_text(row.low, row.high, between),
            cell_text(row.beats),
            cell_text(row.beaten_by),
            cell_text(row.s_per_text, ".2g"),
            cell_text(row.n),
        )
        for row in listing
    ]
    is_number = (False, False, *[True] * 6)
    if not any(row.n_undefined for row in listing):
        return Grid(headings, tuple(cells), is_number)
    undefined = (cell_text(row.n_undefined) for row in listing)
    rows = tuple((*row, more) for row, more in zip(cells, undefined, strict=True))
    return Grid((*headings, "undefined"), rows, (*is_number, True))


def interval_text(low: float | None, high: float | None, between: str) -> str:
    """An interval as "0.652 ─●─ 0.670"."""
    if low is None or high is None:
        return MISSING
    return f"{low:z.3f}{between}{high:z.3f}"
