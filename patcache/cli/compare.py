"""`patcache compare`: two slices, samples or stores against each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from patcache.cli.options import Command, format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import dmax_option, sides_options

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.compare import CompareRow
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


def compare_options(command: Command) -> Command:
    """Adds --split, --with-sample, --with-store and the options of a question."""
    options: tuple[Any, ...] = (
        click.option(
            "--split", type=int, metavar="YEAR", help="Years before YEAR, and from YEAR on."
        ),
        click.option("--with-sample", metavar="NAME", help="The sample on the second side."),
        click.option(
            "--with-store",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="The store on the second side; models are matched by label.",
        ),
        dmax_option,
        sides_options,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@store_option(create=False)
@compare_options
@format_option
def compare(
    store: StoreFolder,
    question: Question,
    split: int | None,
    with_sample: str | None,
    with_store: Path | None,
    fmt: str,
) -> None:
    """Does a model do better in later years, in another sample, in another store?

    The second side is compared with the first: --sample of --store, or the years before --split.
    """
    from patcache.report.formats import PEOPLE_FORMATS
    from patcache.report.grids.compare import grid_of_compare, title_of_compare

    listing = compared(store, question, split, with_sample, with_store)
    if fmt in PEOPLE_FORMATS:
        listing = replace(listing, caption=(*listing.caption, title_of_compare(listing)))
    write_listing(listing, fmt, grid_of_compare(listing))


def compared(
    store: StoreFolder,
    question: Question,
    split: int | None,
    with_sample: str | None,
    with_store: Path | None,
) -> Listing[CompareRow]:
    """What the options ask for."""
    from patcache.queries import compare as queries
    from patcache.store import StoreFolder as Store

    other = None if with_store is None else Store(with_store, create=False)
    return queries.compare(store, question, split=split, with_sample=with_sample, with_store=other)
