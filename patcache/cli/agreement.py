"""`patcache agreement`: do models agree on which tuples are easy?"""

from __future__ import annotations

import dataclasses
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
    "--show",
    type=click.Choice(("spearman", "pearson", "difference", "pairs")),
    default="spearman",
    show_default=True,
    help="In the grid: a correlation or the mean difference; or a line a pair with where "
    "two models differ most.",
)
@value_options
@format_option
def agreement(store: StoreFolder, question: Question, show: str, fmt: str) -> None:
    """Do models agree on which tuples are easy, and where do two of them differ most?

    table, md and latex show a grid; csv, json and jsonl have one record a pair with everything.
    """
    from patcache.queries import agreement as queries
    from patcache.report.formats import PEOPLE_FORMATS
    from patcache.report.grids.agreement import TITLES, grid_of_agreement

    listing = queries.agreement(store, question)
    if fmt in PEOPLE_FORMATS:
        listing = dataclasses.replace(listing, caption=(*listing.caption, TITLES[show]))
    write_listing(listing, fmt, grid_of_agreement(listing, show))
