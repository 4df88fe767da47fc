"""`patcache plan`: what embedding would take, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from patcache.cli.model_options import model_options, runtime_options
from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing

if TYPE_CHECKING:
    from patcache.records import Runtime
    from patcache.store import StoreFolder


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--sample", "samples", multiple=True, metavar="NAME", help="[default: all samples]")
@click.option("--all", "all_texts", is_flag=True, help="Every text of the corpus as well.")
@model_options
@runtime_options
@store_option(create=False)
@format_option
def plan(
    store: StoreFolder,
    models: tuple[str, ...],
    samples: tuple[str, ...],
    all_texts: bool,
    label: str | None,
    settings: dict[str, Any],
    runtime: Runtime,
    fmt: str,
) -> None:
    """Say what embedding each MODEL would take: texts, tokens, bytes, time, and room on the disk.

    MODEL and settings are those of `patcache embed`. Time and size come from encoding a few of the
    missing texts; nothing is stored. A model behind an API is sent one short sentence and no text
    of a patent: its cost is counted.
    """
    from patcache.cli.embed import asked_models
    from patcache.steps.planning import plans

    requests = asked_models(models, label, settings)
    found = plans(store, requests, samples=samples or None, all_texts=all_texts, runtime=runtime)
    write_listing(found, fmt)
