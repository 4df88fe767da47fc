"""Patents, rejects and imports: what `patcache import` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from patcache.hashing import canonical_json

if TYPE_CHECKING:
    import duckdb

    from patcache.records import BoolArray, IntArray

NEXT_IMPORT = """
SELECT 1 + greatest(coalesce((SELECT max(import_id) FROM data.imports), 0),
                    coalesce((SELECT max(import_id) FROM data.patents), 0),
                    coalesce((SELECT max(import_id) FROM data.rejects), 0))"""
FORGET_UNFINISHED = """
DELETE FROM data.rejects WHERE import_id NOT IN (SELECT import_id FROM data.imports)"""
NEXT_PATENT = "SELECT coalesce(max(patent_id) + 1, 0) FROM data.patents"
STORED = """
SELECT incoming.place, p.patent_id
FROM incoming JOIN data.patents p USING (publication_number)"""
ADD_PATENTS = """
INSERT INTO data.patents
SELECT patent_id, publication_number, year, year_source, publication_date, date_precision,
       section, ipc_class, subclass, main_group, code, codes, title, abstract, claims,
       family_id, language, same_text_key, import_id
FROM fresh"""
# What a repeated record says otherwise than the stored one; a field it leaves out says nothing.
DIFFERING = """
SELECT r.place,
       CASE WHEN r.codes IS DISTINCT FROM p.codes THEN 'ipc'
            WHEN r.year <> p.year THEN 'year'
            WHEN r.publication_date <> p.publication_date
              OR r.publication_date IS NOT NULL AND p.publication_date IS NULL
                 THEN 'publication_date'
            WHEN r.title IS NOT NULL AND r.title IS DISTINCT FROM p.title THEN 'title'
            WHEN r.abstract IS NOT NULL AND r.abstract IS DISTINCT FROM p.abstract THEN 'abstract'
            WHEN r.claims IS NOT NULL AND r.claims IS DISTINCT FROM p.claims THEN 'claims'
            WHEN r.family_id IS NOT NULL AND r.family_id IS DISTINCT FROM p.family_id
                 THEN 'family_id'
            WHEN r.language IS NOT NULL AND r.language IS DISTINCT FROM p.language
                 THEN 'language'
       END AS field
FROM repeated r JOIN data.patents p USING (patent_id)
ORDER BY r.place"""
ADD_REJECTS = """
INSERT INTO data.rejects
SELECT import_id, path, row_number, publication_number, column_name, value, reason, is_excluded
FROM refused ORDER BY row_number"""
ADD_IMPORT = "INSERT INTO data.imports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, now(), ?)"
FINISHED = """
SELECT sha256, n_rows, n_added, n_unchanged, n_excluded, n_rejected, options
FROM data.imports
WHERE options_id = ? AND size_bytes = ? AND (sha256 = ? OR path = ? AND modified_ns = ?)
ORDER BY import_id DESC LIMIT 1"""


@dataclass(frozen=True, slots=True)
class ImportKey:
    """A file and the way it was asked to be read; equal keys are one import.

    sha256: None before it is known; then the same path, size and time of change are the same file.
    """

    path: str
    size_bytes: int
    modified_ns: int
    options_id: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the records of one file; every record is one of the four."""

    n_rows: int = 0
    n_added: int = 0
    n_unchanged: int = 0
    n_excluded: int = 0
    n_rejected: int = 0


@dataclass(frozen=True, slots=True)
class Repeats:
    """Which records of a batch were known: `fields` says what they say otherwise, None: nothing."""

    n_added: int
    places: IntArray
    fields: tuple[str | None, ...]


def start_import(cursor: duckdb.DuckDBPyConnection) -> int:
    """The id of a new import; rejects of imports that were broken off are forgotten."""
    cursor.execute(FORGET_UNFINISHED)
    return _number(cursor, NEXT_IMPORT)


def finished_import(
    cursor: duckdb.DuckDBPyConnection, key: ImportKey
) -> tuple[Counts, dict[str, Any]] | None:
    """The counts and options of an earlier import of the same file in the same way, if any."""
    import json

    file = [key.options_id, key.size_bytes, key.sha256, key.path, key.modified_ns or -1]
    rows = cursor.execute(FINISHED, file).fetchall()
    if not rows:
        return None
    _, *numbers, options = rows[0]
    return Counts(*numbers), json.loads(options)


