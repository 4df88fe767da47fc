"""Parquet files, whatever wrote them: text, lists of text, numbers and dates as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from patcache.errors import ImportRefused
from patcache.importers.base import ImportOptions, Records, Taken
from patcache.importers.fields import choose_columns
from patcache.importers.sources import Source, plain_bytes
from patcache.importers.staging import (
    columns_of,
    identifier,
    literal,
    numbers_from,
    reader,
    records_table,
    refusing,
    stream,
)

INTEGERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
FRACTIONS = re.compile(r"DOUBLE|FLOAT|DECIMAL.*")
AS_THEY_ARE = re.compile(r"VARCHAR|DATE|TIMESTAMP.*|UUID|BOOLEAN|ENUM.*")
LARGEST_EXACT = 2**53  # doubles hold no larger integers exactly


@contextmanager
def open_parquet(source: Source, options: ImportOptions, folder: Path) -> Iterator[Records]:
    """The records of a Parquet file; all columns as text, `ipc` also as a list of text."""
    path = plain_bytes(source, folder)
    with reader(folder) as connection:
        table = f"read_parquet({literal(path)}, binary_as_string = true)"
        with refusing(source.name):
            described = connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
            n_rows = connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        types = {name: kind for name, kind, *_ in described}
        chosen = choose_columns(list(types), options.mapping, source.name)
        expressions = {
            field: as_text(field, column, types[column], source.name)
            for field, column in chosen.items()
        }
        selected = ", ".join(f"{sql} AS {field}" for field, sql in expressions.items())
        sql = f"SELECT {selected} FROM {table}"
        taken = Taken("parquet", chosen, notes=tuple(_notes(chosen, types)))
        yield Records(taken, n_rows, _batches(stream(connection, sql, source.name)))


def _batches(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    n_read = 0
    for table in tables:
        numbers = numbers_from(n_read + 1, table.num_rows)
        yield records_table(numbers, columns_of(table))
        n_read += table.num_rows


def as_text(field: str, column: str, kind: str, file_name: str) -> str:
    """The SQL that gives a column as text. Errors: ImportRefused for structs and the like."""
    name = identifier(column)
    if kind.endswith("[]") and AS_THEY_ARE.fullmatch(kind[:-2]):
        as_list = f"CAST({name} AS VARCHAR[])"
        return as_list if field == "ipc" else f"array_to_string({as_list}, chr(10))"
    if INTEGERS.fullmatch(kind) or AS_THEY_ARE.fullmatch(kind):
        return f"CAST({name} AS VARCHAR)"
    if FRACTIONS.fullmatch(kind):
        number = f"CAST({name} AS DOUBLE)"
        is_whole = f"isfinite({number}) AND {number} = trunc({number})"
        return (
            f"CASE WHEN isnan({number}) THEN NULL"
            f" WHEN {is_whole} AND abs({number}) <= {LARGEST_EXACT}"
            f" THEN CAST(CAST({number} AS BIGINT) AS VARCHAR) ELSE CAST({name} AS VARCHAR) END"
        )
    raise ImportRefused(
        f"column {column!r} of {file_name} cannot be {field}",
        f"it holds {kind}, not text or a list of text",
        f"give another column with --map {field}=COLUMN, or write it as text",
    )


def _notes(chosen: Mapping[str, str], types: Mapping[str, str]) -> Iterator[str]:
    for field in ("publication_number", "family_id"):
        column = chosen.get(field)
        if column is None:
            continue
        if INTEGERS.fullmatch(types[column]):
            yield f"{column} holds whole numbers: read as text, leading zeros were lost before"
        elif FRACTIONS.fullmatch(types[column]):
            yield f"{column} holds decimal numbers: read as whole numbers where they are"
