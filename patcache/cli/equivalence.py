"""`patcache equivalence`: is a cheaper model good enough: at most a margin worse than another?"""

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
    "--margin",
    type=FiniteRange(min=0, min_open=True),
    default=0.02,
    show_default=True,
    help="How much worse is still good enough, in RCI.",
)
@store_option(create=False)
@question_options
@format_option
def equivalence(store: StoreFolder, question: Question, margin: float, fmt: str) -> None:
    """Is a cheaper model good enough: at most a margin worse than another?

    table, md and latex show each pair once, the lesser model first; csv, json and jsonl both ways.
    """
    from patcache.queries import equivalence as queries
    from patcache.report.grids.equivalence import grid_of_equivalence

    listing = queries.equivalence(store, question, margin=margin)
    write_listing(listing, fmt, grid_of_equivalence(listing))
