"""Two slices, samples or stores against each other: each model's two means, joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.quantities import p_text
from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.figures.style import INK, MUTED, chance_line, new_figure, series, short, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.compare import CompareRow

ROW_HEIGHT = 0.4  # inches
APART = 0.13  # of a row: the first side above its middle, the second below


def draw(listing: Listing[CompareRow]) -> Figure:
    """Models from the best, above; the first side hollow, the second filled, p of each at right."""
    figure, axes = new_figure(6.4, 1.7 + ROW_HEIGHT * len(listing))
    for place, row in enumerate(listing):
        _draw_model(axes, row, place)
    _draw_chance(axes, listing[0])
    axes.set_yticks(range(len(listing)), [short(row.model) for row in listing])
    axes.set_ylim(len(listing) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("mean, 95 % interval; on the right: difference and corrected p")
    _draw_legend(axes, listing[0])
    name = INDICATOR_NAMES[listing[0].indicator]
    sides = f"Mean {name}: {listing[0].first} and {listing[0].second}"
    cautions = [note for note in listing.notes if note.startswith("levels of chance")]
    title(figure, sides, [*listing.caption, *cautions])
    return figure


def _draw_model(axes: Axes, row: CompareRow, place: int) -> None:
    look = {**series(place), "linestyle": ""}
    sides = (
        (row.mean_first, row.low_first, row.high_first, place - APART, "none"),
        (row.mean_second, row.low_second, row.high_second, place + APART, look["color"]),
    )
    if row.mean_first is not None and row.mean_second is not None:
        ends = [row.mean_first, row.mean_second], [place - APART, place + APART]
        axes.plot(*ends, color=look["color"], linewidth=1)
    for mean, low, high, at, face in sides:
        if mean is None:
            continue
        if low is not None and high is not None:
            axes.plot([low, high], [at, at], color=INK, linewidth=0.7)
        axes.plot([mean], [at], **look, markerfacecolor="white" if face == "none" else face)
    axes.annotate(
        _words(row),
        (1, place),
        (4, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        verticalalignment="center",
        fontsize=7,
        annotation_clip=False,
    )


def _words(row: CompareRow) -> str:
    """The difference with its corrected p, or why there is none."""
    if row.difference is None or row.p_adjusted is None:
        return row.verdict
    return f"{row.difference:+z.3f}  p {p_text(row.p_adjusted)}\n{row.verdict}"


def _draw_chance(axes: Axes, row: CompareRow) -> None:
    chance_line(axes, row.chance_first, vertical=True)
    if f"{row.chance_first:.3f}" != f"{row.chance_second:.3f}":
        axes.lines[-1].set_label(f"chance {row.chance_first:.3f} ({row.first})")
        axes.axvline(
            row.chance_second,
            color=MUTED,
            linestyle=":",
            linewidth=1.2,
            label=f"chance {row.chance_second:.3f} ({row.second})",
        )


def _draw_legend(axes: Axes, row: CompareRow) -> None:
    """Which marker is which side, and the chance lines, above the plot."""
    for face, name in (("white", row.first), (INK, row.second)):
        axes.plot([], [], color=INK, marker="o", linestyle="", markerfacecolor=face, label=name)
    handles, labels = axes.get_legend_handles_labels()
    order = [len(labels) - 2, len(labels) - 1, *range(len(labels) - 2)]
    axes.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.2,
        ncols=2 if len(labels) > 3 else 3,
        handlelength=2.5,
    )
