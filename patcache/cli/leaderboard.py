"""`patcache leaderboard`: the models of a slice from best to worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import dmax_option, question_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder

NEXT = "next: patcache matrix, patcache trend, patcache where MODEL"


@click.command()
@store_option(create=False)
@dmax_option
@question_options
@format_option
def leaderboard(store: StoreFolder, question: Question, fmt: str) -> None:
    """Which model ranks a slice best, how sure that is, and which models it beats."""
    show_leaderboard(store, question, fmt)
    if fmt == "table":
        click.echo(NEXT)


def show_leaderboard(store: StoreFolder, question: Question, fmt: str) -> None:
    """The leaderboard of a question, to stdout."""
    from patcache.queries import leaderboard as queries
    from patcache.report.grids.leaderboard import grid_of_leaderboard

    listing = queries.leaderboard(store, question)
    between = " -- " if fmt == "latex" else " ─●─ "
    write_listing(listing, fmt, grid_of_leaderboard(listing, between))
