"""`patcache sql`: any question over the public views."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import write_rows

if TYPE_CHECKING:
    from patcache.store import StoreFolder


@click.command()
@click.argument("query")
@store_option(create=False)
@format_option
def sql(store: StoreFolder, query: str, fmt: str) -> None:
    """Run QUERY, one reading statement, over the views of a store ("-": from standard input).

    Views: patents, cells, imports, rejects, samples, sample_cells, tuples, shortages,
    label_noise, models, rci, rci_counts, scores.
    """
    from patcache.queries.sql import run_sql

    rows = run_sql(store, sys.stdin.read() if query == "-" else query)
    write_rows(rows.columns, rows, fmt)
