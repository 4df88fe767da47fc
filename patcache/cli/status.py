"""`patcache status`: what runs on a store, live."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_listing
from patcache.report.formats import PEOPLE_FORMATS
from patcache.report.grid import Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.jobs import JobRow
    from patcache.store import StoreFolder

HEADINGS = ("job", "of", "state", "", "done", "per second", "left", "time", "pid", "error")
IS_NUMBER = (False, False, False, False, True, True, True, True, True, False)
BAR_WIDTH = 20
REDRAW_S = 1.0


@click.command()
@click.option("--watch", is_flag=True, help="Go on showing it, until Ctrl-C.")
@store_option(create=False, files_only=True)
@format_option
def status(store: StoreFolder, watch: bool, fmt: str) -> None:
    """Show the jobs that run, with rate and time left, and the last that ended.

    Works while the database is busy. The rate is that of the last half minute.
    """
    from patcache.queries import jobs as queries

    if not watch:
        found = queries.jobs(store)
        write_listing(found, fmt, job_grid(found))
        return
    if fmt != "table" or not sys.stdout.isatty():
        raise click.UsageError("--watch draws on a terminal; leave it out for files and pipes")
    _watch(store)


def job_grid(found: Listing[JobRow]) -> Grid:
    """The jobs as people read them: a bar, and times in minutes."""
    cells = tuple(
        (
            row.command,
            row.subject,
            row.state,
            bar_text(row.share),
            f"{row.done:,} of {cell_text(row.total)} {row.unit}",
            cell_text(row.rate, "rate"),
            "" if row.left_s is None else time_text(row.left_s),
            time_text(row.elapsed_s),
            str(row.pid),
            row.error,
        )
        for row in found
    )
    return Grid(HEADINGS, cells, IS_NUMBER)


def bar_text(share: float | None) -> str:
    """A bar of letters; empty where the share is not known."""
    if share is None:
        return ""
    filled = int(share * BAR_WIDTH)
    return "#" * filled + "·" * (BAR_WIDTH - filled) + f" {share:4.0%}"


def time_text(seconds: float) -> str:
    """Seconds as 1:02:03, 2:03 or 0:03."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _watch(store: StoreFolder) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from patcache.queries import jobs as queries

    def drawn() -> Text:
        found = queries.jobs(store)
        lines = [*found.caption, PEOPLE_FORMATS["table"](job_grid(found)), *found.notes]
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")

    try:
        with Live(drawn(), console=Console(), auto_refresh=False) as live:
            while True:
                live.update(drawn(), refresh=True)
                time.sleep(REDRAW_S)
    except KeyboardInterrupt:
        return
