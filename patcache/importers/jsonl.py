"""JSON lines, and one JSON array of objects: the top-level keys are the columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from patcache.errors import ImportRefused
from patcache.importers.base import ImportOptions, Records, Taken
from patcache.importers.fields import choose_columns
from patcache.importers.lines import MAX_RECORD_BYTES, Counted, Dialect, count_records
from patcache.importers.sources import Source, plain_text
from patcache.importers.staging import literal, reader, refusing, stream

SEEN_RECORDS = 10_000  # of which the keys are the columns
LINES = Dialect("\x1f", "", ("j",))  # split at a control character, which JSON does not allow
BLANK = "blank"
NOT_JSON = "not valid JSON"
NOT_OBJECT = "not a JSON object"
NOT_TEXT = "an object, not text"


@contextmanager
def open_jsonl(source: Source, options: ImportOptions, folder: Path) -> Iterator[Records]:
    """The records of a file with one JSON object a line, or with one array of them."""
    text = plain_text(source, options.encoding, folder)
    with reader(folder) as connection:
        with refusing(source.name):
            lines = _lines(connection, text.path, folder)
            keys = _keys(connection, lines.sql)
            count = f"SELECT count(*) FROM ({lines.sql}) WHERE j IS NOT NULL"
            n_good = connection.execute(count).fetchall()[0][0]
        if not keys:
            raise ImportRefused(f"{source.name} has no JSON objects", "one a line is expected")
        chosen = choose_columns(keys, options.mapping, source.name)
        tables = stream(connection, _select(lines.sql, chosen), source.name)
        yield Records(
            Taken("jsonl", chosen, text.encoding),
            n_good + len(lines.counted.bad),
            _batches(lines.counted.batches(tables)),
        )


@dataclass(frozen=True, slots=True)
class _Lines:
    """SQL for the records as text `j`, null for a blank line; bad JSON is a record too."""

    sql: str
    counted: Counted


def _lines(connection: duckdb.DuckDBPyConnection, path: Path, folder: Path) -> _Lines:
    if _is_array(path):
        sql = (
            f"SELECT CAST(json AS VARCHAR) AS j FROM read_json_objects({literal(path)},"
            f" format = 'array', maximum_object_size = {MAX_RECORD_BYTES})"
        )
        n_rows = connection.execute(f"SELECT count(*) FROM ({sql})").fetchall()[0][0]
        return _Lines(sql, Counted(path, n_rows, np.empty(0, dtype=np.int64), (), ()))
    counted = count_records(connection, path, LINES, folder)
    text = "trim(c0, ' ' || chr(9) || chr(13))"
    return _Lines(f"SELECT nullif({text}, '') AS j FROM {counted.table(LINES)}", counted)


def _is_array(path: Path) -> bool:
    with path.open(encoding="utf-8-sig") as stream_:
        return next((line.lstrip()[0] == "[" for line in stream_ if line.strip()), False)


def _keys(connection: duckdb.DuckDBPyConnection, lines: str) -> list[str]:
    """The keys of the first records, in the order in which they turn up."""
    objects = (
        f"SELECT CASE WHEN json_valid(j) THEN CASE WHEN json_type(j) = 'OBJECT' THEN json_keys(j)"
        f" END END FROM ({lines} LIMIT {SEEN_RECORDS})"
    )
    found = connection.execute(objects).fetchall()
    return list(dict.fromkeys(key for (keys,) in found for key in keys or ()))


def _select(lines: str, chosen: dict[str, str]) -> str:
    """SQL for the fields of every record, and the fault of those that have one.

    All places of a record are asked for at once: each question reads its JSON anew.
    """
    pointers = [_pointer(key) for key in chosen.values()]
    places = ", ".join(map(literal, pointers))
    insides = ", ".join(literal(pointer + "/0") for pointer in pointers)
    fields = ", ".join(f"{_as_text(i, field)} AS {field}" for i, field in enumerate(chosen, 1))
    return f"""
    SELECT {fields}, fault, CASE WHEN fault IS NOT NULL THEN j END AS fault_value
    FROM (
        SELECT j, kinds, texts,
               CASE WHEN j IS NULL THEN '{BLANK}' WHEN doc IS NULL THEN '{NOT_JSON}'
                    WHEN json_type(doc) <> 'OBJECT' THEN '{NOT_OBJECT}'
                    WHEN list_contains(kinds, 'OBJECT')
                      OR list_has_any(json_type(doc, [{insides}]), ['OBJECT', 'ARRAY'])
                    THEN '{NOT_TEXT}' END AS fault
        FROM (
            SELECT j, doc, json_type(doc, [{places}]) AS kinds,
                   json_extract_string(doc, [{places}]) AS texts
            FROM (SELECT j, CASE WHEN json_valid(j) THEN j END AS doc FROM ({lines}))
        )
    )"""


def _batches(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Without the blank lines, which have a number but are no record."""
    for table in tables:
        is_record = pc.not_equal(pc.fill_null(table["fault"], ""), BLANK)
        yield table.filter(is_record)


def _pointer(key: str) -> str:
    """A key as a JSON pointer, which allows any character in it."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _as_text(place: int, field: str) -> str:
    """A text as it is; a list of texts line by line, but for codes, whose list is kept as JSON."""
    text = f"texts[{place}]"
    if field == "ipc":
        return text
    lines = f"array_to_string(from_json({text}, '[\"VARCHAR\"]'), chr(10))"
    return f"CASE WHEN kinds[{place}] = 'ARRAY' AND fault IS NULL THEN {lines} ELSE {text} END"
