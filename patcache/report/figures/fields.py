"""The models in each IPC section: how many each one beats, or its mean RCI with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.figures.style import (
    COLOURS,
    INK,
    chance_line,
    new_figure,
    say_instead,
    series,
    short,
    title,
)
from patcache.report.grids.parts import Show, best_of, lines_of, models_of, n_tuples, part_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.cells import CellRow

DOT_HEIGHT = 0.09  # inches, for each model of a section
CELL_HEIGHT, CELL_WIDTH = 0.34, 0.62  # inches


def draw(listing: Listing[CellRow], show: Show = "beats") -> Figure:
    """A line a section: numbers on tiles for beaten models, dots with intervals for means."""
    return _beats(listing) if show == "beats" else _means(listing)


def _beats(listing: Listing[CellRow]) -> Figure:
    models, parts = models_of(listing), lines_of(listing)
    width = max(4.8, 2.6 + CELL_WIDTH * len(models))
    figure, axes = new_figure(width, 1.9 + CELL_HEIGHT * len(parts))
    for line, rows in enumerate(parts):
        best = best_of(rows, "beats")
        for place, row in enumerate(rows):
            _draw_tile(axes, (place, line), row, is_best=row.model in best)
    axes.set_xlim(-0.5, len(models) - 0.5)
    axes.set_ylim(len(parts) - 0.5, -0.5)
    names = [short(model) for model in models]
    axes.set_xticks(range(len(models)), names, rotation=30, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    _name_sections(axes, parts)
    key = f"of {len(models)} models · bold: the most in the line · in brackets: tuples"
    title(figure, "Models outperformed, by field", [*listing.caption, key])
    return figure


def _draw_tile(axes: Axes, at: tuple[int, int], row: CellRow, *, is_best: bool) -> None:
    """A number, or the words for none, on a tile that is darker the larger the number is."""
    from matplotlib.patches import Rectangle

    share = row.beats / max(1, row.n_rivals)
    tile = Rectangle(
        (at[0] - 0.48, at[1] - 0.46), 0.96, 0.92, color=COLOURS[0], alpha=0.05 + 0.5 * share, lw=0
    )
    axes.add_patch(tile)
    is_tested = row.outcome == "tested"
    axes.text(
        *at,
        str(row.beats) if is_tested else row.outcome.replace(" ", "\n"),
        horizontalalignment="center",
        verticalalignment="center",
        fontsize=8 if is_tested else 6,
        fontweight="bold" if is_best else "normal",
    )


def _means(listing: Listing[CellRow]) -> Figure:
    models, parts = models_of(listing), lines_of(listing)
    step = 1 / (len(models) + 1.5)
    height = len(parts) * max(0.32, DOT_HEIGHT * (len(models) + 1.5))
    figure, axes = new_figure(6.6, 1.5 + max(height, 0.16 * (len(models) + 2)))
    for place, model in enumerate(models):
        rows = [rows[place] for rows in parts]
        at = np.arange(len(parts)) + (place - (len(models) - 1) / 2) * step
        shown = [row.outcome != "too few" and row.mean is not None for row in rows]
        mean, low, high = (
            np.array([getattr(row, name) for row in rows], dtype=float)[shown]
            for name in ("mean", "low", "high")
        )
        axes.hlines(at[shown], low, high, color=INK, linewidth=0.7)
        axes.plot(mean, at[shown], **{**series(place), "linestyle": ""}, label=short(model))
    for line, part in enumerate(parts):
        if all(row.outcome == "too few" for row in part):
            say_instead(axes, "too few tuples", y=1 - (line + 0.5) / len(parts))
    chances = {row.chance for row in listing}
    chance_line(axes, sum(chances) / len(chances), vertical=True)
    for border in range(1, len(parts)):
        axes.axhline(border - 0.5, color=INK, linewidth=0.3, alpha=0.4)
    axes.set_ylim(len(parts) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    name = INDICATOR_NAMES[listing[0].indicator]
    axes.set_xlabel(f"mean {name}, 95 % interval")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0)
    _name_sections(axes, parts)
    title(figure, f"Mean {name} by field", listing.caption)
    return figure


def _name_sections(axes: Axes, parts: tuple[tuple[CellRow, ...], ...]) -> None:
    axes.set_yticks(
        range(len(parts)), [f"{part_text(rows[0])} ({n_tuples(rows):,})" for rows in parts]
    )
