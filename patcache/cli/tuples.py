"""`patcache tuples`: the tuples that models find hard or easy, or differ on; or one of them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import value_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.queries.tuples import Order
    from patcache.store import StoreFolder

N_BETWEEN = 2


@click.command()
@store_option(create=False)
@click.option(
    "--order",
    type=click.Choice(("hardest", "easiest", "disagreement")),
    help="What comes first  [default: hardest; disagreement with --between].",
)
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@click.option("--between", metavar="A,B", help="Two models: by how much the first is ahead.")
@click.option("--show", type=int, metavar="ID", help="One tuple whole, with every candidate.")
@value_options
@format_option
def tuples(
    store: StoreFolder,
    question: Question,
    order: Order | None,
    top: int,
    between: str | None,
    show: int | None,
    fmt: str,
) -> None:
    """The hardest and easiest tuples, those on which models differ most, or one whole tuple."""
    if show is not None:
        _show_tuple(store, question, show, fmt)
        return
    from patcache.queries import tuples as queries
    from patcache.report.formats import PEOPLE_FORMATS
    from patcache.report.grids.tuples import grid_of_tuples, models_note

    pair = _pair(between)
    listing = queries.tuples(store, question, order=order, top=top, between=pair)
    grid = grid_of_tuples(listing, with_difference=pair is not None)
    if fmt in PEOPLE_FORMATS and listing:
        notes = (*models_note(listing), *listing.notes)
        listing = dataclasses.replace(listing, notes=notes)
    write_listing(listing, fmt, grid)


def _show_tuple(store: StoreFolder, question: Question, tuple_id: int, fmt: str) -> None:
    from patcache.queries.tuple_view import tuple_view
    from patcache.report.formats import PEOPLE_FORMATS
    from patcache.report.grids.tuples import grid_of_tuple, values_note

    listing = tuple_view(store, tuple_id, question)
    if fmt in PEOPLE_FORMATS:
        caption = (*listing.caption, values_note(listing))
        listing = dataclasses.replace(listing, caption=caption)
    write_listing(listing, fmt, grid_of_tuple(listing))


def _pair(between: str | None) -> tuple[str, str] | None:
    if between is None:
        return None
    names = [name.strip() for name in between.split(",")]
    if len(names) != N_BETWEEN or not all(names):
        raise click.BadParameter(f"{between!r} does not name two models, such as tfidf,minilm")
    return names[0], names[1]
