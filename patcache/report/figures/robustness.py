"""Mean RCI of every model draw by draw, against the level of chance of each draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.figures.style import MUTED, new_figure, series, short, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.robustness import DrawRow
    from patcache.records import DoubleArray

APART = 0.5  # of a step: how far the bars of one draw are spread at most
STEP = 0.08  # between two of them
DRAW_WIDTH = 0.32  # inches
MOST_TICKS = 20
LEGEND_ROWS = 24  # models in one column of the legend
TITLES = {
    "seed": "Would another draw say the same?",
    "candidates": "Does the size of tuples matter?",
}
LABELS = {"seed": "seed of the draw", "candidates": "candidates in a tuple"}


def draw(listing: Listing[DrawRow]) -> Figure:
    """A line a model over the draws of a sweep, with its 95 % intervals; a gap where it is not."""
    vary = listing[0].vary
    models = list(dict.fromkeys(row.model for row in listing))
    rows = {(row.sample, row.model): row for row in listing}
    draws = list({row.sample: row for row in listing}.values())
    places = _places(draws, vary)
    legend = -(-(len(models) + 1) // LEGEND_ROWS)
    width = min(9.0, max(3.6, 1.0 + DRAW_WIDTH * (places[-1] - places[0] + 1))) + 1.7 * legend
    figure, axes = new_figure(width, max(3.4, 1.3 + 0.17 * min(len(models) + 1, LEGEND_ROWS)))
    step = min(STEP, APART / len(models))
    for number, model in enumerate(models):
        mine = [rows.get((draw.sample, model)) for draw in draws]
        _draw_model(axes, mine, places + step * (number - (len(models) - 1) / 2), number, model)
    _draw_chance(axes, draws, places)
    _finish(axes, listing, draws, places)
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=legend, borderaxespad=0, handlelength=3
    )
    title(figure, TITLES[vary], listing.caption)
    return figure


def _places(draws: list[DrawRow], vary: str) -> DoubleArray:
    """Where draws stand: seeds side by side, whatever they are; numbers of candidates in scale."""
    if vary == "seed":
        return np.arange(len(draws), dtype=np.float64)
    return np.array([draw.m for draw in draws], dtype=np.float64)


def _draw_model(
    axes: Axes, rows: list[DrawRow | None], at: DoubleArray, number: int, model: str
) -> None:
    """One model a little beside the draws, so that no bar hides another."""
    mean, low, high = (
        np.array([_shown(row, name) for row in rows]) for name in ("mean", "low", "high")
    )
    look = series(number)
    bars = ~np.isnan(low)
    axes.vlines(at[bars], low[bars], high[bars], color=look["color"], linewidth=0.8, alpha=0.6)
    axes.plot(at, mean, label=short(model), **look)


def _shown(row: DrawRow | None, name: str) -> float:
    value = None if row is None else getattr(row, name)
    return float("nan") if value is None else float(value)


def _draw_chance(axes: Axes, draws: list[DrawRow], places: DoubleArray) -> None:
    """The level of chance of each draw, a line that may bend: it depends on the tuples."""
    chance = np.array([draw.chance for draw in draws])
    low, high = f"{chance.min():.3f}", f"{chance.max():.3f}"
    label = f"chance {low}" if low == high else f"chance {low}-{high}"
    look: dict[str, Any] = {
        "color": MUTED,
        "linestyle": (0, (4, 3)),
        "linewidth": 1,
        "label": label,
    }
    if len(draws) == 1 or low == high:
        axes.axhline(chance[0], **look)
    else:
        axes.plot(places, chance, **look)


def _finish(
    axes: Axes, listing: Listing[DrawRow], draws: list[DrawRow], places: DoubleArray
) -> None:
    vary = listing[0].vary
    values = [draw.seed if vary == "seed" else draw.m for draw in draws]
    every = -(-len(draws) // MOST_TICKS)
    axes.set_xticks(places[::every], [str(value) for value in values[::every]])
    axes.set_xlim(places[0] - 0.6, places[-1] + 0.6)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(LABELS[vary])
    axes.set_ylabel(f"mean {INDICATOR_NAMES[listing[0].indicator]}, 95 % interval")
