"""Data to stdout in the format asked for, everything else to stderr."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import rich_click as click

from patcache.listing import Listing
from patcache.quantities import bytes_text, rate_text, seconds_text

MISSING = "–"
NAMED_FORMATS: dict[str, Callable[[float], str]] = {
    "bytes": bytes_text,
    "rate": rate_text,
    "seconds": seconds_text,
}
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Grid:
    """A table as people read it: headings, cells as text, and which columns hold numbers."""

    headings: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    is_number: tuple[bool, ...]


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
    if fmt in PEOPLE_WRITERS:
        lines = [*listing.caption, PEOPLE_WRITERS[fmt](grid or grid_of(listing)), *listing.notes]
        click.echo(_block(lines, fmt))
        return
    for line in (*listing.caption, *listing.notes):
        say(line)
    write_rows(listing.columns, (tuple(row.values()) for row in listing.to_dicts()), fmt)


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], fmt: str) -> None:
    """Plain rows to stdout in any format, as they are: 2019 may be a year or a count."""
    if fmt in MACHINE_WRITERS:
        MACHINE_WRITERS[fmt](columns, rows)
        return
    values = list(rows)
    is_number = tuple(
        any(isinstance(row[i], (int, float, Decimal)) for row in values)
        for i in range(len(columns))
    )
    cells = tuple(tuple(cell_text(value, whole="d") for value in row) for row in values)
    click.echo(PEOPLE_WRITERS[fmt](Grid(tuple(columns), cells, is_number)))


def grid_of(listing: Listing[Any]) -> Grid:
    """A listing's shown columns with their headings and number formats applied."""
    fields = [f for f in dataclasses.fields(listing.row_type) if not f.metadata.get("hidden")]
    cells = tuple(
        tuple(cell_text(getattr(row, f.name), f.metadata.get("fmt", "")) for f in fields)
        for row in listing
    )
    is_number = tuple(
        any(isinstance(getattr(row, f.name), (int, float)) for row in listing) for f in fields
    )
    headings = tuple(f.metadata.get("heading") or f.name.replace("_", " ") for f in fields)
    return Grid(headings, cells, is_number)


def cell_text(value: Any, fmt: str = "", whole: str = ",") -> str:
    """One value for people: numbers in their format, nothing as a dash, lists with commas.

    whole: the format of whole numbers where fmt says nothing.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        return cell_text(_number(value), fmt, whole)
    if isinstance(value, (int, float)):
        if fmt in NAMED_FORMATS:
            return NAMED_FORMATS[fmt](value)
        return format(value, fmt or (whole if isinstance(value, int) else ".4g"))
    if isinstance(value, (list, tuple)):
        return ", ".join(cell_text(item, whole=whole) for item in value)
    return value.hex() if isinstance(value, bytes) else str(value)


def _block(lines: Sequence[str], fmt: str) -> str:
    if fmt == "latex":
        return "\n".join(line if "\n" in line else f"% {line}" for line in lines)
    return ("\n\n" if fmt == "md" else "\n").join(lines)


def _as_table(grid: Grid) -> str:
    from rich.cells import cell_len

    rows = [grid.headings, *grid.cells]
    widths = [max(cell_len(row[i]) for row in rows) for i in range(len(grid.headings))]

    def line(row: Sequence[str]) -> str:
        padded = []
        for text, width, is_number in zip(row, widths, grid.is_number, strict=True):
            gap = " " * (width - cell_len(text))
            padded.append(gap + text if is_number else text + gap)
        return " " + "  ".join(padded).rstrip()

    return "\n".join(line([_one_line(text) for text in row]) for row in rows)


def _as_markdown(grid: Grid) -> str:
    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(_one_line(text).replace("|", r"\|") for text in row) + " |"

    rule = "|" + "|".join("---:" if n else "---" for n in grid.is_number) + "|"
    return "\n".join([line(grid.headings), rule, *map(line, grid.cells)])


def _as_latex(grid: Grid) -> str:
    def line(row: Sequence[str]) -> str:
        return " & ".join(_latex_text(_one_line(text)) for text in row) + r" \\"

    columns = "".join("r" if n else "l" for n in grid.is_number)
    body = [line(grid.headings), r"\midrule", *map(line, grid.cells)]
    start = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    return "\n".join([*start, *body, r"\bottomrule", r"\end{tabular}"])


def _latex_text(text: str) -> str:
    return "".join(LATEX_SPECIAL.get(character, character) for character in text)


def _one_line(text: str) -> str:
    """Text whose tabs, line ends and escape codes cannot break a table or a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _write_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_plain(value, nested=False) for value in row])


def _write_json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    records = [_record(columns, row) for row in rows]
    click.echo(json.dumps(records, indent=1, ensure_ascii=False))


def _write_jsonl(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    for row in rows:
        click.echo(json.dumps(_record(columns, row), ensure_ascii=False))


def _record(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    return {name: _plain(v, nested=True) for name, v in zip(columns, row, strict=True)}


def _plain(value: Any, *, nested: bool) -> Any:
    """A value that CSV or JSON can hold: NaN becomes nothing, lists stay lists only in JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (list, tuple)):
        items = [_plain(item, nested=True) for item in value]
        return items if nested else json.dumps(items, ensure_ascii=False)
    if isinstance(value, dict):
        items_of = {str(k): _plain(v, nested=True) for k, v in value.items()}
        return items_of if nested else json.dumps(items_of, ensure_ascii=False)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Decimal):
        return _number(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def _number(value: Decimal) -> int | float:
    """DuckDB's sums of integers come as decimals without decimals."""
    return int(value) if value == value.to_integral_value() else float(value)


PEOPLE_WRITERS: dict[str, Callable[[Grid], str]] = {
    "table": _as_table,
    "md": _as_markdown,
    "latex": _as_latex,
}
MACHINE_WRITERS: dict[str, Callable[[Sequence[str], Iterable[Sequence[Any]]], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "jsonl": _write_jsonl,
}
FORMATS = (*PEOPLE_WRITERS, *MACHINE_WRITERS)
