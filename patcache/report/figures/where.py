"""Where a model wins and loses: differences of means with their intervals, a forest plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.queries.where import LOSES, TOO_FEW, WINS
from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.figures.style import INK, MUTED, new_figure, say_instead, series, title
from patcache.report.grids.where import slice_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.where import WhereRow

ROW_HEIGHT = 0.17  # inches


def draw(listing: Listing[WhereRow]) -> Figure:
    """A line a slice and rival, in the listing's order; rows without a test are left out."""
    rows = [row for row in listing if row.verdict != TOO_FEW and row.difference is not None]
    figure, axes = new_figure(6.4, 1.6 + ROW_HEIGHT * max(3, len(rows)))
    for place, row in enumerate(rows):
        _draw_row(axes, row, place)
    axes.axvline(0, color=INK, linewidth=0.8)
    if not rows:
        say_instead(axes, "too few tuples in every slice")
    _part_verdicts(axes, rows)
    axes.set_yticks(
        range(len(rows)), [f"{slice_text(row)} · {row.other} ({row.n:,})" for row in rows]
    )
    axes.set_ylim(max(2, len(rows)) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, labelsize=7)
    axes.grid(axis="y", visible=False)
    name = INDICATOR_NAMES[rows[0].indicator] if rows else "value"
    axes.set_xlabel(f"difference of mean {name}, 95 % interval")
    model = listing[0].model if len(listing) else "a model"
    key = "filled: q below alpha · on the left: slice, rival and their common tuples"
    title(figure, f"Where {model} wins and loses", [*listing.caption, listing.notes[0], key])
    return figure


def _draw_row(axes: Axes, row: WhereRow, place: int) -> None:
    look = {**series(row.other_place - 1), "linestyle": ""}
    if row.verdict not in (WINS, LOSES):
        look |= {"markerfacecolor": "none"}
    if row.low is not None and row.high is not None:
        axes.plot([row.low, row.high], [place, place], color=INK, linewidth=0.8)
    axes.plot([row.difference or 0.0], [place], **look)


def _part_verdicts(axes: Axes, rows: list[WhereRow]) -> None:
    """Thin lines between wins, losses and the rest, each named at its right end."""
    start = 0
    for verdict in dict.fromkeys(row.verdict for row in rows):
        if start:
            axes.axhline(start - 0.5, color=MUTED, linewidth=0.6)
        axes.annotate(
            verdict,
            (1, start),
            (3, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            verticalalignment="center",
            color=INK,
            annotation_clip=False,
        )
        start += sum(row.verdict == verdict for row in rows)
