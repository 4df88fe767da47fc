"""`patcache figure levels`: where the candidates of each gold level stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.figures import draw_to, out_option
from patcache.cli.options import store_option
from patcache.cli.questions import value_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@out_option
@store_option(create=False)
@value_options
def levels(store: StoreFolder, question: Question, out: Path) -> None:
    """Which levels a model confuses: where the candidates of each gold level stand."""
    from patcache.queries import levels as queries
    from patcache.report.figures.levels import draw

    draw_to(out, draw, queries.level_confusion(store, question))
