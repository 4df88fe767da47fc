"""`patcache rejects`: the records that an import did not take, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing

if TYPE_CHECKING:
    from patcache.store import StoreFolder


@click.command()
@click.option("--by-reason", is_flag=True, help="Count the records of each reason.")
@store_option(create=False)
@format_option
def rejects(store: StoreFolder, by_reason: bool, fmt: str) -> None:
    """Show the records that the last import of each file did not take, with row and reason.

    "rejected" are faults: a code that is none, a date that cannot be. "excluded" is what is out of
    scope: designs, plants, records without an IPC code or without a text.
    """
    from patcache.queries.corpus import reject_reasons
    from patcache.queries.corpus import rejects as all_rejects

    write_listing(reject_reasons(store) if by_reason else all_rejects(store), fmt)
