"""`patcache models`: what is stored, and what could be added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing

if TYPE_CHECKING:
    from patcache.store import StoreFolder


@click.command()
@click.option("--stored", "only_stored", is_flag=True, help="Without the presets.")
@store_option(create=False)
@format_option
def models(store: StoreFolder, only_stored: bool, fmt: str) -> None:
    """List the stored models (texts done, size, speed, device, share cut) and the presets."""
    from patcache.queries import models as queries

    write_listing(queries.models(store, only_stored=only_stored), fmt)
