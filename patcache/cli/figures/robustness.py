"""`patcache figure robustness`: mean RCI draw by draw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.figures import draw_to, out_option
from patcache.cli.options import store_option
from patcache.cli.questions import dmax_option, value_options
from patcache.cli.robustness import named_base, sweep_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.steps.sweeps import Vary
    from patcache.store import StoreFolder


@click.command()
@out_option
@sweep_options
@click.option(
    "--vary",
    type=click.Choice(("seed", "candidates")),
    help="Against which  [default: that of --seeds or --candidates, else seed].",
)
@store_option(create=False)
@dmax_option
@value_options
def robustness(
    store: StoreFolder,
    question: Question,
    base: str | None,
    seeds: tuple[int, ...] | None,
    sizes: tuple[int, ...] | None,
    vary: Vary | None,
    out: Path,
) -> None:
    """Mean RCI of each model in every draw that the store has, against the level of chance."""
    from patcache.queries.robustness import robustness_draws
    from patcache.report.figures.robustness import draw

    chosen = vary or ("candidates" if sizes is not None and seeds is None else "seed")
    values = seeds if chosen == "seed" else sizes
    draw_to(out, draw, robustness_draws(store, named_base(question, base), chosen, values))
