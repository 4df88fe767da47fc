"""`patcache figure efficiency`: RCI against seconds a text, or seconds a text by batch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.efficiency import times_option
from patcache.cli.figures import draw_to, out_option
from patcache.cli.options import store_option
from patcache.cli.questions import dmax_option, value_options

if TYPE_CHECKING:
    from patcache.queries.efficiency import Times
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@out_option
@click.option(
    "--show",
    type=click.Choice(("models", "batch")),
    default="models",
    show_default=True,
    help="RCI against seconds a text, or seconds a text by the size of a batch.",
)
@times_option
@store_option(create=False)
@dmax_option
@value_options
def efficiency(
    store: StoreFolder, question: Question, show: str, times: Times | None, out: Path
) -> None:
    """What each model costs and gives, with the models that none other outdoes."""
    from patcache.queries import efficiency as queries
    from patcache.report.figures.efficiency import draw, draw_batches

    if show == "batch":
        draw_to(out, draw_batches, queries.batches(store, question))
    else:
        draw_to(out, draw, queries.efficiency(store, question, times or "embedding"))
