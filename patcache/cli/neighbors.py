"""`patcache neighbors`: the patents that a model finds most like a patent, or like any text."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

import rich_click as click

from patcache.cli.model_options import runtime_options
from patcache.cli.options import (
    format_option,
    sections_option,
    store_option,
    years_option,
)
from patcache.cli.output import write_listing
from patcache.cli.progress import bar
from patcache.records import INDEX_KINDS
from patcache.report.formats import MACHINE_FORMATS
from patcache.report.grid import Grid, grid_of

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.records import IndexKind, Runtime
    from patcache.steps.neighbors import NeighborRow
    from patcache.store import StoreFolder

LEAST_TITLE = 12


@click.command()
@click.argument("patents", nargs=-1, metavar="[ID]...")
@click.option("--text", "texts", multiple=True, metavar="TEXT", help="A text instead of a patent.")
@click.option(
    "--text-file",
    type=click.File(encoding="utf-8-sig"),
    metavar="FILE",
    help="A file that is one text; - is standard input.",
)
@click.option(
    "--model", "models", multiple=True, required=True, metavar="NAME", help="May be repeated."
)
@click.option(
    "-k", "k", type=click.IntRange(min=1), default=10, show_default=True, help="How many texts."
)
@years_option
@sections_option
@click.option(
    "--index",
    type=click.Choice(INDEX_KINDS),
    default="exact",
    show_default=True,
    help="exact looks at every vector; an index is made when it is first asked for.",
)
@click.option("--with-self", is_flag=True, help="The patent itself and its copies may be hits.")
@runtime_options
@store_option(create=False)
@format_option
def neighbors(
    store: StoreFolder,
    patents: tuple[str, ...],
    texts: tuple[str, ...],
    text_file: TextIO | None,
    models: tuple[str, ...],
    k: int,
    years: tuple[int, ...] | None,
    sections: tuple[str, ...] | None,
    index: IndexKind,
    with_self: bool,
    runtime: Runtime,
    fmt: str,
) -> None:
    """List the patents whose texts MODEL finds most like those of each ID, or like a text.

    Similarity is cosine. Patents that share one text share a rank, and the patents asked for are
    left out. A text is encoded in a process of its own, as a query where the model tells queries
    from documents.
    """
    from patcache.steps.nearest import Asked
    from patcache.steps.neighbors import joined
    from patcache.steps.neighbors import neighbors as find_neighbors

    if text_file is not None:
        texts = (*texts, _text_of(text_file))
    if not (patents or texts):
        raise click.UsageError("name a patent, or give a text: --text, --text-file")
    asked = Asked(k, years, sections, index, with_self)
    listings: list[Listing[NeighborRow]] = []
    for model in models:
        label = f"  {index} index of {model}"
        with bar(label) if index != "exact" else nullcontext() as progress:
            listings += find_neighbors(
                store,
                model=model,
                patents=patents,
                texts=texts,
                asked=asked,
                runtime=runtime,
                progress=progress,
            )
    if fmt in MACHINE_FORMATS:
        write_listing(joined(listings), fmt)
        return
    for number, listing in enumerate(listings):
        if number:
            click.echo()
        write_listing(listing, fmt, _fitted(grid_of(listing)) if fmt == "table" else None)


def _text_of(file: TextIO) -> str:
    """The whole file. Errors: BadParameter where it is no text in UTF-8."""
    try:
        return file.read()
    except UnicodeDecodeError as error:
        wrong = f"its byte {error.start:,} is {error.object[error.start]:#04x}"
        raise click.BadParameter(
            f"{file.name} is not UTF-8: {wrong}", param_hint="--text-file"
        ) from error


def _fitted(grid: Grid) -> Grid:
    """The grid with its last column cut to the terminal's width; whole where there is none."""
    from rich.cells import cell_len, set_cell_size

    columns = shutil.get_terminal_size((0, 0)).columns
    rows = [grid.headings, *grid.cells]
    before = sum(max(cell_len(row[i]) for row in rows) + 2 for i in range(len(grid.headings) - 1))
    left = max(LEAST_TITLE, columns - before - 1)
    if columns == 0:
        return grid

    def cut(text: str) -> str:
        return text if cell_len(text) <= left else set_cell_size(text, left - 1) + "…"

    return replace(grid, cells=tuple((*row[:-1], cut(row[-1])) for row in grid.cells))
