"""Tables as text: for people (table, md, latex) and for machines (csv, json, jsonl)."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, TextIO

from patcache.listing import Listing
from patcache.report.grid import Grid, cell_text, grid_of, plain_number

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


def people_text(listing: Listing[Any], fmt: str, grid: Grid | None = None) -> str:
    """A listing as table, md or latex, its caption above and its notes below.

    grid: what people see where it is not the records themselves (a matrix).
    """
    lines = [*listing.caption, PEOPLE_FORMATS[fmt](grid or grid_of(listing)), *listing.notes]
    return _block(lines, fmt)


def write_records(listing: Listing[Any], fmt: str, stream: TextIO) -> None:
    """Every field of every record as csv, json or jsonl; without caption and notes."""
    rows = (tuple(row.values()) for row in listing.to_dicts())
    MACHINE_FORMATS[fmt](listing.columns, rows, stream)


def plain_grid(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Grid:
    """Plain rows as they are: 2019 may be a year or a count."""
    values = list(rows)
    is_number = tuple(
        any(isinstance(row[i], (int, float, Decimal)) for row in values)
        for i in range(len(columns))
    )
    cells = tuple(tuple(cell_text(value, whole="d") for value in row) for row in values)
    return Grid(tuple(columns), cells, is_number)


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


def _write_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]], stream: TextIO) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_plain(value, nested=False) for value in row])


def _write_json(columns: Sequence[str], rows: Iterable[Sequence[Any]], stream: TextIO) -> None:
    records = [_record(columns, row) for row in rows]
    stream.write(json.dumps(records, indent=1, ensure_ascii=False) + "\n")


def _write_jsonl(columns: Sequence[str], rows: Iterable[Sequence[Any]], stream: TextIO) -> None:
    for row in rows:
        stream.write(json.dumps(_record(columns, row), ensure_ascii=False) + "\n")


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
        return plain_number(value)
    return value.hex() if isinstance(value, bytes) else str(value)


PEOPLE_FORMATS: dict[str, Callable[[Grid], str]] = {
    "table": _as_table,
    "md": _as_markdown,
    "latex": _as_latex,
}
MACHINE_FORMATS: dict[str, Callable[[Sequence[str], Iterable[Sequence[Any]], TextIO], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "jsonl": _write_jsonl,
}
FORMATS = (*PEOPLE_FORMATS, *MACHINE_FORMATS)
