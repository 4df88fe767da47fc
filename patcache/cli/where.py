"""`patcache where MODEL`: in which slices a model wins and loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import rich_click as click

from patcache.cli.options import Command, format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import both_ways_options

if TYPE_CHECKING:
    from patcache.queries.cells import Parts
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


def where_options(top: int | None) -> Callable[[Command], Command]:
    """Adds MODEL, --against, --by, --top and the options of a question."""
    options: tuple[Any, ...] = (
        click.argument("model"),
        click.option("--against", metavar="MODEL", help="The only rival  [default: all]."),
        click.option(
            "--by",
            type=click.Choice(("section", "year", "cell")),
            help="What a slice is  [default: every section and every year].",
        ),
        click.option(
            "--top",
            type=click.IntRange(min=1),
            default=top,
            show_default=True,
            metavar="N",
            help="Only the N clearest wins, losses and rows that are neither.",
        ),
        both_ways_options,
    )

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command()
@store_option(create=False)
@where_options(top=None)
@format_option
def where(
    store: StoreFolder,
    question: Question,
    model: str,
    against: str | None,
    by: Parts | None,
    top: int | None,
    fmt: str,
) -> None:
    """In which years and sections MODEL wins and loses, against whom, and by how much.

    Every slice and rival is one test, two-sided; q limits the share of false ones to --alpha.
    """
    from patcache.queries import where as queries
    from patcache.report.grids.where import grid_of_where

    listing = queries.where(store, model, question, against=against, by=by, top=top)
    write_listing(listing, fmt, grid_of_where(listing))
