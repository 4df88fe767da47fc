"""The models year by year: how many each one beats, or its mean RCI with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.figures.style import chance_line, new_figure, say_instead, series, short, title
from patcache.report.grids.parts import Show, lines_of, models_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.cells import CellRow
    from patcache.records import DoubleArray

APART = 0.5  # of a step: how far equal numbers, or the bars of a year, are spread at most
STEP = 0.1  # between two of them
FEW_YEARS = 12  # of which fewer stand so wide apart that their bars can be nearer
YEAR_WIDTH = 0.16  # inches
LEGEND_ROWS = 24  # models in one column of the legend


def draw(listing: Listing[CellRow], show: Show = "beats") -> Figure:
    """A line a model over the years; a line breaks at a year without tuples or with too few."""
    models, parts = models_of(listing), lines_of(listing)
    years = np.array([rows[0].year for rows in parts], dtype=np.float64)
    span = int(years[-1] - years[0]) + 1
    legend = -(-len(models) // LEGEND_ROWS)
    width = min(9.0, max(4.4, 1.0 + YEAR_WIDTH * span)) + 1.6 * legend
    figure, axes = new_figure(width, max(3.4, 1.3 + 0.17 * min(len(models), LEGEND_ROWS)))
    step = min(STEP, APART / len(models))
    step *= 1.0 if show == "beats" else min(1.0, span / FEW_YEARS)
    draw_lines = _draw_beats if show == "beats" else _draw_means
    draw_lines(axes, parts, years, step)
    for line, model in zip(axes.lines, models, strict=True):
        line.set_label(short(model))
    _finish(axes, listing, show, legend)
    if show == "beats":
        apart = "equal numbers are drawn a little apart"
        title(figure, "Models outperformed, by year", [*listing.caption, apart])
    else:
        name = INDICATOR_NAMES[listing[0].indicator]
        title(figure, f"Mean {name} by year, 95 % interval", listing.caption)
    return figure


def _draw_beats(
    axes: Axes, parts: tuple[tuple[CellRow, ...], ...], years: DoubleArray, step: float
) -> None:
    """Whole numbers; models with equal ones lie around it, the best overall above."""
    beats = np.array(
        [[np.nan if row.outcome == "too few" else row.beats for row in rows] for rows in parts]
    )
    alike = beats[:, :, None] == beats[:, None, :]
    earlier = np.tril(alike, -1).sum(axis=2)
    at = beats - step * (earlier - (alike.sum(axis=2) - 1) / 2)
    for place in range(beats.shape[1]):
        axes.plot(*_with_gaps(years, at[:, place]), **series(place))


def _draw_means(
    axes: Axes, parts: tuple[tuple[CellRow, ...], ...], years: DoubleArray, step: float
) -> None:
    """Means with thin bars, a little beside their year, so that no bar hides another."""
    mean, low, high = (
        np.array([[_shown(row, name) for row in rows] for rows in parts])
        for name in ("mean", "low", "high")
    )
    middle = (mean.shape[1] - 1) / 2
    for place in range(mean.shape[1]):
        at, look = years + step * (place - middle), series(place)
        bars = ~np.isnan(low[:, place])
        axes.vlines(
            at[bars], low[bars, place], high[bars, place], color=look["color"], lw=0.7, alpha=0.55
        )
        axes.plot(*_with_gaps(at, mean[:, place]), **look)


def _shown(row: CellRow, name: str) -> float:
    """A number of a row, NaN where the row is in no test or lacks it."""
    value = getattr(row, name)
    return float("nan") if value is None or row.outcome == "too few" else float(value)


def _with_gaps(at: DoubleArray, values: DoubleArray) -> tuple[DoubleArray, DoubleArray]:
    """The points, with a break wherever a year is missing between two of them."""
    breaks = np.flatnonzero(np.diff(at) > 1.5) + 1
    return np.insert(at, breaks, at[breaks] - 0.5), np.insert(values, breaks, np.nan)


def _finish(axes: Axes, listing: Listing[CellRow], show: Show, legend: int) -> None:
    from matplotlib.ticker import MaxNLocator

    years = [row.year for row in listing if row.year is not None]
    axes.set_xlim(min(years) - 0.6, max(years) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if all(row.outcome == "too few" for row in listing):
        say_instead(axes, "too few tuples in every year", y=0.7)
    axes.grid(axis="x", visible=False)
    if show == "beats":
        n_models = len(models_of(listing))
        axes.set_ylim(-0.5, n_models - 0.5)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set_ylabel("models outperformed")
    else:
        chances = {row.chance for row in listing}
        chance_line(axes, sum(chances) / len(chances))
        axes.set_ylabel(f"mean {INDICATOR_NAMES[listing[0].indicator]}")
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=legend, borderaxespad=0, handlelength=3
    )
