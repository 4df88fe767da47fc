"""`patcache shortages`: why a sample has no more tuples, and how sure its levels are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing

if TYPE_CHECKING:
    from patcache.store import StoreFolder


@click.command()
@click.argument("name")
@click.option(
    "--by",
    type=click.Choice(["level", "cell"]),
    default="level",
    show_default=True,
    help="A row for each level, or for each year and section.",
)
@click.option("--noise", is_flag=True, help="Label noise instead: candidates that share more.")
@store_option(create=False)
@format_option
def shortages(
    store: StoreFolder, name: str, by: Literal["level", "cell"], noise: bool, fmt: str
) -> None:
    """Show which patents of the sample NAME lack candidates, by level or cell.

    With --noise: how many candidates share a deeper level than theirs by a secondary code.
    """
    from patcache.queries.samples import label_noise, shortages

    listing: Any = label_noise(store, name, by) if noise else shortages(store, name, by)
    write_listing(listing, fmt)
