"""How every figure looks, and how it becomes a file: the same bytes for the same results."""

from __future__ import annotations

import html
import io
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patcache.errors import Misused, WriteFailed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1d2733"  # text, frames and intervals; a page replaces it by its own text colour
MUTED = "#7d8794"  # grid, chance and everything that is read second; visible on black as well
# Okabe and Ito's colours without the yellow, which white swallows; markers say the same again.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", INK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
FONT = "DejaVu Sans"  # comes with matplotlib: the same figure on every machine
LIKE_IT = "Verdana, sans-serif"  # as wide, for a page on a machine that lacks it
SUFFIXES = (".svg", ".png", ".pdf")
DOTS_PER_INCH = 200
CAPTION_CHARACTERS_PER_INCH = 20
LONGEST_LABEL = 30
# What an <svg> inside a page does not need: metadata, a style of every element of the page.
PAGE_WASTE = re.compile(r"<metadata>.*?</metadata>|<style\b.*?</style>|<!--.*?-->", re.DOTALL)
ID = re.compile(r' id="([^"]*)"')
REFERENCE = re.compile(r'(?:href="|url\()#([^")]*)')
STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 8,
    "figure.constrained_layout.use": True,
    "font.family": FONT,
    "font.size": 8,
    "grid.alpha": 0.35,
    "grid.color": MUTED,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "patcache",
    "text.color": INK,
    "text.parse_math": False,  # a label with two dollar signs is a label
    "xtick.color": INK,
    "ytick.color": INK,
}


@contextmanager
def styled() -> Iterator[None]:
    """The style, for as long as a figure is drawn or written."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


def new_figure(width: float = 6.4, height: float = 3.6) -> tuple[Figure, Axes]:
    """An empty figure of one plot, in inches; no window and no global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.add_subplot()


def series(number: int) -> dict[str, Any]:
    """Colour, marker and line of the number-th model, from 0: no two alike among the first 40."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": LINES[number // len(COLOURS) % len(LINES)],
    }


def chance_line(axes: Axes, value: float, *, vertical: bool = False) -> None:
    """The level of chance, dashed and named."""
    draw = axes.axvline if vertical else axes.axhline
    draw(value, color=MUTED, linestyle=(0, (4, 3)), linewidth=1, label=f"chance {value:.3f}")


def say_instead(axes: Axes, words: str, y: float = 0.5) -> None:
    """Words in the middle of a plot, or of one of its lines, where there is nothing to draw."""
    axes.text(
        0.5,
        y,
        words,
        transform=axes.transAxes,
        color=MUTED,
        ha="center",
        va="center",
        style="italic",
    )


def title(figure: Figure, text: str, captions: Sequence[str]) -> None:
    """What a figure shows, above it, and of what, small, below it."""
    figure.suptitle(text, x=0.01, horizontalalignment="left", fontsize=10, fontweight="bold")
    width = int(figure.get_figwidth() * CAPTION_CHARACTERS_PER_INCH)
    lines = [line for caption in captions for line in textwrap.wrap(caption, width)]
    figure.supxlabel(
        "\n".join(lines), x=0.01, horizontalalignment="left", fontsize=6.5, color=MUTED
    )


def short(label: str, longest: int = LONGEST_LABEL) -> str:
    """A label that fits: its beginning and its end, which is where settings differ."""
    if len(label) <= longest:
        return label
    tail = (longest - 1) // 2
    return f"{label[: longest - 1 - tail]}…{label[-tail:]}"


def check_suffix(path: Path) -> None:
    """Errors: Misused for an ending that is no kind of figure."""
    if path.suffix.lower() not in SUFFIXES:
        raise Misused(
            f"cannot draw {path.name}",
            f"its ending is {path.suffix!r}" if path.suffix else "it has no ending",
            f"end it in {', '.join(SUFFIXES)}",
        )


def write_figure(figure: Figure, path: Path) -> None:
    """Writes SVG, PNG or PDF, by the ending of the path.

    Errors: Misused for another ending; WriteFailed where the file cannot be written.
    """
    check_suffix(path)
    content = _content(figure, path.suffix.lower()[1:])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise WriteFailed(f"cannot write {path}", str(error), "name another file") from error


def svg_for_page(figure: Figure, name: str = "figure", label: str = "") -> str:
    """The figure as an <svg> element whose text is text and whose ink is the page's colour.

    name: begins every id, so that two figures of a page share none. label: what it shows, read
    aloud instead of it.
    """
    text = _content(figure, "svg", svg_text="none").decode()
    body = text[text.index(">", text.index("<svg")) + 1 :]
    body = PAGE_WASTE.sub("", body).replace("xlink:href", "href").replace(INK, "currentColor")
    body = body.replace(f"'{FONT}'", f"'{FONT}', {LIKE_IT}")
    wanted = set(REFERENCE.findall(body))
    body = ID.sub(lambda found: f' id="{name}-{found[1]}"' if found[1] in wanted else "", body)
    body = REFERENCE.sub(lambda found: found[0].replace("#", f"#{name}-"), body)
    width, height = (72 * inches for inches in figure.get_size_inches())
    size = f'width="{width:g}pt" height="{height:g}pt" viewBox="0 0 {width:g} {height:g}"'
    head = f'<svg {size} role="img" aria-labelledby="{name}-title">'
    return f'{head}<title id="{name}-title">{html.escape(label)}</title>{body.strip()}'


def _content(figure: Figure, kind: str, svg_text: str = "path") -> bytes:
    import matplotlib as mpl

    stream = io.BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    quiet = warnings.catch_warnings()
    with quiet, styled(), mpl.rc_context({"svg.fonttype": svg_text}):
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # it is drawn as a box
        if figure.get_layout_engine() is not None:  # laid out once, whatever is written first
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figure.savefig(
            stream,
            format=kind,
            dpi=DOTS_PER_INCH,
            metadata=metadata,
            transparent=svg_text == "none",
        )
    return stream.getvalue()
