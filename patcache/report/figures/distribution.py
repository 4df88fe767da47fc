"""How each model's similarities, or its RCIs, are distributed: a histogram a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.report.figures.style import COLOURS, INK, LINES, MUTED, chance_line, short, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.distribution import DistributionRow
    from patcache.records import DoubleArray

FEW = 4  # models, up to which one column is enough
WIDTH, HEIGHT = 3.1, 1.35  # inches of one histogram
LONGEST, LONGEST_ALONE = 16, 34  # letters of a name beside its numbers, or alone
FAINT, FULL = 0.4, 1.0  # of the first level's line and of the last one's
WHAT = {"RCI": "RCIs", "Kendall": "Kendall values"}
QUANTITIES = {"cosine": "cosine similarity", "score": "score of a pair"}


def draw(listing: Listing[DistributionRow]) -> Figure:
    """A histogram a model, best first, with its mean and central 95 %; levels are lines."""
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(row.model for row in listing))
    n_columns = 1 if len(models) <= FEW else 2
    n_rows = -(-len(models) // n_columns)
    width = 5.2 if n_columns == 1 else 2 * WIDTH + 0.6
    figure = Figure(figsize=(width, 1.3 + HEIGHT * n_rows))
    has_levels = any(row.level is not None for row in listing)
    for place, model in enumerate(models):
        axes = figure.add_subplot(n_rows, n_columns, place + 1)
        rows = [row for row in listing if row.model == model]
        (_draw_levels if has_levels else _draw_whole)(axes, rows, COLOURS[place % len(COLOURS)])
        _finish(axes, rows, is_last=place + n_columns >= len(models))
    of = WHAT.get(listing[0].kind, "similarities")
    if has_levels:
        _level_legend(figure, listing)
    bar = "bar and dot: the central 95 % of them and the mean"
    captions = listing.caption if has_levels else (*listing.caption, bar)
    title(figure, f"How each model's {of} are distributed", captions)
    return figure


def _draw_whole(axes: Axes, rows: list[DistributionRow], colour: str) -> None:
    row = rows[0]
    if row.mean is None or row.bins_from is None or row.bins_to is None:
        return
    shares, edges = _shares(row)
    axes.stairs(shares, edges, fill=True, color=colour, alpha=0.45)
    axes.stairs(shares, edges, color=colour, linewidth=0.8)
    if row.low is not None and row.high is not None:
        below = -0.09 * shares.max()
        axes.plot([row.low, row.high], [below, below], color=INK, linewidth=1.2)
        axes.plot(row.mean, below, color=INK, marker="o", markersize=3.5)
    if row.chance is not None:
        chance_line(axes, row.chance, vertical=True)


def _draw_levels(axes: Axes, rows: list[DistributionRow], colour: str) -> None:
    """A line a level, the deeper the darker and each with dashes of its own."""
    known = [row for row in rows if row.level is not None and row.mean is not None]
    for row, look in zip(known, _looks(len(known)), strict=True):
        shares, edges = _shares(row)
        axes.plot((edges[:-1] + edges[1:]) / 2, shares, color=colour, **look)


def _looks(n_levels: int) -> list[dict[str, Any]]:
    """Dashes and strength of the lines of levels, the shallowest first."""
    return [
        {
            "alpha": FAINT + (FULL - FAINT) * place / max(1, n_levels - 1),
            "linestyle": LINES[(n_levels - 1 - place) % len(LINES)],
        }
        for place in range(n_levels)
    ]


def _level_legend(figure: Figure, listing: Listing[DistributionRow]) -> None:
    """The lines of the levels in ink, since each model has a colour of its own."""
    from matplotlib.lines import Line2D

    levels = sorted({row.level for row in listing if row.level is not None})
    handles = [Line2D([], [], color=INK, **look) for look in _looks(len(levels))]
    labels = [str(level) for level in levels]
    figure.legend(handles, labels, loc="outside right upper", title="gold level")


def _shares(row: DistributionRow) -> tuple[DoubleArray, DoubleArray]:
    """Shares of the values (B,) in their bins, and the edges of the bins (B + 1,)."""
    counts = np.array(row.histogram, dtype=np.float64)
    edges = np.linspace(row.bins_from or 0.0, row.bins_to or 0.0, len(counts) + 1)
    return counts / max(1.0, counts.sum()), edges


def _finish(axes: Axes, rows: list[DistributionRow], *, is_last: bool) -> None:
    row = rows[0]
    has_numbers = row.level is None and row.deviation is not None
    axes.set_title(short(row.model, LONGEST if has_numbers else LONGEST_ALONE))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.01)
    if row.mean is None:
        axes.text(0.5, 0.5, "no defined tuple", ha="center", va="center", transform=axes.transAxes)
        axes.set_xticks([])
        return
    if has_numbers:
        skew = row.skew if row.skewness is None else f"skewness {row.skewness:+.2f}"
        digits = 1 if row.kind == "score" else 3
        words = f"mean {row.mean:z.{digits}f}  sd {row.deviation:.{digits}f}  {skew}"
        axes.set_title(words, loc="right", fontsize=6.5, color=MUTED)
    if is_last or row.kind == "score":
        axes.set_xlabel(QUANTITIES.get(row.kind, row.kind))
