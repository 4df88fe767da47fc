"""Where the candidates of each gold level stand in each model's order: one table a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patcache.report.figures.heat import draw_cells
from patcache.report.figures.style import short, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.levels import ConfusionRow

MOST_COLUMNS = 4
SIDE = 1.75  # inches of a table
LONGEST = 24  # letters of a model's name above its table


def draw(listing: Listing[ConfusionRow]) -> Figure:
    """A table a model, best first: gold levels as rows, places as columns, shares in per cent."""
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(row.model for row in listing))
    levels = sorted({row.level for row in listing if row.level is not None})
    n_rows = -(-len(models) // MOST_COLUMNS)
    n_columns = -(-len(models) // n_rows)
    highest = max((row.share for row in listing if row.share is not None), default=1.0)
    width = max(4.2, 0.7 + SIDE * n_columns)
    figure = Figure(figsize=(width, 1.3 + (SIDE + 0.3) * n_rows))
    for place, model in enumerate(models):
        axes = figure.add_subplot(n_rows, n_columns, place + 1)
        _draw_model(axes, [row for row in listing if row.model == model], levels, highest)
        axes.set_title(short(model, LONGEST))
        if place % n_columns == 0:
            axes.set_ylabel("gold level")
        if place + n_columns >= len(models):
            axes.set_xlabel("stands where level ... belongs")
    what = f"per cent of the candidates of a gold level; right is the diagonal{_chance(listing)}"
    title(figure, "Which levels a model confuses", (*listing.caption, what))
    return figure


def _chance(listing: Listing[ConfusionRow]) -> str:
    """What a model that knows nothing has in every cell, where it is the same in all of them."""
    chances = {round(row.chance, 9) for row in listing if row.chance is not None}
    return f"; chance {100 * chances.pop():.0f} everywhere" if len(chances) == 1 else ""


def _draw_model(axes: Axes, rows: list[ConfusionRow], levels: list[int], highest: float) -> None:
    shares = np.full((len(levels), len(levels)), np.nan)
    for row in rows:
        if row.level is not None and row.place is not None and row.share is not None:
            shares[levels.index(row.level), levels.index(row.place)] = row.share
    if np.isnan(shares).all():
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no defined tuple", ha="center", va="center")
        return
    texts = [["" if np.isnan(share) else f"{100 * share:.0f}" for share in row] for row in shares]
    draw_cells(axes, shares, texts, limits=(0.0, highest), size=7)
    axes.set_xticks(range(len(levels)), [str(level) for level in levels])
    axes.set_yticks(range(len(levels)), [str(level) for level in levels])
