"""Tables as LaTeX that compiles as it is: a table environment with a caption and a label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patcache.report.formats import LATEX_SPECIAL, PEOPLE_FORMATS

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.report.grid import Grid

# Beside the characters special to LaTeX: those that its first fonts show as others.
SIGNS = {
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "…": r"\dots{}",
    "·": r"\textperiodcentered{}",
    "–": "--",
    "±": r"$\pm$",
}
HEAD = (
    "% Needs \\usepackage{booktabs}; labels in other scripts than Latin need XeLaTeX or LuaLaTeX."
)


def latex_table(listing: Listing[Any], grid: Grid, title: str, label: str) -> str:
    """A booktabs table; the caption says of what it is, the notes follow as comments."""
    tabular = _signs(PEOPLE_FORMATS["latex"](grid))
    caption = ". ".join([title, *(_text(line) for line in listing.caption)])
    notes = [f"% {line}" for line in listing.notes]
    lines = [
        HEAD,
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{label}}}",
        tabular,
        r"\end{table}",
        *notes,
    ]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    one_line = "".join(c if c.isprintable() else " " for c in text)
    return "".join({**LATEX_SPECIAL, **SIGNS}.get(c, c) for c in one_line)


def _signs(text: str) -> str:
    return "".join(SIGNS.get(character, character) for character in text)
