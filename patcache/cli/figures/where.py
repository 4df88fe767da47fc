"""`patcache figure where MODEL`: in which slices a model wins and loses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.figures import draw_to, out_option
from patcache.cli.options import store_option
from patcache.cli.where import where_options

if TYPE_CHECKING:
    from patcache.queries.cells import Parts
    from patcache.queries.question import Question
    from patcache.store import StoreFolder

MOST_ROWS = 12  # of each verdict, unless --top says otherwise


@click.command()
@out_option
@store_option(create=False)
@where_options(top=MOST_ROWS)
def where(
    store: StoreFolder,
    question: Question,
    model: str,
    against: str | None,
    by: Parts | None,
    top: int | None,
    out: Path,
) -> None:
    """Differences between MODEL and its rivals, slice by slice, with their intervals."""
    from patcache.queries import where as queries
    from patcache.report.figures.where import draw

    listing = queries.where(store, model, question, against=against, by=by, top=top)
    draw_to(out, draw, listing)
