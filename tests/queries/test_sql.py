"""SQL of the user's: it reads this store, and nothing else happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from patcache.errors import QueryRefused
from patcache.queries.sql import run_sql
from patcache.store import StoreFolder


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO data.requests VALUES ('a', 'b')",
        "DELETE FROM data.patents",
        "CREATE TABLE mine AS SELECT 1",
        "ATTACH 'other.duckdb' AS other",
        "COPY (SELECT 1) TO 'out.csv'",
        "SET threads = 1",
        "PRAGMA database_list",
        "INSTALL httpfs",
        "CALL pragma_version()",
        "SELECT 1; SELECT 2",
        "",
        "WITH gone AS (DELETE FROM data.requests RETURNING *) SELECT * FROM gone",
        "SELECT * FROM read_text('pyproject.toml')",
        "SELECT * FROM 'pyproject.toml'",
        "SELEKT 1",
        "SELECT * FROM no_such_view",
    ],
)
def test_all_but_reading_this_store_is_refused(store: StoreFolder, sql: str) -> None:
    with store.write() as cursor:
        cursor.execute("INSERT INTO data.requests VALUES ('kept', 'spec')")
    with pytest.raises(QueryRefused):
        run_sql(store, sql)
    assert list(run_sql(store, "FROM data.requests")) == [("kept", "spec")]


def test_the_file_cannot_be_attached_again_for_writing(store: StoreFolder) -> None:
    with pytest.raises(QueryRefused, match="ATTACH is not run here"):
        run_sql(store, f"ATTACH '{store.database_path}' AS w")


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1 + 1 AS n", [(2,)]),
        ("WITH t AS (SELECT 3 AS n) FROM t", [(3,)]),
        ("SELECT count(*) FROM rci", [(0,)]),
        ("SELECT name FROM (SHOW TABLES) WHERE name = 'rci'", [("rci",)]),
        ("PIVOT (SELECT 'x' AS k, 2 AS v) ON k USING sum(v)", [(2,)]),
    ],
)
def test_reading_works(store: StoreFolder, sql: str, rows: list[tuple[object, ...]]) -> None:
    assert list(run_sql(store, sql)) == rows


def test_columns_of_one_name_stay_apart(store: StoreFolder) -> None:
    rows = run_sql(store, "SELECT 1 AS n, 2 AS n, 3 AS n_2")
    assert rows.columns == ("n", "n_2", "n_2_2")
    assert rows.to_dicts() == [{"n": 1, "n_2": 2, "n_2_2": 3}]
    assert rows.to_arrow().to_pylist() == rows.to_dicts()


def test_variables_of_the_program_are_not_tables(store: StoreFolder, tmp_path: Path) -> None:
    with pytest.raises(QueryRefused, match="store"):
        run_sql(store, "SELECT * FROM store")
