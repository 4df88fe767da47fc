"""Text files that DuckDB's CSV reader reads: all of a file counted first, the bad records named.

A file is read twice. The first time says how many records there are and which are bad; the second
gives the good ones, so that every record has its number and none is lost between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa

from patcache.errors import ImportRefused
from patcache.importers.sources import unify_line_ends
from patcache.importers.staging import READ_ROWS, columns_of, faults_table, literal, records_table

if TYPE_CHECKING:
    from patcache.records import IntArray

MAX_RECORD_BYTES = 16 << 20
READ_BYTES = 2 * MAX_RECORD_BYTES
FAULTS = {
    "TOO MANY COLUMNS": "more fields than the header",
    "MISSING COLUMNS": "fewer fields than the header",
    "UNQUOTED VALUE": "quotes do not match (for files that quote nothing: --quote none)",
    "LINE SIZE OVER MAXIMUM": f"longer than {MAX_RECORD_BYTES >> 20} MB",
}
FAULTY = """
SELECT line, min(error_type), any_value(csv_line) FROM rejects_counted
GROUP BY line ORDER BY line"""
MIXED = "invalid state"  # what DuckDB says of mixed line ends


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the lines of a file are read. columns: of the header, or of the table where it has none.

    header_start: lines before the header; header_lines: of the header itself, 0 for none.
    """

    delimiter: str
    quote: str
    columns: tuple[str, ...]
    header_start: int = 0
    header_lines: int = 0

    def table(self, path: Path, name: str) -> str:
        """The file as a table c0, c1, ... of text; bad records go to tables of that name.

        Not `ignore_errors`: it drops a good record that stands between a bad one and a blank line.
        """
        columns = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(self.columns)))
        return (
            f"read_csv({literal(path)}, auto_detect = false, header = {self.header_lines > 0},"
            f" skip = {self.header_start}, columns = {{{columns}}},"
            f" delim = {literal(self.delimiter)}, quote = {literal(self.quote)},"
            f" escape = {literal(self.quote)}, max_line_size = {MAX_RECORD_BYTES},"
            f" buffer_size = {READ_BYTES}, store_rejects = true,"
            f" rejects_table = 'rejects_{name}', rejects_scan = 'scans_{name}')"
        )


@dataclass(frozen=True, slots=True)
class Counted:
    """A file that was read once: its good records, and the numbers of the bad ones.

    path: of the file, or of a copy whose line ends are of one kind.
    """

    path: Path
    n_good: int
    bad: IntArray
    faults: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        return self.n_good + len(self.bad)

    def table(self, dialect: Dialect) -> str:
        """The good records as a table, for the second reading."""
        return dialect.table(self.path, "read")

    def batches(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Records of the second reading with their numbers in the file, then the bad ones."""
        n_good = number = 0
        for table in tables:
            n_good += table.num_rows
            numbers = _next_numbers(number, table.num_rows, self.bad)
            number = int(numbers[-1])
            yield records_table(pa.array(numbers), columns_of(table))
        if n_good != self.n_good:
            raise ImportRefused(
                "the file changed while it was read",
                f"it had {self.n_good:,} good records, then {n_good:,}",
            )
        for start in range(0, len(self.bad), READ_ROWS):
            part = slice(start, start + READ_ROWS)
            yield faults_table(self.bad[part].tolist(), self.faults[part], self.lines[part])


def count_records(
    connection: duckdb.DuckDBPyConnection, path: Path, dialect: Dialect, folder: Path
) -> Counted:
    """Reads all of a file once; DuckDB wants one kind of line end, so a mixed file is copied."""
    if dialect.header_lines <= 1:  # else DuckDB takes the line end inside it for that of all
        try:
            return _counted(connection, path, dialect)
        except duckdb.Error as error:
            if MIXED not in str(error):
                raise
    return _counted(connection, unify_line_ends(path, folder), dialect)


def _counted(connection: duckdb.DuckDBPyConnection, path: Path, dialect: Dialect) -> Counted:
    connection.execute("DROP TABLE IF EXISTS rejects_counted; DROP TABLE IF EXISTS scans_counted")
    table = dialect.table(path, "counted")
    n_good = connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
    n_before = dialect.header_start + (1 if dialect.header_lines else 0)
    faulty = [
        (line - n_before, FAULTS.get(kind, kind.lower()), text)
        for line, kind, text in connection.execute(FAULTY).fetchall()
        if text.strip()  # blanks at the end of a file are no record
    ]
    numbers, faults, lines = zip(*faulty, strict=True) if faulty else ((), (), ())
    return Counted(path, n_good, np.array(numbers, dtype=np.int64), faults, lines)


def _next_numbers(after: int, n_rows: int, bad: IntArray) -> IntArray:
    """The n_rows record numbers that follow `after`, those of bad records left out."""
    n_candidates = n_rows
    while True:
        numbers = np.arange(after + 1, after + 1 + n_candidates)
        good = numbers[~np.isin(numbers, bad)]
        if len(good) >= n_rows:
            return good[:n_rows]
        n_candidates += n_rows - len(good)
