"""`patcache trend`: the models year by year."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import Command, format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import dmax_option, question_options

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.cells import CellRow
    from patcache.queries.question import Question
    from patcache.queries.testing import Family
    from patcache.report.grids.parts import Show
    from patcache.store import StoreFolder


def parts_options(command: Command) -> Command:
    """Adds --show and --family, and the options of a question."""
    options = (
        click.option(
            "--show",
            type=click.Choice(("beats", "rci")),
            default="beats",
            show_default=True,
            help="How many models each one beats, or its mean RCI with an interval.",
        ),
        click.option(
            "--family",
            type=click.Choice(("matrix", "sweep")),
            default="matrix",
            show_default=True,
            help="Correct the tests of each line by themselves, or of all lines together.",
        ),
        dmax_option,
        question_options,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@store_option(create=False)
@parts_options
@format_option
def trend(store: StoreFolder, question: Question, show: Show, family: Family, fmt: str) -> None:
    """How the models do year by year: how many each one beats, or its mean RCI.

    table, md and latex show a line a year; csv, json and jsonl have one record a year and model.
    """
    from patcache.queries import trend as queries

    write_parts(queries.trend(store, question, family=family), show, fmt)


def write_parts(listing: Listing[CellRow], show: Show, fmt: str) -> None:
    """Parts and models to stdout: a grid for people, records for machines."""
    from patcache.report.formats import PEOPLE_FORMATS
    from patcache.report.grids.parts import grid_of_parts, title_of_parts

    if fmt in PEOPLE_FORMATS:
        listing = replace(listing, caption=(*listing.caption, *title_of_parts(listing, show)))
    write_listing(listing, fmt, grid_of_parts(listing, show))
