"""What the store knows of its models: specs, how they were asked for, and what was encoded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patcache.errors import ModelRefused, NotThere
from patcache.hashing import canonical_json
from patcache.records import Spec

if TYPE_CHECKING:
    import duckdb

SPECS = "SELECT label, identity, dim, is_sparse FROM data.specs ORDER BY created_at, label"
SPEC = "SELECT label, identity, dim, is_sparse FROM data.specs WHERE spec_id = ?"
LABELLED = "SELECT spec_id FROM data.specs WHERE label = ?"
ADD_SPEC = "INSERT INTO data.specs VALUES (?, ?, ?, ?, ?, ?, now(), ?)"
REQUEST = "SELECT spec_id FROM data.requests WHERE request_key = ?"
FORGET_REQUEST = "DELETE FROM data.requests WHERE request_key = ?"
ADD_REQUEST = "INSERT INTO data.requests VALUES (?, ?)"
SOURCE = "SELECT kind, label, settings, is_fitted FROM data.sources WHERE spec_id = ?"
FORGET_SOURCE = "DELETE FROM data.sources WHERE spec_id = ?"
ADD_SOURCE = "INSERT INTO data.sources VALUES (?, ?, ?, ?, ?)"
ENCODED = "SELECT coalesce(sum(n_texts), 0)::BIGINT FROM data.encodings WHERE spec_id = ?"
IS_RECORDED = """
SELECT coalesce(sum(n_texts), 0) <= ? AND coalesce(min(started_at) = ?::TIMESTAMPTZ, count(*) = 0)
FROM data.encodings WHERE spec_id = ?"""
FORGET_ENCODINGS = "DELETE FROM data.encodings WHERE spec_id = ?"
ADD_ENCODING = "INSERT INTO data.encodings VALUES (?, ?::TIMESTAMPTZ, ?, ?, ?, ?, ?)"
EMBEDDED = """
SELECT max(n_tuples) FROM data.embedded
WHERE spec_id = ? AND sample_id IS NOT DISTINCT FROM ? AND n_rows <= ?"""
FORGET_EMBEDDED = "DELETE FROM data.embedded WHERE spec_id = ? AND sample_id IS NOT DISTINCT FROM ?"
FORGET_ALL_EMBEDDED = "DELETE FROM data.embedded WHERE spec_id = ?"
ADD_EMBEDDED = "INSERT INTO data.embedded VALUES (?, ?, ?, ?)"
TABLES_OF_SPEC = (
    "specs",
    "requests",
    "sources",
    "encodings",
    "timings",
    "embedded",
    "distances",
    "scores",
    "cell_totals",
    "counts",
)
ENCODING_TABLES = ("encodings", "timings")
REMOVE_DIFFERENCES = "DELETE FROM data.difference_counts WHERE spec_a = ? OR spec_b = ?"


@dataclass(frozen=True, slots=True)
class Source:
    """How the model of a spec is loaded again: a request with every default filled in."""

    kind: str
    label: str
    settings: Mapping[str, Any]
    is_fitted: bool


@dataclass(frozen=True, slots=True)
class Encoding:
    """One run of an embedder, or what a killed one left behind."""

    started_at: str
    n_texts: int
    n_truncated: int
    elapsed_s: float
    device: str
    provenance: Mapping[str, Any]


def specs(cursor: duckdb.DuckDBPyConnection) -> list[Spec]:
    """Every spec of the store, in order of creation."""
    return [_spec(row) for row in cursor.execute(SPECS).fetchall()]


def find_spec(cursor: duckdb.DuckDBPyConnection, spec_id: str) -> Spec | None:
    """The spec of an id; None where the store does not have it."""
    row = cursor.execute(SPEC, [spec_id]).fetchone()
    return _spec(row) if row else None


def labelled_spec(cursor: duckdb.DuckDBPyConnection, label: str) -> Spec:
    """The spec people call `label`. Errors: NotThere, naming those there are."""
    for spec in specs(cursor):
        if spec.label == label:
            return spec
    stored = ", ".join(spec.label for spec in specs(cursor)) or "none"
    raise NotThere(
        f"no model {label!r} in this store",
        f"stored: {stored}",
        f"run `patcache add {label}`",
    )


def requested_id(cursor: duckdb.DuckDBPyConnection, request_key: str) -> str | None:
    """The spec_id that a request was found to be; None where it was never made here."""
    row = cursor.execute(REQUEST, [request_key]).fetchone()
    return str(row[0]) if row else None


def remember_request(cursor: duckdb.DuckDBPyConnection, request_key: str, spec_id: str) -> None:
    """Notes which spec a request was found to be."""
    cursor.execute(FORGET_REQUEST, [request_key])
    cursor.execute(ADD_REQUEST, [request_key, spec_id])


def source_of(cursor: duckdb.DuckDBPyConnection, spec_id: str) -> Source | None:
    """How a spec is loaded again; None for an object that was handed over in Python."""
    row = cursor.execute(SOURCE, [spec_id]).fetchone()
    return Source(row[0], row[1], json.loads(row[2]), row[3]) if row else None


def add_spec(
    cursor: duckdb.DuckDBPyConnection,
    spec: Spec,
    source: Source | None = None,
    request_key: str | None = None,
) -> Spec:
    """The spec as the store has it from now on; one that was there keeps its label.

    Errors: ModelRefused where another spec has the label.
    """
    stored = find_spec(cursor, spec.spec_id)
    if stored is None:
        refuse_taken_label(cursor, spec)
        row = [spec.spec_id, spec.label, spec.embedder, spec.dim, spec.sparse]
        cursor.execute(ADD_SPEC, [*row, canonical_json(spec.identity), spec.vectors_id])
    if source is not None:
        settings = canonical_json(source.settings)
        cursor.execute(FORGET_SOURCE, [spec.spec_id])
        row = [spec.spec_id, source.kind, source.label, settings, source.is_fitted]
        cursor.execute(ADD_SOURCE, row)
    if request_key is not None:
        remember_request(cursor, request_key, spec.spec_id)
    return stored or spec


def n_embedded(
    cursor: duckdb.DuckDBPyConnection, spec_id: str, sample_id: int | None, n_rows: int
) -> int:
    """Tuples of a sample (None: patents) whose texts are known to be among n_rows vectors.

    They are the first ones: samples and the corpus only grow, at their end.
    """
    row = cursor.execute(EMBEDDED, [spec_id, sample_id, n_rows]).fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


def mark_embedded(
    cursor: duckdb.DuckDBPyConnection,
    spec_id: str,
    sample_id: int | None,
    n_tuples: int,
    n_rows: int,
) -> None:
    """Notes that all texts of a sample (None: of the corpus) have vectors."""
    cursor.execute(FORGET_EMBEDDED, [spec_id, sample_id])
    cursor.execute(ADD_EMBEDDED, [spec_id, sample_id, n_tuples, n_rows])


def n_encoded(cursor: duckdb.DuckDBPyConnection, spec_id: str) -> int:
    """Texts that the recorded runs of a spec account for."""
    row = cursor.execute(ENCODED, [spec_id]).fetchone()
    return int(row[0]) if row else 0


def is_record_of(
    cursor: duckdb.DuckDBPyConnection, spec_id: str, n_rows: int, started_at: str | None
) -> bool:
    """Whether the recorded runs can be those of vectors with so many rows, begun at that time.

    Not where somebody deleted the vectors since, or put those of another store in their place.
    """
    rows = cursor.execute(IS_RECORDED, [n_rows, started_at, spec_id]).fetchall()
    return bool(rows[0][0])


def forget_encodings(cursor: duckdb.DuckDBPyConnection, spec_id: str) -> None:
    """Drops what was recorded of a spec's vectors: they are gone."""
    cursor.execute(FORGET_ENCODINGS, [spec_id])
    cursor.execute(FORGET_ALL_EMBEDDED, [spec_id])


