"""`patcache index`: FAISS indexes of a model's vectors, and what they are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing
from patcache.cli.progress import bar
from patcache.records import INDEX_KINDS

if TYPE_CHECKING:
    from patcache.records import IndexKind
    from patcache.store import StoreFolder


@click.command()
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@click.option(
    "--kind",
    type=click.Choice(INDEX_KINDS[1:]),
    help="Make it, or add the vectors it lacks: a graph, lists, or all in 16 bits.",
)
@click.option("--rebuild", is_flag=True, help="Make it anew.")
@click.option("--threads", type=click.IntRange(min=1), help="[default: one a core]")
@store_option(create=False)
@format_option
def index(
    store: StoreFolder,
    models: tuple[str, ...],
    kind: IndexKind | None,
    rebuild: bool,
    threads: int | None,
    fmt: str,
) -> None:
    """Make an index of each MODEL's vectors for `patcache neighbors --index`, or list those made.

    Its recall is measured against the exact search, for stored vectors drawn at random.
    """
    from patcache.records import Runtime
    from patcache.steps.indexing import build_index, indexes

    if (rebuild and kind is None) or (kind is not None and not models):
        raise click.UsageError("--kind and a MODEL say which index to make")
    if kind is not None:
        runtime = Runtime(threads=threads)
        for model in models:
            with bar(f"  {kind} index of {model}") as progress:
                build_index(store, model, kind, rebuild=rebuild, runtime=runtime, progress=progress)
    write_listing(indexes(store, models or None), fmt)
