"""Small files of patents in every format, and what became of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from patcache.steps.importing import FileReport, ImportOptions, import_files
from patcache.store import StoreFolder

HEADER = ["number", "title", "abstract", "ipc", "year"]


def write_csv(path: Path, rows: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> str:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return str(path)


def import_one(store: StoreFolder, path: str | Path, **options: Any) -> FileReport:
    """The report of one file; its records are all accounted for."""
    (report,) = import_files(store, [str(path)], ImportOptions(**options)).files
    counts = report.counts
    parts = counts.n_added + counts.n_unchanged + counts.n_excluded + counts.n_rejected
    assert counts.n_rows == parts
    return report


def query(store: StoreFolder, sql: str) -> list[tuple[Any, ...]]:
    with store.read() as cursor:
        return cursor.execute(sql).fetchall()


def rejects(store: StoreFolder) -> list[tuple[Any, ...]]:
    """(row, number, column, value, reason, is excluded), in the order of the file."""
    return query(
        store,
        "SELECT row_number, publication_number, column_name, value, reason, is_excluded"
        " FROM data.rejects ORDER BY import_id, row_number",
    )


def patent(
    number: str, ipc: str = "A61B 5/00", text: str = "A text", year: str = "2015"
) -> list[str]:
    return [number, f"Title {number}", text, ipc, year]


def write_delimited(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(
            stream, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ","
        )
        writer.writeheader()
        writer.writerows(rows)


def write_jsonl(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def write_parquet(path: Path, rows: list[dict[str, str]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


WRITERS: dict[str, Callable[[Path, list[dict[str, str]]], None]] = {
    "csv": write_delimited,
    "tsv": write_delimited,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
