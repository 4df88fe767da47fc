"""Two sides against each other as people read them: one line a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.report.grid import MISSING, Grid, cell_text
from patcache.report.grids.where import span_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.compare import CompareRow


def grid_of_compare(listing: Listing[CompareRow]) -> Grid:
    """Mean of each side, their difference and whether it is one; counts where they differ."""
    columns = [
        ("model", [row.model for row in listing]),
        (listing[0].first, [cell_text(row.mean_first, ".3f") for row in listing]),
        ("n", [cell_text(row.n_first) for row in listing]),
        (listing[0].second, [cell_text(row.mean_second, ".3f") for row in listing]),
        ("n", [cell_text(row.n_second) for row in listing]),
        ("difference", [cell_text(row.difference, "+z.3f") for row in listing]),
        ("95 % interval", [span_text(row.low, row.high) for row in listing]),
        ("beyond chance", [cell_text(row.beyond_chance, "+z.3f") for row in listing]),
        ("superiority", [cell_text(row.superiority, ".3f") for row in listing]),
        ("p", [cell_text(row.p_adjusted, "p") for row in listing]),
        ("verdict", [row.verdict for row in listing]),
        ("rank", [rank_text(row) for row in listing]),
    ]
    shown = [column for column in columns if not _is_idle(*column)]
    words = ("model", "verdict", "rank")
    return Grid(
        tuple(heading for heading, _ in shown),
        tuple(zip(*(cells for _, cells in shown), strict=True)),
        tuple(heading not in words for heading, _ in shown),
    )


def title_of_compare(listing: Listing[CompareRow]) -> str:
    """What the columns are."""
    return (
        f"difference: {listing[0].second} minus {listing[0].first} · superiority: probability that "
        "a value of the second is larger · p corrected"
    )


def rank_text(row: CompareRow) -> str:
    """The place on each side: "2", or "2 -> 3"."""
    if row.rank_first is None or row.rank_second is None:
        return MISSING
    if row.rank_first == row.rank_second:
        return str(row.rank_first)
    return f"{row.rank_first} -> {row.rank_second}"


def _is_idle(heading: str, cells: list[str]) -> bool:
    """Whether the captions say it already: equal counts, or chance that is the same."""
    if heading == "n":
        return len(set(cells)) == 1 and len(cells) > 1
    return heading == "beyond chance" and set(cells) == {MISSING}
