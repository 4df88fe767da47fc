"""Samples: tuples by shape, the cells they were drawn from, what was short, and label noise.

A sample is written in short transactions, each of whole cells. The row of data.samples comes
last: what no such row names does not exist, no view shows it, and the next write clears it. Rows
added to a sample that exists come cell by cell, so that a killed extension is one with fewer new
cells, and extending again adds the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import SampleRefused
from patcache.hashing import canonical_json
from patcache.records import Progress, Shape, TupleSet
from patcache.store.samples import DRAWN_TABLES, only_writer, refuse_taken_name, stored_sample

if TYPE_CHECKING:
    import duckdb

    from patcache.records import IntArray
    from patcache.store.folder import StoreFolder

TRANSACTION_TUPLES = 50_000
NEXT_SAMPLE = "SELECT coalesce(max(sample_id) + 1, 1) FROM data.samples"
NEXT_SHAPE = "SELECT coalesce(max(shape_id) + 1, 1) FROM data.shapes"
SHAPE_ID = "SELECT shape_id FROM data.shapes WHERE levels = ?::UTINYINT[]"
ADD_SHAPE = "INSERT INTO data.shapes VALUES (?, ?, ?, ?, ?, ?)"
ADD_SAMPLE = "INSERT INTO data.samples VALUES (?, ?, ?, ?, ?, ?, now())"
ADD_TUPLES = """
INSERT INTO data.tuples SELECT ?, tuple_id, ?, target, candidates, year, section FROM rows"""
ADD_CELLS = """
INSERT INTO data.sample_cells
SELECT ?, year, section, n_patents, n_eligible, n_drawn, now() FROM rows"""
ADD_SHORTAGES = "INSERT INTO data.shortages SELECT ?, year, section, level, n FROM rows"
ADD_NOISE = "INSERT INTO data.label_noise SELECT ?, year, section, level, n, n_deeper FROM rows"
SET_DIGEST = "UPDATE data.samples SET corpus_digest = ? WHERE sample_id = ?"
CLEAR = "DELETE FROM data.{table} WHERE sample_id NOT IN (SELECT sample_id FROM data.samples)"


@dataclass(frozen=True, slots=True)
class ShapeValues:
    """What the kernels say of a shape, stored beside its levels."""

    units_per_rank: int
    max_distance: int
    n_cross_pairs: int
    chance: float


@dataclass(frozen=True, slots=True)
class Cell:
    """What a draw found in one (year, section).

    n_short: patents short of candidates, by level. noise: pairs drawn, and those of them that
    share a deeper level by any code, by level.
    """

    year: int
    section: str
    n_patents: int
    n_eligible: int
    n_drawn: int
    n_short: Mapping[int, int]
    noise: Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class SampleHead:
    """The row of a sample; `parameters` is all that its draw depends on besides the corpus."""

    name: str
    kind: str  # drawn or imported
    seed: int | None
    parameters: Mapping[str, Any]
    corpus_digest: str


def save_sample(
    store: StoreFolder,
    head: SampleHead,
    shapes: Mapping[Shape, ShapeValues],
    tuples: Sequence[TupleSet],
    cells: Sequence[Cell],
    progress: Progress | None = None,
) -> None:
    """Writes a new sample. Errors: SampleRefused where the name is taken."""
    parts = _parts(tuples, cells)

    def start(cursor: duckdb.DuckDBPyConnection) -> int:
        refuse_taken_name(cursor, head.name)
        return int(cursor.execute(NEXT_SAMPLE).fetchall()[0][0])

    def finish(cursor: duckdb.DuckDBPyConnection, number: int) -> None:
        row = [number, head.name, head.kind, head.seed, canonical_json(head.parameters)]
        cursor.execute(ADD_SAMPLE, [*row, head.corpus_digest])

    _save(store, shapes, parts, start, finish, progress)


def save_extension(
    store: StoreFolder,
    name: str,
    corpus_digest: str,
    shapes: Mapping[Shape, ShapeValues],
    tuples: Sequence[TupleSet],
    cells: Sequence[Cell],
    progress: Progress | None = None,
) -> None:
    """Adds new cells to a sample. Errors: NotThere; SampleRefused where a cell is there already."""

    def start(cursor: duckdb.DuckDBPyConnection) -> int:
        found = stored_sample(cursor, name)
        if any((cell.year, cell.section) in found.cells for cell in cells):
            raise SampleRefused(
                f"sample {name!r} changed while it was extended",
                "another process extended it",
                "run the same command again",
            )
        return found.sample_id

    def finish(cursor: duckdb.DuckDBPyConnection, number: int) -> None:
        cursor.execute(SET_DIGEST, [corpus_digest, number])

    _save(store, shapes, _parts(tuples, cells), start, finish, progress)


Part = tuple[Sequence[TupleSet], Sequence[Cell]]


def _save(
    store: StoreFolder,
    shapes: Mapping[Shape, ShapeValues],
    parts: Sequence[Part],
    start: Callable[[duckdb.DuckDBPyConnection], int],
    finish: Callable[[duckdb.DuckDBPyConnection, int], None],
    progress: Progress | None,
) -> None:
    """One transaction a part: `start` gives the sample's id, `finish` ends the last."""
    number = 0
    with only_writer(store):
        for done, (tuples, cells) in enumerate(parts, start=1):
            with store.write() as cursor:
                if done == 1:
                    for table in DRAWN_TABLES:
                        cursor.execute(CLEAR.format(table=table))
                    number = start(cursor)
                for some in tuples:
                    _add_tuples(cursor, number, some, shapes[some.shape])
                _add_cells(cursor, number, cells)
                if done == len(parts):
                    finish(cursor, number)
            if progress is not None:
                progress(done, len(parts))


