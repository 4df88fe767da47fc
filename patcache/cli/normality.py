"""`patcache normality`: whether a model's RCIs could be normal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.questions import value_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@store_option(create=False)
@value_options
@format_option
def normality(store: StoreFolder, question: Question, fmt: str) -> None:
    """Test whether each model's values could be normal (Shapiro-Wilk, Lilliefors).

    They take few values and hardly ever are, which is why models are compared by rank.
    """
    from patcache.queries.normality import normality_of_models

    write_listing(normality_of_models(store, question), fmt)
