"""`patcache distribution`: how each model's similarities, or its RCIs, are distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import Command, format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import value_options

if TYPE_CHECKING:
    from patcache.queries.distribution import By, Of
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


def distribution_options(command: Command) -> Command:
    """Adds --of, --by and the options of a slice."""
    options = (
        click.option(
            "--of",
            type=click.Choice(("similarity", "rci")),
            default="similarity",
            show_default=True,
            help="Similarities of all pairs of target and candidate, or values of tuples.",
        ),
        click.option(
            "--by",
            type=click.Choice(("model", "level")),
            default="model",
            show_default=True,
            help="A line a model, or a line each of its gold levels.",
        ),
        value_options,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@store_option(create=False)
@distribution_options
@format_option
def distribution(store: StoreFolder, question: Question, of: Of, by: By, fmt: str) -> None:
    """How each model's similarities, or its RCIs, are distributed: middle, spread, tails, shape.

    The histogram is in small blocks, over one range for all cosines; csv, json and jsonl have its
    counts.
    """
    from patcache.queries import distribution as queries
    from patcache.report.grids.distribution import grid_of_distribution

    listing = queries.distribution(store, question, of=of, by=by)
    write_listing(listing, fmt, grid_of_distribution(listing, with_blocks=fmt != "latex"))
