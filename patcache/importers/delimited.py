"""CSV and TSV: DuckDB reads them by a dialect that is named or seen in the header, and stated."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa

from patcache.errors import ImportRefused
from patcache.importers.base import ImportOptions, Records, Taken
from patcache.importers.fields import choose_columns
from patcache.importers.sources import Source, plain_text, unify_line_ends
from patcache.importers.staging import (
    READ_ROWS,
    faults_table,
    literal,
    reader,
    records_table,
    refusing,
    stream,
)

if TYPE_CHECKING:
    from patcache.records import IntArray

DELIMITERS = (",", ";", "\t", "|")
MAX_RECORD_BYTES = 16 << 20
READ_BYTES = 2 * MAX_RECORD_BYTES
FAULTS = {
    "TOO MANY COLUMNS": "more fields than the header",
    "MISSING COLUMNS": "fewer fields than the header",
    "UNQUOTED VALUE": "quotes do not match (for files that quote nothing: --quote none)",
    "LINE SIZE OVER MAXIMUM": f"longer than {MAX_RECORD_BYTES >> 20} MB",
}
FAULTY = """
SELECT line, min(error_type), any_value(csv_line) FROM reject_errors
GROUP BY line ORDER BY line"""
MIXED = "invalid state"  # what DuckDB says of mixed line ends


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file separates and quotes, and how many lines stand before its first record."""

    delimiter: str
    quote: str
    columns: tuple[str, ...]
    header_start: int  # lines before the header
    header_lines: int

    def table(self, path: Path, on_fault: str) -> str:
        """The file as a table c0, c1, ... of text; on_fault: what DuckDB does with bad records."""
        columns = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(self.columns)))
        return (
            f"read_csv({literal(path)}, auto_detect = false, header = true,"
            f" skip = {self.header_start}, columns = {{{columns}}},"
            f" delim = {literal(self.delimiter)}, quote = {literal(self.quote)},"
            f" escape = {literal(self.quote)}, max_line_size = {MAX_RECORD_BYTES},"
            f" buffer_size = {READ_BYTES}, {on_fault})"
        )


@dataclass(frozen=True, slots=True)
class Counted:
    """One reading of the whole file: its good records, and the numbers of the bad ones."""

    n_good: int
    bad: IntArray
    faults: tuple[str, ...]
    lines: tuple[str, ...]


def open_csv(
    source: Source, options: ImportOptions, folder: Path
) -> AbstractContextManager[Records]:
    """The records of a file with separators; the separator as named, or as the header has it."""
    return _open(source, options, folder, "csv")


def open_tsv(
    source: Source, options: ImportOptions, folder: Path
) -> AbstractContextManager[Records]:
    """The records of a file separated by tabs."""
    return _open(source, replace(options, delimiter=options.delimiter or "\t"), folder, "tsv")


@contextmanager
def _open(source: Source, options: ImportOptions, folder: Path, name: str) -> Iterator[Records]:
    text = plain_text(source, options.encoding, folder)
    dialect = see_dialect(text.path, options, source.name)
    chosen = choose_columns(dialect.columns, options.mapping, source.name)
    with reader(folder) as connection:
        with refusing(source.name):
            path, counted = _count(connection, text.path, dialect, folder)
        if counted.n_good + len(counted.bad) == 0 and has_more_lines(path, dialect):
            raise ImportRefused(
                f"cannot read {source.name}",
                f"no record was found after the header with the separator {dialect.delimiter!r}",
                "name it: --delimiter, --quote",
            )
        notes = () if path == text.path else ("line ends were mixed: all read as one kind",)
        taken = Taken(name, chosen, text.encoding, dialect.delimiter, notes)
        table = dialect.table(path, "ignore_errors = true")
        places = {column: f"c{i}" for i, column in reversed(list(enumerate(dialect.columns)))}
        selected = ", ".join(f"{places[column]} AS {field}" for field, column in chosen.items())
        tables = stream(connection, f"SELECT {selected} FROM {table}", source.name)
        yield Records(taken, counted.n_good + len(counted.bad), _batches(tables, counted))


