"""RCI against seconds a text with the Pareto front, and seconds a text by size of the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patcache.errors import NotThere
from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.figures.style import INK, MUTED, chance_line, new_figure, series, short, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.efficiency import BatchRow, EfficiencyRow

LEGEND_ROWS = 24  # models in one column of the legend
MANY = 100  # times as slow as the fastest: where powers of ten are marks enough
ROOM = 1.6  # beyond the fastest and the slowest model, as a factor


def draw(listing: Listing[EfficiencyRow]) -> Figure:
    """A numbered point a model and device with its interval, and the front of those unbeaten.

    By seconds a text, or a tuple where a scorer of pairs is among the models, which encodes no
    texts. Models without a time or a mean are named below the figure.
    Errors: NotThere where that is every model.
    """
    figure, axes, legend = _new(len(listing))
    devices = {row.device for row in listing if row.device is not None}
    models = list(dict.fromkeys(row.model for row in listing))
    per = "tuple" if any(row.unit == "pairs" for row in listing) else "text"
    points = [point for row in listing if (point := _point(row, per)) is not None]
    if not points:
        raise NotThere(
            "no model has both a time and a mean",
            f"models: {', '.join(models)}",
            "embed models here, or run `patcache efficiency --measure`",
        )
    for number, point in enumerate(points, start=1):
        look = {**series(models.index(point.row.model)), "linestyle": ""}
        device = f" ({point.row.device})" if len(devices) > 1 else ""
        label = f"{number} {short(point.row.model)}{device}{' *' * point.row.is_front}"
        if point.row.low is not None and point.row.high is not None:
            axes.vlines(point.seconds, point.row.low, point.row.high, color=INK, linewidth=1)
        axes.plot(point.seconds, point.mean, label=label, **look)
        at = (point.seconds, point.mean)
        axes.annotate(str(number), at, (4, 3), textcoords="offset points", fontsize=7)
    _draw_front(axes, points)
    chance_line(axes, listing[0].chance)
    axes.set_xscale("log")
    _log_axis(axes.xaxis, [point.seconds for point in points])
    axes.set_xlabel(f"seconds a {per}, log scale")
    axes.set_ylabel(f"mean {INDICATOR_NAMES[listing[0].indicator]}, 95 % interval")
    _legend(axes, legend)
    missing = [short(row.model) for row in listing if _point(row, per) is None]
    times = "measured, the fastest batch" if listing[0].times == "measured" else "of embedding"
    words = [f"times {times} · * on the front"]
    words += [f"not shown, without a time or a mean: {', '.join(missing)}"] if missing else []
    title(figure, "What the models cost and give", [*listing.caption, *words])
    return figure


def draw_batches(listing: Listing[BatchRow]) -> Figure:
    """A line a model and device over the number of texts in a call, both axes in log scale."""
    lines: dict[tuple[str, str], list[BatchRow]] = {}
    for row in listing:
        lines.setdefault((row.model, row.device), []).append(row)
    figure, axes, legend = _new(len(lines))
    devices = {device for _, device in lines}
    models = list(dict.fromkeys(row.model for row in listing))
    for (model, device), rows in lines.items():
        label = short(model) + (f" ({device})" if len(devices) > 1 else "")
        at = [row.batch for row in rows], [row.s_per_text for row in rows]
        axes.plot(*at, label=label, **series(models.index(model)))
    sizes = sorted({row.batch for row in listing})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    _log_axis(axes.yaxis, [row.s_per_text for row in listing])
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.xaxis.minorticks_off()
    axes.set_xlim(sizes[0] / 1.2, sizes[-1] * 1.2)
    axes.set_xlabel("texts in one call, log scale")
    axes.set_ylabel("seconds a text, log scale")
    _legend(axes, legend)
    n_tuples = sorted({row.n_tuples for row in listing})
    of = f"{n_tuples[0]:,}" if len(n_tuples) == 1 else f"{n_tuples[0]:,}-{n_tuples[-1]:,}"
    words = f"texts of {of} tuple{'s' * (n_tuples[-1] > 1)}"
    title(figure, "Seconds a text by size of the batch", [*listing.caption, words])
    return figure


def _new(n_lines: int) -> tuple[Figure, Axes, int]:
    """A figure with room for a legend of so many lines beside it, in so many columns."""
    legend = -(-(n_lines + 2) // LEGEND_ROWS)
    height = max(3.4, 1.3 + 0.17 * min(n_lines + 2, LEGEND_ROWS))
    return *new_figure(4.6 + 1.8 * legend, height), legend


@dataclass(frozen=True, slots=True)
class _Point:
    row: EfficiencyRow
    seconds: float
    mean: float


def _point(row: EfficiencyRow, per: str) -> _Point | None:
    """Where a row stands; None without a time or a mean."""
    seconds = row.s_per_tuple if per == "tuple" else row.s_per_text
    return None if seconds is None or row.mean is None else _Point(row, seconds, row.mean)


def _draw_front(axes: Axes, points: list[_Point]) -> None:
    """What one gets at most for so many seconds, from the fastest model on."""
    front = sorted((p for p in points if p.row.is_front), key=lambda p: (p.seconds, p.mean))
    if len(front) > 1:
        seconds, mean = [p.seconds for p in front], [p.mean for p in front]
        look: Any = {"color": MUTED, "linewidth": 1, "zorder": 1}
        axes.plot(seconds, mean, drawstyle="steps-post", label="Pareto front (*)", **look)


def _log_axis(axis: Axis, seconds: list[float]) -> None:
    """A log scale from beyond the fastest to beyond the slowest, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if not seconds:
        return
    low, high = min(seconds) / ROOM, max(seconds) * ROOM
    axis.set_view_interval(low, high, ignore=True)
    subs = (1.0,) if high / low > MANY else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _legend(axes: Axes, columns: int) -> None:
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        borderaxespad=0,
        handlelength=3,
    )
