"""`patcache figure agreement`: how far every two models agree on which tuples are easy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.figures import draw_to, out_option
from patcache.cli.options import store_option
from patcache.cli.questions import value_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@out_option
@store_option(create=False)
@click.option(
    "--show",
    type=click.Choice(("spearman", "pearson", "difference")),
    default="spearman",
    show_default=True,
    help="A correlation, or the mean absolute difference.",
)
@value_options
def agreement(store: StoreFolder, question: Question, show: str, out: Path) -> None:
    """How far every two models agree on which tuples are easy."""
    from patcache.queries import agreement as queries
    from patcache.report.figures.agreement import draw

    draw_to(out, draw, queries.agreement(store, question), show=show)