def add_patents(cursor: duckdb.DuckDBPyConnection, patents: pa.Table, import_id: int) -> Repeats:
    """Adds the patents whose number is new; the first of a number stays.

    patents: the columns of data.patents but the ids.
    """
    numbers = patents["publication_number"].combine_chunks()
    stored = _stored(cursor, numbers)
    is_new = (stored < 0) & _is_first(numbers)
    n_new = int(is_new.sum())
    ids = stored.copy()
    ids[is_new] = _number(cursor, NEXT_PATENT) + np.arange(n_new)
    fresh = patents.filter(pa.array(is_new))
    fresh = fresh.append_column("patent_id", pa.array(ids[is_new], pa.int32()))
    fresh = fresh.append_column("import_id", pa.array(np.full(n_new, import_id), pa.int32()))
    _rows_with(cursor, "fresh", fresh, ADD_PATENTS)
    if n_new == len(numbers):
        return Repeats(n_new, np.empty(0, dtype=np.int64), ())
    return _differing(cursor, patents, ids, is_new)


def add_rejects(
    cursor: duckdb.DuckDBPyConnection, rejects: pa.Table, import_id: int, path: str
) -> None:
    """Adds refused records. rejects: the columns of data.rejects but import_id and path."""
    n_rows = rejects.num_rows
    rejects = rejects.append_column("import_id", pa.array([import_id] * n_rows, pa.int32()))
    rejects = rejects.append_column("path", pa.array([path] * n_rows, pa.string()))
    if n_rows:
        _rows_with(cursor, "refused", rejects, ADD_REJECTS)


def finish_import(
    cursor: duckdb.DuckDBPyConnection,
    import_id: int,
    key: ImportKey,
    options: Mapping[str, Any],
    counts: Counts,
    elapsed_s: float,
) -> None:
    """Writes the row that says that an import is whole."""
    cursor.execute(
        ADD_IMPORT,
        [
            import_id,
            key.path,
            key.sha256,
            key.size_bytes,
            key.modified_ns,
            canonical_json(options),
            key.options_id,
            counts.n_rows,
            counts.n_added,
            counts.n_unchanged,
            counts.n_excluded,
            counts.n_rejected,
            elapsed_s,
        ],
    )


def _stored(cursor: duckdb.DuckDBPyConnection, numbers: pa.Array) -> IntArray:
    """The patent_id of each number, -1 for those the store does not have."""
    incoming = pa.table({"publication_number": numbers, "place": np.arange(len(numbers))})
    found = np.array(_rows_with(cursor, "incoming", incoming, STORED), dtype=np.int64)
    ids = np.full(len(numbers), -1, dtype=np.int64)
    if len(found):
        ids[found[:, 0]] = found[:, 1]
    return ids


def _is_first(numbers: pa.Array) -> BoolArray:
    """Whether a record is the first of its number in the batch."""
    codes = numbers.dictionary_encode().indices.to_numpy()
    first = np.zeros(len(numbers), dtype=np.bool_)
    first[np.unique(codes, return_index=True)[1]] = True
    return first


def _differing(
    cursor: duckdb.DuckDBPyConnection, patents: pa.Table, ids: IntArray, is_new: BoolArray
) -> Repeats:
    known = ~is_new
    numbers = patents["publication_number"].combine_chunks()
    places = np.flatnonzero(known)
    inside = places[ids[places] < 0]  # repeats of a number that this batch added
    ids = ids.copy()
    if len(inside):
        ids[inside] = _stored(cursor, numbers.take(pa.array(inside)))
    repeated = patents.filter(pa.array(known))
    repeated = repeated.append_column("patent_id", pa.array(ids[known], pa.int32()))
    repeated = repeated.append_column("place", pa.array(places, pa.int64()))
    rows = _rows_with(cursor, "repeated", repeated, DIFFERING)
    return Repeats(int(is_new.sum()), places, tuple(name for _, name in rows))


def _rows_with(
    cursor: duckdb.DuckDBPyConnection, name: str, table: pa.Table, sql: str
) -> list[tuple[Any, ...]]:
    """All rows of a statement that reads an Arrow table by name."""
    cursor.register(name, table)
    try:
        return cursor.execute(sql).fetchall()
    finally:
        cursor.unregister(name)


def _number(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    return int(cursor.execute(sql).fetchall()[0][0])
