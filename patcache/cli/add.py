"""`patcache add`: embed and score a model for every sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from patcache.cli.model_options import model_options, runtime_options
from patcache.cli.options import store_option
from patcache.cli.output import say

if TYPE_CHECKING:
    from patcache.records import Runtime
    from patcache.store import StoreFolder


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--sample", "samples", multiple=True, metavar="NAME", help="[default: all samples]")
@click.option("--refit", is_flag=True, help="Fit a word model anew, as a model of its own.")
@model_options
@runtime_options
@store_option(create=False)
def add(
    store: StoreFolder,
    models: tuple[str, ...],
    samples: tuple[str, ...],
    refit: bool,
    label: str | None,
    settings: dict[str, Any],
    runtime: Runtime,
) -> None:
    """Embed and score each MODEL for the samples: only what is new costs anything.

    MODEL is what `patcache embed` takes.
    """
    from patcache.cli.embed import embed_all
    from patcache.cli.score import score_all

    chosen = samples or None
    reports = embed_all(
        store,
        models,
        samples=chosen,
        refit=refit,
        label=label,
        settings=settings,
        runtime=runtime,
    )
    score_all(store, [report.label for report in reports], chosen)
    say("next: patcache leaderboard")