def add_encodings(
    cursor: duckdb.DuckDBPyConnection, spec_id: str, runs: Sequence[Encoding]
) -> None:
    """Records runs of an embedder."""
    for run in runs:
        provenance = canonical_json(run.provenance)
        row = [spec_id, run.started_at, run.n_texts, run.n_truncated, run.elapsed_s, run.device]
        cursor.execute(ADD_ENCODING, [*row, provenance])


def remove_spec(
    cursor: duckdb.DuckDBPyConnection, spec_id: str, *, keep_encodings: bool = False
) -> None:
    """Takes a spec and all its scores out of the database; its vectors are files.

    keep_encodings: another spec uses its vectors, and so what is known of making them.
    """
    for table in TABLES_OF_SPEC:
        if keep_encodings and table in ENCODING_TABLES:
            continue
        cursor.execute(f"DELETE FROM data.{table} WHERE spec_id = ?", [spec_id])
    cursor.execute(REMOVE_DIFFERENCES, [spec_id, spec_id])


def refuse_taken_label(cursor: duckdb.DuckDBPyConnection, spec: Spec) -> None:
    """Errors: ModelRefused where another spec has the label of a new one, or it is a list."""
    if find_spec(cursor, spec.spec_id) is not None:
        return  # it keeps the label it has
    if "," in spec.label:
        raise ModelRefused(
            f"the label {spec.label!r} holds a comma",
            "commas part the labels of a list, as in --models A,B",
            "give it another: --label NAME",
        )
    row = cursor.execute(LABELLED, [spec.label]).fetchone()
    if row is not None and row[0] != spec.spec_id:
        raise ModelRefused(
            f"the label {spec.label!r} is taken by another spec",
            f"its id is {row[0]}, this one's {spec.spec_id}: other settings, weights or texts",
            f"give this one a name (--label NAME), or `patcache rm spec {spec.label}` first",
        )


def _spec(row: tuple[Any, ...]) -> Spec:
    label, identity, dim, is_sparse = row
    return Spec(label, json.loads(identity), dim, is_sparse)
