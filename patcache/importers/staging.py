"""DuckDB as a reader of files: an instance of its own, beside any store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from patcache.errors import ImportRefused
from patcache.importers.base import FIELDS

READ_ROWS = 8_192
TEXT_FIELDS = tuple(name for name in FIELDS if name != "ipc")


@contextmanager
def reader(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """An in-memory instance that spills into `folder`."""
    connection = duckdb.connect(":memory:", config={"temp_directory": str(folder / "spill")})
    connection.execute("SET python_enable_replacements = false; SET enable_progress_bar = false")
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def refusing(file_name: str) -> Iterator[None]:
    """What DuckDB cannot read becomes ImportRefused, in its own words."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        reason = str(error).strip().splitlines()[0]
        raise ImportRefused(f"cannot read {file_name}", reason) from error


def stream(connection: duckdb.DuckDBPyConnection, sql: str, file_name: str) -> Iterator[pa.Table]:
    """The rows of a query in its order, some thousand at a time, never all of them.

    One thread reads: more would run ahead and hold what comes later, and cleaning is slower.
    """
    with refusing(file_name):
        connection.execute("SET threads = 1")
        for batch in connection.sql(sql).to_arrow_reader(READ_ROWS):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])


def columns_of(table: pa.Table) -> Mapping[str, pa.ChunkedArray]:
    """The columns of a table by name."""
    return dict(zip(table.column_names, table.columns, strict=True))


def records_table(row_numbers: pa.Array, columns: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """A batch of records with all FIELDS; those the file does not have are null."""
    n_rows = len(row_numbers)
    nothing = pa.nulls(n_rows, pa.string())
    named = {name: columns.get(name, nothing) for name in (*FIELDS, "fault", "fault_value")}
    return pa.table({"row_number": row_numbers, **named})


def faults_table(
    row_numbers: Sequence[int], faults: Sequence[str], values: Sequence[str]
) -> pa.Table:
    """A batch of records that could not be read."""
    return records_table(
        pa.array(row_numbers, pa.int64()),
        {"fault": pa.array(faults, pa.string()), "fault_value": pa.array(values, pa.string())},
    )


def numbers_from(start: int, n_rows: int) -> pa.Array:
    """start, start + 1, ... as row numbers."""
    return pc.cast(pa.array(range(start, start + n_rows)), pa.int64())


def identifier(name: str) -> str:
    """A column name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str | Path) -> str:
    """A text as SQL takes it, for table functions, whose arguments cannot be parameters."""
    return "'" + str(text).replace("'", "''") + "'"
