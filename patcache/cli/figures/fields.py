"""`patcache figure fields`: the models in each IPC section."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.figures import draw_to, out_option
from patcache.cli.options import store_option
from patcache.cli.trend import parts_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.queries.testing import Family
    from patcache.report.grids.parts import Show
    from patcache.store import StoreFolder


@click.command()
@out_option
@store_option(create=False)
@parts_options
def fields(store: StoreFolder, question: Question, show: Show, family: Family, out: Path) -> None:
    """How many models each one beats in each IPC section, or its mean RCI with its interval."""
    from patcache.queries import fields as queries
    from patcache.report.figures.fields import draw

    draw_to(out, draw, queries.fields(store, question, family=family), show=show)
