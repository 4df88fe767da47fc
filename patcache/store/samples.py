"""Samples as the store holds them: tuples by shape, and the cells they were drawn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import NotThere, SampleRefused, StoreBusy
from patcache.records import Shape, TupleSet

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from patcache.store.folder import StoreFolder

TABLES_OF_SAMPLE = (
    "tuples",
    "sample_cells",
    "shortages",
    "label_noise",
    "embedded",
    "distances",
    "scores",
    "cell_totals",
    "counts",
    "difference_counts",
)
DRAWN_TABLES = TABLES_OF_SAMPLE[:4]  # written with the sample itself

SAMPLE_ID = "SELECT sample_id FROM data.samples WHERE name = ?"
SAMPLE_NAMES = "SELECT name FROM data.samples ORDER BY sample_id"
SAMPLE = "SELECT sample_id, kind, parameters, corpus_digest FROM data.samples WHERE name = ?"
DRAWN = """
SELECT sample_id, name, parameters, corpus_digest FROM data.samples
WHERE kind = 'drawn' ORDER BY sample_id"""
CELLS = "SELECT year, section, n_patents, n_drawn FROM data.sample_cells WHERE sample_id = ?"
NEXT_TUPLE = "SELECT coalesce(max(tuple_id) + 1, 0) FROM data.tuples WHERE sample_id = ?"
SHAPES = """
SELECT shape_id, levels FROM data.shapes
WHERE shape_id IN (SELECT shape_id FROM data.tuples WHERE sample_id = ?) ORDER BY shape_id"""
SPAN = "SELECT min(tuple_id), max(tuple_id) FROM data.tuples WHERE sample_id = ?"
ROWS = """
SELECT * FROM tuples WHERE sample = ? AND tuple_id >= ? AND tuple_id < ?
ORDER BY tuple_id, gold_position"""
TUPLES = """
SELECT tuple_id, target, candidates, year, section FROM data.tuples
WHERE sample_id = ? AND shape_id = ? ORDER BY tuple_id"""
CHOSEN = """
SELECT target, candidates FROM data.tuples
WHERE sample_id = ? AND list_contains(?, tuple_id) ORDER BY tuple_id"""
REMOVE = "DELETE FROM data.{table} WHERE sample_id = ?"


@dataclass(frozen=True, slots=True)
class StoredSample:
    """A sample as it is in the store; cells: (year, section) -> (n_patents, n_drawn)."""

    sample_id: int
    kind: str
    parameters: Mapping[str, Any]
    corpus_digest: str
    cells: Mapping[tuple[int, str], tuple[int, int]]
    next_tuple: int


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """A sample that was drawn here, without its tuples."""

    sample_id: int
    name: str
    parameters: Mapping[str, Any]
    corpus_digest: str


@dataclass(frozen=True, slots=True)
class TupleSpan:
    """The first and last tuple_id."""

    first: int
    last: int


def sample_id(cursor: duckdb.DuckDBPyConnection, name: str) -> int:
    """The id of a sample. Errors: NotThere, naming those that are."""
    found = cursor.execute(SAMPLE_ID, [name]).fetchone()
    if found is not None:
        return int(found[0])
    names = sample_names(cursor)
    raise NotThere(
        f"no sample {name!r} in this store",
        f"there are: {', '.join(names)}" if names else "there is none yet",
        f"draw it: patcache sample {name}",
    )


def sample_names(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    """The names of all samples, oldest first."""
    return [name for (name,) in cursor.execute(SAMPLE_NAMES).fetchall()]


def drawn_samples(cursor: duckdb.DuckDBPyConnection) -> list[DrawnSample]:
    """The samples that were drawn here, oldest first; imported ones are none of them."""
    import json

    return [
        DrawnSample(number, name, json.loads(parameters), digest)
        for number, name, parameters, digest in cursor.execute(DRAWN).fetchall()
    ]


def stored_sample(cursor: duckdb.DuckDBPyConnection, name: str) -> StoredSample:
    """A sample with the cells it has seen. Errors: NotThere."""
    import json

    number = sample_id(cursor, name)
    _, kind, parameters, digest = cursor.execute(SAMPLE, [name]).fetchall()[0]
    rows = cursor.execute(CELLS, [number]).fetchall()
    cells = {(year, section): (n_patents, drawn) for year, section, n_patents, drawn in rows}
    next_tuple = int(cursor.execute(NEXT_TUPLE, [number]).fetchall()[0][0])
    return StoredSample(number, kind, json.loads(parameters), digest, cells, next_tuple)


def tuple_sets(cursor: duckdb.DuckDBPyConnection, sample_id: int) -> list[TupleSet]:
    """The tuples of a sample, one set for each shape, in order of tuple_id."""
    shapes = cursor.execute(SHAPES, [sample_id]).fetchall()
    return [
        _tuple_set(cursor, sample_id, shape_id, Shape(tuple(levels))) for shape_id, levels in shapes
    ]


def chosen_tuples(
    cursor: duckdb.DuckDBPyConnection, sample_id: int, tuple_ids: Sequence[int]
) -> list[tuple[int, list[int]]]:
    """Target and candidates, in gold order, of some tuples of a sample."""
    return cursor.execute(CHOSEN, [sample_id, list(tuple_ids)]).fetchall()


def tuple_span(cursor: duckdb.DuckDBPyConnection, name: str) -> TupleSpan:
    """The first and last tuple_id of a sample. Errors: NotThere, also for one without tuples."""
    first, last = cursor.execute(SPAN, [sample_id(cursor, name)]).fetchall()[0]
    if first is None:
        raise NotThere(f"sample {name!r} has no tuples", "no patent had a candidate at every level")
    return TupleSpan(first, last)


def tuple_table(cursor: duckdb.DuckDBPyConnection, name: str, first: int, stop: int) -> pa.Table:
    """The view `tuples` of a sample for a span of tuple_ids: one row a candidate, in gold order."""
    return cursor.sql(ROWS, params=[name, first, stop]).to_arrow_table()


def refuse_taken_name(cursor: duckdb.DuckDBPyConnection, name: str) -> None:
    """Errors: SampleRefused where a sample has this name."""
    if cursor.execute(SAMPLE_ID, [name]).fetchone() is not None:
        raise SampleRefused(
            f"there is a sample {name!r} already",
            "the tuples of a sample never change",
            f"patcache sample {name} --extend adds new cells; patcache rm sample {name} removes it",
        )


def remove_sample(store: StoreFolder, name: str) -> None:
    """Removes a sample with all that was computed on it, in one transaction. Errors: NotThere."""
    with only_writer(store), store.write() as cursor:
        number = sample_id(cursor, name)
        for table in (*TABLES_OF_SAMPLE, "samples"):
            cursor.execute(REMOVE.format(table=table), [number])


@contextmanager
def only_writer(store: StoreFolder) -> Iterator[None]:
    """Held while samples are written: another draw would take half a sample for a leftover."""
    from filelock import FileLock, Timeout

    store.jobs_path.mkdir(exist_ok=True)
    try:
        with FileLock(store.jobs_path / "samples.lock", timeout=store.wait_s):
            yield
    except Timeout as error:
        raise StoreBusy(
            "another process is writing a sample of this store",
            f"it still was after {store.wait_s:g} s",
            "try again, or wait longer: --wait SECONDS",
        ) from error


def _tuple_set(
    cursor: duckdb.DuckDBPyConnection, sample_id: int, shape_id: int, shape: Shape
) -> TupleSet:
    table = cursor.sql(TUPLES, params=[sample_id, shape_id]).to_arrow_table().combine_chunks()
    candidates = table["candidates"].combine_chunks().flatten().to_numpy()
    return TupleSet(
        shape,
        table["tuple_id"].to_numpy().astype(np.int64),
        table["target"].to_numpy(),
        candidates.reshape(-1, shape.n_candidates),
        table["year"].to_numpy(),
        table["section"].to_numpy().astype("U1"),
    )