def see_dialect(path: Path, options: ImportOptions, file_name: str) -> Dialect:
    """The dialect of a file by its first line that is not blank.

    Errors: ImportRefused where there is no such line or it is no header.
    """
    if len(options.delimiter or ",") != 1 or len(options.quote) > 1:
        raise ImportRefused(
            f"cannot read {file_name} with the separator {options.delimiter!r}"
            f" and the quote {options.quote!r}",
            "each is one character",
        )
    with path.open(encoding="utf-8-sig", newline="") as stream_:
        n_blank = 0
        while (line := stream_.readline(MAX_RECORD_BYTES)) and not line.strip():
            n_blank += 1
        delimiter = options.delimiter or _likeliest(line, options.quote)
        rows = csv.reader(
            itertools.chain([line], stream_),
            delimiter=delimiter,
            quotechar=options.quote or None,
            quoting=csv.QUOTE_MINIMAL if options.quote else csv.QUOTE_NONE,
        )
        try:
            header = next(rows, [])
        except csv.Error as error:
            raise ImportRefused(f"the header of {file_name} cannot be read", str(error)) from error
    if not line:
        raise ImportRefused(f"{file_name} is empty")
    columns = tuple(name.strip() or f"column {i + 1}" for i, name in enumerate(header))
    return Dialect(delimiter, options.quote, columns, n_blank, rows.line_num)


def has_more_lines(path: Path, dialect: Dialect) -> bool:
    """Whether anything stands after the header."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        for _ in range(dialect.header_start + dialect.header_lines):
            lines.readline()
        return any(line.strip() for line in lines)


def _likeliest(line: str, quote: str) -> str:
    """The separator that a header has most of, outside its quotes; a comma where it has none."""
    outside = "".join(line.split(quote)[::2]) if quote else line
    return max(DELIMITERS, key=outside.count)


def _count(
    connection: duckdb.DuckDBPyConnection, path: Path, dialect: Dialect, folder: Path
) -> tuple[Path, Counted]:
    """Reads all of it once; DuckDB wants one kind of line end, so a mixed file is copied."""
    if dialect.header_lines == 1:  # else DuckDB takes the line end inside it for that of all
        try:
            return path, _counted(connection, path, dialect)
        except duckdb.Error as error:
            if MIXED not in str(error):
                raise
    path = unify_line_ends(path, folder)
    return path, _counted(connection, path, dialect)


def _counted(connection: duckdb.DuckDBPyConnection, path: Path, dialect: Dialect) -> Counted:
    table = dialect.table(path, "store_rejects = true")
    n_good = connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
    faulty = [
        (line - dialect.header_start - 1, FAULTS.get(kind, kind.lower()), text)
        for line, kind, text in connection.execute(FAULTY).fetchall()
        if text.strip()  # blanks at the end of a file are no record
    ]
    numbers, faults, lines = zip(*faulty, strict=True) if faulty else ((), (), ())
    return Counted(n_good, np.array(numbers, dtype=np.int64), faults, lines)


def _batches(tables: Iterator[pa.Table], counted: Counted) -> Iterator[pa.Table]:
    """Good records with their numbers in the file, then the bad ones."""
    n_good = 0
    number = 0
    for table in tables:
        n_good += table.num_rows
        numbers = _next_numbers(number, table.num_rows, counted.bad)
        number = int(numbers[-1])
        columns = dict(zip(table.column_names, table.columns, strict=True))
        yield records_table(pa.array(numbers), columns)
    if n_good != counted.n_good:
        raise ImportRefused(
            "the file changed while it was read",
            f"it had {counted.n_good:,} good records, then {n_good:,}",
        )
    for start in range(0, len(counted.bad), READ_ROWS):
        part = slice(start, start + READ_ROWS)
        yield faults_table(counted.bad[part].tolist(), counted.faults[part], counted.lines[part])


def _next_numbers(after: int, n_rows: int, bad: IntArray) -> IntArray:
    """The n_rows record numbers that follow `after`, those of bad records left out."""
    n_candidates = n_rows
    while True:
        numbers = np.arange(after + 1, after + 1 + n_candidates)
        good = numbers[~np.isin(numbers, bad)]
        if len(good) >= n_rows:
            return good[:n_rows]
        n_candidates += n_rows - len(good)