def _parts(tuples: Sequence[TupleSet], cells: Sequence[Cell]) -> list[Part]:
    """The work of each transaction: whole cells, TRANSACTION_TUPLES tuples or one cell."""
    ordered = sorted(cells, key=lambda cell: (cell.year, cell.section))
    keys = _cell_keys(
        np.array([cell.year for cell in ordered], dtype=np.int16),
        np.array([cell.section for cell in ordered], dtype="U1"),
    )
    part_of_cell = np.array(_part_numbers([cell.n_drawn for cell in ordered]))
    part_of_tuple = [
        part_of_cell[np.searchsorted(keys, _cell_keys(some.years, some.sections))]
        for some in tuples
    ]
    return [
        (
            [
                _rows_of(some, where == part)
                for some, where in zip(tuples, part_of_tuple, strict=True)
            ],
            [cell for cell, owner in zip(ordered, part_of_cell, strict=True) if owner == part],
        )
        for part in range(int(part_of_cell.max(initial=0)) + 1)
    ]


def _part_numbers(sizes: Sequence[int]) -> list[int]:
    """The part of each cell: a new one begins where the next cell would make it too large."""
    numbers, number, filled = [], 0, 0
    for size in sizes:
        if filled and filled + size > TRANSACTION_TUPLES:
            number, filled = number + 1, 0
        filled += size
        numbers.append(number)
    return numbers


def _cell_keys(years: Any, sections: Any) -> IntArray:
    letters = np.ascontiguousarray(sections.astype("U1")).view(np.uint32)
    keys: IntArray = years.astype(np.int64) * 256 + letters
    return keys


def _rows_of(some: TupleSet, rows: Any) -> TupleSet:
    columns = (some.ids, some.targets, some.candidates, some.years, some.sections)
    return TupleSet(some.shape, *(column[rows] for column in columns))


def _shape_id(cursor: duckdb.DuckDBPyConnection, shape: Shape, values: ShapeValues) -> int:
    """The id of a shape, which is added where it is new."""
    levels = list(shape.levels)
    found = cursor.execute(SHAPE_ID, [levels]).fetchone()
    if found is not None:
        return int(found[0])
    number = int(cursor.execute(NEXT_SHAPE).fetchall()[0][0])
    row = [number, levels, values.units_per_rank, values.max_distance, values.n_cross_pairs]
    cursor.execute(ADD_SHAPE, [*row, values.chance])
    return number


def _add_tuples(
    cursor: duckdb.DuckDBPyConnection, number: int, some: TupleSet, values: ShapeValues
) -> None:
    import pyarrow as pa

    if not len(some.ids):
        return
    offsets = np.arange(len(some.ids) + 1, dtype=np.int32) * some.shape.n_candidates
    rows = pa.table(
        {
            "tuple_id": some.ids,
            "target": some.targets,
            "candidates": pa.ListArray.from_arrays(offsets, some.candidates.ravel()),
            "year": some.years,
            "section": some.sections.tolist(),
        }
    )
    cursor.register("rows", rows)
    cursor.execute(ADD_TUPLES, [number, _shape_id(cursor, some.shape, values)])
    cursor.unregister("rows")


def _add_cells(cursor: duckdb.DuckDBPyConnection, number: int, cells: Sequence[Cell]) -> None:
    where = [(cell.year, cell.section) for cell in cells]
    counts = [
        (*at, c.n_patents, c.n_eligible, c.n_drawn) for at, c in zip(where, cells, strict=True)
    ]
    short = [
        (*at, level, n)
        for at, cell in zip(where, cells, strict=True)
        for level, n in cell.n_short.items()
        if n
    ]
    noise = [
        (*at, level, *pairs)
        for at, cell in zip(where, cells, strict=True)
        for level, pairs in cell.noise.items()
    ]
    _insert(cursor, ADD_CELLS, number, ("n_patents", "n_eligible", "n_drawn"), counts)
    _insert(cursor, ADD_SHORTAGES, number, ("level", "n"), short)
    _insert(cursor, ADD_NOISE, number, ("level", "n", "n_deeper"), noise)


def _insert(
    cursor: duckdb.DuckDBPyConnection,
    sql: str,
    number: int,
    names: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
) -> None:
    import pyarrow as pa

    if not rows:
        return
    columns = dict(zip(("year", "section", *names), zip(*rows, strict=True), strict=True))
    cursor.register("rows", pa.table({name: list(values) for name, values in columns.items()}))
    cursor.execute(sql, [number])
    cursor.unregister("rows")
