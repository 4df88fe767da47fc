"""`patcache matrix`: every pair of models of a slice."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import question_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@store_option(create=False)
@question_options
@click.option(
    "--show",
    type=click.Choice(("p", "effect", "difference")),
    default="p",
    show_default=True,
    help="In the grid: corrected p, probability of superiority, or mean difference.",
)
@format_option
def matrix(store: StoreFolder, question: Question, show: str, fmt: str) -> None:
    """Test every pair of models of a slice: does the row's model beat the column's?

    table, md and latex show a grid; csv, json and jsonl have one record a pair with everything.
    """
    show_matrix(store, question, show, fmt)


def show_matrix(store: StoreFolder, question: Question, show: str, fmt: str) -> None:
    """The matrix of a question, to stdout."""
    from patcache.queries import matrix as queries
    from patcache.report.formats import PEOPLE_FORMATS
    from patcache.report.grids.matrix import grid_of_matrix, title_of_matrix

    listing = queries.matrix(store, question)
    if fmt in PEOPLE_FORMATS:
        title = title_of_matrix(show, question)
        listing = dataclasses.replace(listing, caption=(*listing.caption, title))
    write_listing(listing, fmt, grid_of_matrix(listing, show))
