"""`patcache cells`: the models year by year, section by section, or cell by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import dmax_option, question_options

if TYPE_CHECKING:
    from patcache.queries.cells import Parts
    from patcache.queries.question import Question
    from patcache.queries.testing import Family
    from patcache.store import StoreFolder


@click.command()
@store_option(create=False)
@click.option(
    "--by",
    type=click.Choice(("year", "section", "cell")),
    default="year",
    show_default=True,
    help="What a line is.",
)
@click.option(
    "--family",
    type=click.Choice(("matrix", "sweep")),
    default="matrix",
    show_default=True,
    help="Correct the tests of each line by themselves, or of all lines together.",
)
@dmax_option
@question_options
@format_option
def cells(store: StoreFolder, question: Question, by: Parts, family: Family, fmt: str) -> None:
    """Which model ranks best in which year or section, and how many it beats there.

    table, md and latex show a line a part; csv, json and jsonl have one record a part and model.
    """
    from patcache.queries import cells as queries
    from patcache.report.grids.cells import grid_of_cells

    listing = queries.cells(store, question, by=by, family=family)
    write_listing(listing, fmt, grid_of_cells(listing))
