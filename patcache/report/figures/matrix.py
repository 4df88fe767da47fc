"""Every pair of models as a coloured matrix: who beats whom, by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patcache.kernels.outcomes import Outcome
from patcache.queries.wording import ONE_MODEL
from patcache.report.figures.style import MUTED, new_figure, short, title
from patcache.report.grids.matrix import CELLS, title_of_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.matrix import PairRow
    from patcache.queries.question import Question

# From the column's favour to the row's. Light orange, white, dark blue: colour-blind people see
# two hues, and a grey print a lighter and a darker side.
MAP_COLOURS = ("#f5a65b", "#fbdcb8", "#ffffff", "#8dbbe0", "#08488e")
TEXT_ON_LIGHT, TEXT_ON_DARK = "#111820", "#ffffff"
BACKGROUND = "#ffffff"  # of cells, on a dark page too
DARK = 0.84  # of the way to the row's end of the map: from here on text is light
DECADES = 3.0  # of p below 1 that make a full colour
HATCHING = "#5b6673"
FEW, MANY = 8, 14  # models, where cells become smaller
TITLES = {
    "p": "Which model beats which",
    "effect": "How often one model is ahead of another",
    "difference": "By how much models differ",
}
HATCH = {Outcome.TOO_FEW.words: "////", Outcome.NO_DIFFERENCE.words: "...."}


def draw(listing: Listing[PairRow], question: Question, show: str = "p") -> Figure:
    """Models from the best as rows and, by number, as columns; a frame and * mark a win.

    show: "p", "effect" or "difference", as in the matrix of the command line.
    """
    models = list(dict.fromkeys(row.model for row in listing))
    if not models:
        return _words(listing)
    width, height, size = _sizes(len(models))
    room = 0.6 + 0.062 * max(len(short(model)) for model in models)  # inches, for the names
    figure, axes = new_figure(
        max(5.2, room + 0.9 + width * len(models)), 2.0 + height * len(models)
    )
    scale = _Scale(show, _limit(listing, show), size)
    places = {model: place for place, model in enumerate(models)}
    pairs = {(row.model, row.other): row for row in listing}
    for row in listing:
        favour = scale.favour(row, pairs[row.other, row.model])
        _draw_cell(axes, row, (places[row.other], places[row.model]), scale, favour)
    for place in range(len(models)):
        axes.text(place, place, "·", ha="center", va="center", color=MUTED, fontsize=size + 2)
    _label(axes, listing, models)
    _legend(axes, listing, scale)
    title(figure, TITLES[show], (*listing.caption, title_of_matrix(show, question)))
    return figure


@dataclass(frozen=True, slots=True)
class _Scale:
    """How a number becomes a colour. limit: the value whose colour is full; size: of its text."""

    show: str
    limit: float
    size: float

    def favour(self, row: PairRow, reverse: PairRow) -> float:
        """Place of a cell on the map, from 0 (the column's) to 1 (the row's)."""
        if self.show != "p":
            return 0.5 + 0.5 * _value(row, self.show) / self.limit
        return 0.5 + 0.5 * (_strength(row) - _strength(reverse))

    def colour(self, favour: float) -> Any:
        from matplotlib.colors import LinearSegmentedColormap

        return LinearSegmentedColormap.from_list("favour", MAP_COLOURS)(favour)


def _strength(row: PairRow) -> float:
    """How sure a win is, from 0, where there is none, to 1, for p of .001 or less."""
    if not row.beats or row.p_adjusted is None:
        return 0.0
    return min(1.0, -math.log10(max(row.p_adjusted, 1e-300)) / DECADES)


def _words(listing: Listing[PairRow]) -> Figure:
    """What there is to see of one model: nothing."""
    figure, axes = new_figure(height=1.6)
    axes.set_axis_off()
    axes.text(0.5, 0.5, ONE_MODEL, ha="center", va="center")
    title(figure, TITLES["p"], listing.caption)
    return figure


def _sizes(n_models: int) -> tuple[float, float, float]:
    """Width and height of a cell in inches, and its text in points."""
    if n_models <= FEW:
        return 0.62, 0.36, 8
    return (0.52, 0.3, 7) if n_models <= MANY else (0.44, 0.26, 6)


def _limit(listing: Listing[PairRow], show: str) -> float:
    """The largest value shown: its colour is full."""
    return max((abs(_value(row, show)) for row in listing), default=0.0) or 1.0


def _value(row: PairRow, show: str) -> float:
    """What a colour stands for: 0 is nobody's favour, more the row's, less the column's."""
    if show == "effect":
        return 0.0 if row.superiority is None else row.superiority - 0.5
    return row.mean_difference or 0.0


