"""`patcache figure compare`: two slices, samples or stores against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.compare import compare_options, compared
from patcache.cli.figures import draw_to, out_option
from patcache.cli.options import store_option

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@out_option
@store_option(create=False)
@compare_options
def compare(
    store: StoreFolder,
    question: Question,
    split: int | None,
    with_sample: str | None,
    with_store: Path | None,
    out: Path,
) -> None:
    """Mean RCI of each model on two sides, with intervals, joined by a line."""
    from patcache.report.figures.compare import draw

    draw_to(out, draw, compared(store, question, split, with_sample, with_store))
