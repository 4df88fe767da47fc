"""`patcache levels`: which IPC levels a model confuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import value_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@store_option(create=False)
@click.option(
    "--confusion",
    is_flag=True,
    help="Where the candidates of each gold level stand; of one model: --models NAME.",
)
@value_options
@format_option
def levels(store: StoreFolder, question: Question, confusion: bool, fmt: str) -> None:
    """Which levels a model confuses: is the deeper of two neighbouring levels more similar?"""
    from patcache.queries import levels as queries
    from patcache.report.grids.levels import grid_of_confusion, grid_of_levels

    if confusion:
        places = queries.level_confusion(store, question)
        write_listing(places, fmt, grid_of_confusion(places))
        return
    listing = queries.levels(store, question)
    write_listing(listing, fmt, grid_of_levels(listing))
