"""`patcache leaderboard`: the models of a slice from best to worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import MISSING, Grid, cell_text, write_listing
from patcache.cli.questions import dmax_option, question_options

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.leaderboard import LeaderboardRow
    from patcache.queries.question import Question
    from patcache.store import StoreFolder

NEXT = "next: patcache matrix, patcache cells"


@click.command()
@store_option(create=False)
@dmax_option
@question_options
@format_option
def leaderboard(store: StoreFolder, question: Question, fmt: str) -> None:
    """Which model ranks a slice best, how sure that is, and which models it beats."""
    show_leaderboard(store, question, fmt)
    if fmt == "table":
        click.echo(NEXT)


def show_leaderboard(store: StoreFolder, question: Question, fmt: str) -> None:
    """The leaderboard of a question, to stdout."""
    from patcache.queries import leaderboard as queries

    listing = queries.leaderboard(store, question)
    between = " -- " if fmt == "latex" else " ─●─ "
    write_listing(listing, fmt, grid_of_leaderboard(listing, between))


def grid_of_leaderboard(listing: Listing[LeaderboardRow], between: str) -> Grid:
    """The table people read: the interval is one column, the mean has its indicator's name."""
    from patcache.queries.wording import INDICATOR_NAMES

    mean = INDICATOR_NAMES[listing[0].indicator]
    headings = ("group", "model", mean, "95 % interval", "beats", "beaten by", "s/text")
    cells = tuple(
        (
            row.group,
            row.model,
            cell_text(row.mean, ".3f"),
            interval_text(row.low, row.high, between),
            cell_text(row.beats),
            cell_text(row.beaten_by),
            cell_text(row.s_per_text, ".2g"),
            cell_text(row.n),
            cell_text(row.n_undefined),
            cell_text(row.n_near_ties),
        )
        for row in listing
    )
    is_number = (False, False, *[True] * 8)
    return Grid((*headings, "n", "undefined", "near-ties"), cells, is_number)


def interval_text(low: float | None, high: float | None, between: str) -> str:
    """An interval as "0.652 ─●─ 0.670"."""
    if low is None or high is None:
        return MISSING
    return f"{low:.3f}{between}{high:.3f}"
