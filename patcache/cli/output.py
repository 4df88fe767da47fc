"""Data to stdout in the format asked for, everything else to stderr."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import rich_click as click

from patcache.listing import Listing
from patcache.report.formats import (
    FORMATS,
    MACHINE_FORMATS,
    PEOPLE_FORMATS,
    people_text,
    plain_grid,
    write_records,
)
from patcache.report.grid import Grid

__all__ = ["FORMATS", "say", "say_lines", "use_utf8", "write_listing", "write_rows"]


def use_utf8() -> None:
    """Makes files and pipes UTF-8 whatever the locale; a terminal that lacks a sign shows ?."""
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if stream.isatty():
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8")


def say(text: str) -> None:
    """A line for people, on stderr."""
    click.echo(text, err=True)


def say_lines(lines: Iterable[str]) -> None:
    """Lines for people, on stderr."""
    for line in lines:
        say(line)


def write_listing(listing: Listing[Any], fmt: str, grid: Grid | None = None) -> None:
    """Records to stdout as table, csv, json, jsonl, md or latex.

    People's formats (table, md, latex) carry caption and notes, and show `grid` where one is
    given (a matrix); machines' formats carry every field, caption and notes going to stderr.
    """
    if fmt in PEOPLE_FORMATS:
        click.echo(people_text(listing, fmt, grid))
        return
    say_lines((*listing.caption, *listing.notes))
    write_records(listing, fmt, sys.stdout)


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], fmt: str) -> None:
    """Plain rows to stdout in any format, as they are."""
    if fmt in MACHINE_FORMATS:
        MACHINE_FORMATS[fmt](columns, rows, sys.stdout)
        return
    click.echo(PEOPLE_FORMATS[fmt](plain_grid(columns, rows)))
