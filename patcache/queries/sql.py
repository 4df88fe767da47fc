"""SQL that users write over the public views: read-only, one statement, nothing but this store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from patcache.errors import QueryRefused

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa

    from patcache.store import StoreFolder

READING = frozenset({"SELECT", "EXPLAIN", "MULTI"})  # MULTI: PIVOT, which DuckDB splits in two
BATCH_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class SqlRows:
    """What a query gave, as an Arrow table."""

    table: pa.Table

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; one that occurs again gets a number: n, n_2."""
        names: list[str] = []
        for name in self.table.column_names:
            again = (f"{name}_{number}" for number in count(2))
            names.append(name if name not in names else next(a for a in again if a not in names))
        return tuple(names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self.table.to_batches(max_chunksize=BATCH_ROWS):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self]

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self.table.rename_columns(list(self.columns))

    def to_pandas(self) -> pd.DataFrame:
        """A data frame; needs pandas."""
        return self.to_arrow().to_pandas()


def run_sql(store: StoreFolder, sql: str) -> SqlRows:
    """Rows of one reading statement.

    Errors: QueryRefused for anything that does more than read, and where DuckDB finds it wrong.
    """
    import duckdb

    with store.sandbox() as connection:
        try:
            _refuse_writing(connection, sql)
            return SqlRows(connection.sql(sql).to_arrow_table())
        except duckdb.Error as error:
            raise QueryRefused(
                "the query failed",
                str(error).strip(),
                'the views and their columns: patcache sql "SHOW TABLES", "DESCRIBE rci"',
            ) from error


def _refuse_writing(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    kinds = [statement.type.name for statement in statements]
    if len(kinds) != 1:
        raise QueryRefused(f"one statement at a time: this is {len(kinds)}")
    if kinds[0] not in READING:
        raise QueryRefused(
            f"{kinds[0]} is not run here",
            "SQL on a store only reads",
            'to keep a result: patcache sql "select ..." --format csv > FILE',
        )
