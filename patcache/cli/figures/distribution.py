"""`patcache figure distribution`: a histogram of each model's similarities or RCIs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.distribution import distribution_options
from patcache.cli.figures import draw_to, out_option
from patcache.cli.options import store_option

if TYPE_CHECKING:
    from patcache.queries.distribution import By, Of
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@out_option
@store_option(create=False)
@distribution_options
def distribution(store: StoreFolder, question: Question, of: Of, by: By, out: Path) -> None:
    """A histogram of each model's similarities, or of its RCIs; gold levels as lines."""
    from patcache.queries import distribution as queries
    from patcache.report.figures.distribution import draw

    draw_to(out, draw, queries.distribution(store, question, of=of, by=by))
