"""`patcache normality`: whether a model's RCIs could be normal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, slice_options, store_option
from patcache.cli.output import write_listing
from patcache.records import INDICATORS

if TYPE_CHECKING:
    from patcache.records import Indicator
    from patcache.store import StoreFolder


@click.command()
@store_option(create=False)
@slice_options
@click.option("--indicator", type=click.Choice(INDICATORS), default="footrule", show_default=True)
@format_option
def normality(
    store: StoreFolder,
    sample: str | None,
    years: tuple[int, ...] | None,
    sections: tuple[str, ...] | None,
    models: tuple[str, ...] | None,
    indicator: Indicator,
    fmt: str,
) -> None:
    """Test whether each model's values could be normal (Shapiro-Wilk, Lilliefors).

    They take few values and hardly ever are, which is why models are compared by rank.
    """
    from patcache.queries.normality import normality_of_models
    from patcache.queries.question import Question

    question = Question(sample, years, sections, models, indicator)
    write_listing(normality_of_models(store, question), fmt)