def _draw_cell(axes: Axes, row: PairRow, at: tuple[int, int], scale: _Scale, favour: float) -> None:
    """One cell: its colour or hatching, its number, and a frame where the row wins."""
    from matplotlib.patches import Rectangle

    hatch = HATCH.get(row.outcome)
    face = BACKGROUND if hatch else scale.colour(favour)
    cell: Any = {"facecolor": face, "edgecolor": HATCHING, "linewidth": 0.4, "hatch": hatch}
    axes.add_patch(Rectangle((at[0] - 0.5, at[1] - 0.5), 1, 1, clip_on=False, **cell))
    if row.beats:
        frame: Any = {"fill": False, "edgecolor": TEXT_ON_LIGHT, "linewidth": 1.3}
        axes.add_patch(Rectangle((at[0] - 0.46, at[1] - 0.46), 0.92, 0.92, **frame))
    if hatch and scale.show == "p":
        return
    text: Any = {"ha": "center", "va": "center", "fontsize": scale.size}
    if hatch:
        text["bbox"] = {"facecolor": BACKGROUND, "edgecolor": "none", "pad": 1}
    color = TEXT_ON_DARK if favour > DARK and not hatch else TEXT_ON_LIGHT
    axes.text(*at, CELLS[scale.show](row), color=color, **text)


def _label(axes: Axes, listing: Listing[PairRow], models: list[str]) -> None:
    """Numbers and names of the rows, numbers of the columns, and how many each row beats."""
    n = len(models)
    wins = {model: sum(row.beats for row in listing if row.model == model) for model in models}
    names = [f"{short(model)}  {place}" for place, model in enumerate(models, start=1)]
    axes.set_xlim(-0.5, n - 0.5)
    axes.set_ylim(n - 0.5, -0.5)
    axes.set_xticks(range(n), [str(place + 1) for place in range(n)])
    axes.set_yticks(range(n), names)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    beside: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    for place, model in enumerate(models):
        axes.annotate(str(wins[model]), (1, place), (10, 0), va="center", **beside)
    axes.annotate("beats", (1, -0.5), (6, 4), va="bottom", **beside)


def _legend(axes: Axes, listing: Listing[PairRow], scale: _Scale) -> None:
    """What frames, colours and hatching mean, below the matrix; only those that are there."""
    from matplotlib.patches import Patch

    entries = []
    if any(row.beats for row in listing):
        frame = Patch(facecolor=BACKGROUND, edgecolor=TEXT_ON_LIGHT, linewidth=1.3)
        entries.append((frame, "* the row wins"))
    words = dict.fromkeys(row.outcome for row in listing)
    if scale.show != "p" or entries:
        for favour, whose in ((1.0, "row"), (0.0, "column")):
            patch = Patch(facecolor=scale.colour(favour), edgecolor=HATCHING, linewidth=0.4)
            entries.append((patch, _end_words(scale, favour, whose)))
    for word in words:
        if word in HATCH:
            look: Any = {"facecolor": BACKGROUND, "edgecolor": HATCHING, "linewidth": 0.4}
            entries.append((Patch(hatch=HATCH[word], **look), word))
    if entries:
        handles, labels = zip(*entries, strict=True)
        columns = 3 if axes.get_xlim()[1] > FEW else 1  # beside each other where there is room
        axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(0, 0), ncols=columns)


def _end_words(scale: _Scale, favour: float, whose: str) -> str:
    """What one end of the colours stands for."""
    if scale.show == "p":
        return f"the {whose} wins, p at most .001"
    value = (2 * favour - 1) * scale.limit
    number = f"{value:+.3f}" if scale.show == "difference" else f"{0.5 + value:.2f}"
    return f"{number}, the {whose} ahead"
