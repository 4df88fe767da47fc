"""`patcache gc`: removes what nothing refers to, after showing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import store_option
from patcache.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from patcache.steps.collecting import Garbage
    from patcache.store import StoreFolder


@click.command()
@click.option("--cache", is_flag=True, help="Token ids, and word vectors read from text, as well.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option(create=False)
def gc(store: StoreFolder, cache: bool, dry_run: bool, yes: bool) -> None:
    """Remove vectors, indexes and leftovers that no model of the store refers to.

    They are shown with size and reason first. What another process writes at the moment stays.
    """
    from patcache.steps import collecting

    garbage = collecting.find_garbage(store, cache=cache)
    if not garbage:
        say("nothing to remove: everything is in use")
        return
    for line in garbage_lines(garbage, store.path):
        say(line)
    if dry_run:
        return
    if not yes:
        click.confirm("remove?", abort=True, err=True)
    collected = collecting.collect(store, garbage)
    for item in collected.busy:
        say(f"  {item.path.relative_to(store.path)} stays: a process is writing it")
    say(f"removed {collected.size_bytes:,} bytes")


def garbage_lines(garbage: Iterable[Garbage], store_path: Path) -> Iterable[str]:
    """What would go, for people: size, path and why."""
    items = list(garbage)
    width = max(len(f"{item.size_bytes:,}") for item in items)
    for item in items:
        path = item.path.relative_to(store_path)
        yield f"  {item.size_bytes:{width},} bytes  {path}  ({item.why})"
    yield f"{sum(item.size_bytes for item in items):,} bytes in {len(items)} files and folders"
