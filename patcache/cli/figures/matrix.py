"""`patcache figure matrix`: every pair of models as a coloured matrix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.figures import draw_to, out_option
from patcache.cli.options import store_option
from patcache.cli.questions import question_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@out_option
@click.option(
    "--show",
    type=click.Choice(("p", "effect", "difference")),
    default="p",
    show_default=True,
    help="Corrected p, probability of superiority, or mean difference.",
)
@store_option(create=False)
@question_options
def matrix(store: StoreFolder, question: Question, show: str, out: Path) -> None:
    """Every pair of models: does the row's model beat the column's, and by how much?"""
    from patcache.queries import matrix as queries
    from patcache.report.figures.matrix import draw

    draw_to(out, draw, queries.matrix(store, question), question=question, show=show)
