"""`patcache figure leaderboard`: mean RCI of each model with its interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.figures import draw_to, out_option
from patcache.cli.options import store_option
from patcache.cli.questions import dmax_option, question_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@out_option
@store_option(create=False)
@dmax_option
@question_options
def leaderboard(store: StoreFolder, question: Question, out: Path) -> None:
    """Mean RCI of each model with its interval, against the level of chance."""
    from patcache.queries import leaderboard as queries
    from patcache.report.figures.leaderboard import draw

    draw_to(out, draw, queries.leaderboard(store, question))
