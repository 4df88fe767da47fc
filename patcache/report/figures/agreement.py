"""How far every two models agree on which tuples are easy: a table of correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patcache.queries.wording import ONE_MODEL
from patcache.report.figures.heat import draw_cells
from patcache.report.figures.style import new_figure, short, title
from patcache.report.grids.agreement import CELLS, TITLES, models_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.agreement import AgreementRow

FEW, MANY = 8, 14  # models, where cells become smaller


def draw(listing: Listing[AgreementRow], show: str = "spearman") -> Figure:
    """Models, best first, as rows and by number as columns; show: as in the grid of the listing."""
    models = models_of(listing)
    if not models:
        figure, axes = new_figure(height=1.6)
        axes.set_axis_off()
        axes.text(0.5, 0.5, ONE_MODEL, ha="center", va="center")
        title(figure, "Do models agree on which tuples are easy?", listing.caption)
        return figure
    values, texts = _table(listing, models, show)
    width, height, size = _sizes(len(models))
    room = 0.6 + 0.062 * max(len(short(model)) for model in models)  # inches, for the names
    figure, axes = new_figure(
        max(4.4, room + 0.5 + width * len(models)), 1.3 + height * len(models)
    )
    highest = 1.0 if show != "difference" else float(np.nanmax(values, initial=0.0))
    limits = (min(0.0, float(np.nanmin(values, initial=0.0))), highest)
    draw_cells(axes, values, texts, limits=limits, size=size)
    names = [f"{short(model)}  {number}" for number, model in enumerate(models, start=1)]
    axes.set_xticks(range(len(models)), [str(number + 1) for number in range(len(models))])
    axes.set_yticks(range(len(models)), names)
    axes.xaxis.tick_top()
    title(figure, "Do models agree on which tuples are easy?", (*listing.caption, TITLES[show]))
    return figure


def _table(
    listing: Listing[AgreementRow], models: list[str], show: str
) -> tuple[np.ndarray, list[list[str]]]:
    values = np.full((len(models), len(models)), np.nan)
    texts = [["·" if a == b else "" for a in models] for b in models]
    for row in listing:
        value = {
            "spearman": row.spearman,
            "pearson": row.pearson,
            "difference": row.mean_difference,
        }[show]
        places = models.index(row.model), models.index(row.other)
        for a, b in (places, places[::-1]):
            values[a, b] = np.nan if value is None else value
            texts[a][b] = CELLS[show](row)
    return values, texts


def _sizes(n_models: int) -> tuple[float, float, float]:
    """Width and height of a cell in inches, and its text in points."""
    if n_models <= FEW:
        return 0.62, 0.36, 8
    return (0.52, 0.3, 7) if n_models <= MANY else (0.44, 0.26, 6)
