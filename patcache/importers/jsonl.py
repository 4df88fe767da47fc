"""JSON lines, and one JSON array of objects: the top-level keys are the columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from patcache.errors import ImportRefused
from patcache.importers.base import ImportOptions, Records, Taken
from patcache.importers.delimited import MAX_RECORD_BYTES, READ_BYTES
from patcache.importers.fields import choose_columns
from patcache.importers.sources import Source, plain_text
from patcache.importers.staging import (
    literal,
    numbers_from,
    reader,
    records_table,
    refusing,
    stream,
)

SEEN_RECORDS = 10_000  # of which the keys are the columns
NO_DELIMITER = "\x1f"  # a control character, which JSON does not allow inside a record
NOT_JSON = "not valid JSON"
NOT_OBJECT = "not a JSON object"
NOT_TEXT = "an object, not text"


@contextmanager
def open_jsonl(source: Source, options: ImportOptions, folder: Path) -> Iterator[Records]:
    """The records of a file with one JSON object a line, or with one array of them."""
    text = plain_text(source, options.encoding, folder)
    lines = _lines(text.path, is_array=_is_array(text.path))
    with reader(folder) as connection:
        with refusing(source.name):
            keys = _keys(connection, lines)
            count = f"SELECT count(*) FROM ({lines}) WHERE j IS NOT NULL"
            n_rows = connection.execute(count).fetchall()[0][0]
        if not keys:
            raise ImportRefused(f"{source.name} has no JSON objects", "one a line is expected")
        chosen = choose_columns(keys, options.mapping, source.name)
        taken = Taken("jsonl", chosen, text.encoding)
        sql = _select(lines, chosen)
        yield Records(taken, n_rows, _batches(stream(connection, sql, source.name)))


def _is_array(path: Path) -> bool:
    with path.open(encoding="utf-8-sig") as stream_:
        return next((line.lstrip()[0] == "[" for line in stream_ if line.strip()), False)


def _lines(path: Path, *, is_array: bool) -> str:
    """SQL for the records as text `j`; a blank line is null. Bad JSON is a record too."""
    if is_array:
        return (
            f"SELECT CAST(json AS VARCHAR) AS j FROM read_json_objects({literal(path)},"
            f" format = 'array', maximum_object_size = {MAX_RECORD_BYTES})"
        )
    return (
        f"SELECT nullif(trim(j, ' ' || chr(9) || chr(13)), '') AS j"
        f" FROM read_csv({literal(path)}, auto_detect = false, header = false,"
        f" columns = {{j: 'VARCHAR'}}, delim = '{NO_DELIMITER}', quote = '',"
        f" escape = '', max_line_size = {MAX_RECORD_BYTES}, buffer_size = {READ_BYTES})"
    )


def _keys(connection: duckdb.DuckDBPyConnection, lines: str) -> list[str]:
    """The keys of the first records, in the order in which they turn up."""
    objects = (
        f"SELECT CASE WHEN json_valid(j) THEN CASE WHEN json_type(j) = 'OBJECT' THEN json_keys(j)"
        f" END END FROM ({lines} LIMIT {SEEN_RECORDS})"
    )
    found = connection.execute(objects).fetchall()
    return list(dict.fromkeys(key for (keys,) in found for key in keys or ()))


def _select(lines: str, chosen: dict[str, str]) -> str:
    """SQL for the fields of every record, and the fault of those that have one."""
    places = {field: literal(_pointer(key)) for field, key in chosen.items()}
    texts = ", ".join(f"{_as_text(field, place)} AS {field}" for field, place in places.items())
    nested = " OR ".join(_is_nested(place) for place in places.values())
    return f"""
    SELECT {texts}, CASE WHEN fault IS NOT NULL THEN fault WHEN {nested} THEN '{NOT_TEXT}' END
           AS fault, j AS fault_value
    FROM (
        SELECT j, CASE WHEN NOT json_valid(j) THEN '{NOT_JSON}'
                       WHEN json_type(j) <> 'OBJECT' THEN '{NOT_OBJECT}' END AS fault,
               CASE WHEN json_valid(j) THEN j END AS doc
        FROM ({lines})
    )"""


def _batches(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    n_read = 0
    for table in tables:
        columns = dict(zip(table.column_names, table.columns, strict=True))
        records = records_table(numbers_from(n_read + 1, table.num_rows), columns)
        n_read += table.num_rows
        yield records.filter(pc.is_valid(records["fault_value"]))  # blank lines are no records


def _pointer(key: str) -> str:
    """A key as a JSON pointer, which allows any character in it."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _as_text(field: str, place: str) -> str:
    """A text as it is; a list of texts line by line, but for codes, whose list is kept as JSON."""
    as_text = f"json_extract_string(doc, {place})"
    if field == "ipc":
        return as_text
    items = f"from_json(json_extract(doc, {place}), '[\"VARCHAR\"]')"
    return (
        f"CASE WHEN json_type(doc, {place}) = 'ARRAY' THEN array_to_string({items}, chr(10))"
        f" ELSE {as_text} END"
    )


def _is_nested(place: str) -> str:
    first = literal(place[1:-1].replace("''", "'") + "/0")
    return (
        f"coalesce(json_type(doc, {place}) = 'OBJECT' OR json_type(doc, {first}) IN"
        f" ('OBJECT', 'ARRAY'), false)"
    )
