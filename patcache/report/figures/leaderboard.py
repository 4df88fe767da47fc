"""Mean RCI of each model with its interval, against the level of chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.figures.style import INK, chance_line, new_figure, series, short, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.leaderboard import LeaderboardRow

ROW_HEIGHT = 0.28  # inches


def draw(listing: Listing[LeaderboardRow]) -> Figure:
    """Models from the best, above, to the worst; those without a defined tuple are only named."""
    figure, axes = new_figure(height=1.3 + ROW_HEIGHT * len(listing))
    for place, row in enumerate(listing):
        if row.mean is None or row.low is None or row.high is None:
            continue
        axes.plot([row.low, row.high], [place, place], color=INK, linewidth=1)
        axes.plot(row.mean, place, **{**series(place), "linestyle": ""})
        axes.annotate(
            f"{row.mean:.3f}", (row.high, place), (5, 0), textcoords="offset points", va="center"
        )
    chance_line(axes, listing[0].chance, vertical=True)
    axes.set_yticks(range(len(listing)), [f"{short(row.model)}  ({row.group})" for row in listing])
    axes.set_ylim(len(listing) - 0.4, -0.6)
    axes.set_xlabel(f"mean {INDICATOR_NAMES[listing[0].indicator]}, 95 % interval")
    axes.legend(loc="lower right")
    axes.grid(axis="y", visible=False)
    title(figure, "Which model ranks best (rank group)", listing.caption)
    return figure
