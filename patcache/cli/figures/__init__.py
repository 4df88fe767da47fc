"""`patcache figure NAME --out FILE`: one figure, drawn from the store."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from patcache.cli.options import Command
from patcache.cli.output import say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = {
    "leaderboard": "patcache.cli.figures.leaderboard:leaderboard",
    "matrix": "patcache.cli.figures.matrix:matrix",
    "trend": "patcache.cli.figures.trend:trend",
    "fields": "patcache.cli.figures.fields:fields",
    "where": "patcache.cli.figures.where:where",
    "compare": "patcache.cli.figures.compare:compare",
    "robustness": "patcache.cli.figures.robustness:robustness",
    "efficiency": "patcache.cli.figures.efficiency:efficiency",
    "distribution": "patcache.cli.figures.distribution:distribution",
    "levels": "patcache.cli.figures.levels:levels",
    "agreement": "patcache.cli.figures.agreement:agreement",
}


class FigureCommands(click.RichGroup):
    """The figures in the order of FIGURES; a module is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(FIGURES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in FIGURES:
            return None
        module, function = FIGURES[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), function)
        return command


@click.group(cls=FigureCommands)
def figure() -> None:
    """Draw one figure as SVG, PNG or PDF, with the options of the listing it shows."""


def out_option(command: Command) -> Command:
    """Adds --out; the command gets `out`."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path, dir_okay=False),
        required=True,
        metavar="FILE",
        help="The file to write: .svg, .png or .pdf.",
    )(command)


def draw_to(out: Path, draw: Callable[..., Figure], *listings: Any, **choices: Any) -> None:
    """Draws and writes a figure, and says the file's name."""
    from patcache.report.figures.style import check_suffix, styled, write_figure

    check_suffix(out)
    with styled():
        drawn = draw(*listings, **choices)
    write_figure(drawn, out)
    say(f"{out} is written")
