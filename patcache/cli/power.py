"""`patcache power`: how many tuples it takes to see a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import FiniteRange, format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import question_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@click.option(
    "--difference",
    type=FiniteRange(min=0, min_open=True),
    default=0.01,
    show_default=True,
    help="The difference in mean RCI that one wants to see.",
)
@click.option(
    "--power",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="The probability of seeing it.",
)
@store_option(create=False)
@question_options
@format_option
def power(
    store: StoreFolder, question: Question, difference: float, power: float, fmt: str
) -> None:
    """How many tuples it takes to see a difference, and how small a one these can show."""
    from patcache.queries import power as queries

    listing = queries.power(store, question, difference=difference, power=power)
    write_listing(listing, fmt)
