"""A scored store from plain numbers: distances as given, counts made by counting, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.kernels.footrule import (
    DEFAULT_TIE_TOLERANCE,
    chance,
    max_distance,
    score,
    units_per_rank,
)
from patcache.kernels.tau import n_cross_pairs
from patcache.records import Shape
from patcache.store import StoreFolder
from patcache.store.scores import scoring_id

if TYPE_CHECKING:
    import duckdb

STUDY = Shape((1, 2, 3, 4, 5, 6))
Value = tuple[int, int]  # footrule distance in units, concordance


@dataclass(frozen=True, slots=True)
class Tuples:
    """A sample: the shape, year and section of each tuple, and each model's values or None.

    similarities: of each model's candidates in each tuple, in gold order; where none are given,
    a single 0 stands for them.
    """

    shapes: Sequence[Shape]
    years: Sequence[int]
    sections: Sequence[str]
    values: Mapping[str, Sequence[Value | None]]
    similarities: Mapping[str, Sequence[Sequence[float]]] | None = None


def from_similarities(
    shapes: Sequence[Shape],
    years: Sequence[int],
    sections: Sequence[str],
    similarities: Mapping[str, Sequence[Sequence[float]]],
) -> Tuples:
    """A sample whose values are scored from similarities, one tuple at a time."""
    values: dict[str, list[Value | None]] = {}
    for model, of_tuples in similarities.items():
        values[model] = []
        for shape, row in zip(shapes, of_tuples, strict=True):
            found = score(np.array([row], dtype=np.float32), shape)
            value = int(found.footrule[0]), int(found.concordance[0])
            values[model].append(value if found.is_defined[0] else None)
    return Tuples(shapes, years, sections, values, similarities)


def fill(path: Path, tuples: Tuples, name: str = "main", sample_id: int = 1) -> StoreFolder:
    """A store that holds the sample, scored for every model; spec_id is the label reversed."""
    store = StoreFolder(path)
    shape_ids = {shape: i for i, shape in enumerate(dict.fromkeys(tuples.shapes), start=1)}
    of_tuple = [shape_ids[shape] for shape in tuples.shapes]
    cells = list(zip(tuples.years, tuples.sections, strict=True))
    with store.write() as cursor:
        if sample_id == 1:
            _shapes(cursor, shape_ids)
            labels = list(tuples.values)
            _insert(
                cursor,
                "specs",
                [(_id(m), m, "random", 2, False, "{}", NOW, _id(m)) for m in labels],
            )
            encodings = [(_id(m), NOW, 100, 0, 2.5, "cpu", "{}") for m in labels]
            _insert(cursor, "encodings", encodings)
        _insert(cursor, "samples", [(sample_id, name, "imported", 1, "{}", "digest", NOW)])
        rows = [
            (sample_id, i, shape, 0, [0] * 6, *cell)
            for i, (shape, cell) in enumerate(zip(of_tuple, cells, strict=True))
        ]
        _insert(cursor, "tuples", rows)
        for model, values in tuples.values.items():
            similarities = (tuples.similarities or {}).get(model, [[0.0]] * len(values))
            _scores(cursor, sample_id, model, values, of_tuple, cells, similarities)
        for pair in combinations(tuples.values, 2):
            _differences(cursor, sample_id, pair, tuples, of_tuple, cells)
    return store


NOW = "2026-01-01 00:00:00+00"
SCORING = scoring_id(DEFAULT_TIE_TOLERANCE)


def _id(label: str) -> str:
    return label[::-1]


def _shapes(cursor: duckdb.DuckDBPyConnection, shape_ids: dict[Shape, int]) -> None:
    rows = [
        (
            shape_id,
            list(shape.levels),
            units_per_rank(shape.n_candidates),
            max_distance(shape),
            n_cross_pairs(shape),
            float(chance(shape)),
        )
        for shape, shape_id in shape_ids.items()
    ]
    _insert(cursor, "shapes", rows)


def _scores(
    cursor: duckdb.DuckDBPyConnection,
    sample_id: int,
    model: str,
    values: Sequence[Value | None],
    of_tuple: list[int],
    cells: list[tuple[int, str]],
    similarities: Sequence[Sequence[float]],
) -> None:
    key = (sample_id, _id(model), SCORING)
    rows = [
        (sample_id, i, _id(model), SCORING, list(row), *(value or (None, None)), False)
        for i, (value, row) in enumerate(zip(values, similarities, strict=True))
    ]
    _insert(cursor, "distances", rows)
    _insert(cursor, "scores", [(*key, len(values), NOW)])
    undefined = Counter(cell for cell, value in zip(cells, values, strict=True) if value is None)
    totals = [(*key, *cell, n, undefined[cell], 0) for cell, n in Counter(cells).items()]
    _insert(cursor, "cell_totals", totals)
    counts: Counter[tuple[Any, ...]] = Counter()
    for shape, cell, value in zip(of_tuple, cells, values, strict=True):
        if value is not None:
            counts["footrule", *cell, shape, value[0]] += 1
            counts["concordance", *cell, shape, value[1]] += 1
    _insert(cursor, "counts", [(*key, *what, n) for what, n in counts.items()])


def _differences(
    cursor: duckdb.DuckDBPyConnection,
    sample_id: int,
    pair: tuple[str, str],
    tuples: Tuples,
    of_tuple: list[int],
    cells: list[tuple[int, str]],
) -> None:
    a, b = sorted(pair, key=_id)
    counts: Counter[tuple[Any, ...]] = Counter()
    rows = zip(of_tuple, cells, tuples.values[a], tuples.values[b], strict=True)
    for shape, cell, one, two in rows:
        if one is not None and two is not None:
            counts["footrule", *cell, shape, one[0] - two[0]] += 1
            counts["concordance", *cell, shape, one[1] - two[1]] += 1
    key = (sample_id, _id(a), _id(b), SCORING)
    _insert(cursor, "difference_counts", [(*key, *what, n) for what, n in counts.items()])


def _insert(cursor: duckdb.DuckDBPyConnection, table: str, rows: list[tuple[Any, ...]]) -> None:
    if not rows:
        return
    import pyarrow as pa

    columns = list(zip(*rows, strict=True))
    arrow = pa.table({f"c{i}": list(column) for i, column in enumerate(columns)})
    cursor.register("filled", arrow)
    cursor.execute(f"INSERT INTO data.{table} SELECT * FROM filled")
    cursor.unregister("filled")
