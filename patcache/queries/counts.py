"""How often each value occurs, per model and part of a slice: all that the tests need."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from patcache.errors import NotThere
from patcache.kernels.axis import common_axis
from patcache.kernels.footrule import paper_max_distance
from patcache.queries.question import Question, Subject
from patcache.queries.wording import slice_words

if TYPE_CHECKING:
    import duckdb

    from patcache.records import DoubleArray, IntArray

By = Literal["all", "year", "section", "cell"]

IN_SLICE = """($years::INTEGER[] IS NULL OR list_contains($years::INTEGER[], {0}.year))
  AND ($sections::VARCHAR[] IS NULL OR list_contains($sections::VARCHAR[], {0}.section))"""
# A cell as one number: 128 years + the letter of its section.
CELL_OF = "(128 * {0}.year::INTEGER + ascii({0}.section))::INTEGER AS cell"
MODEL_OF = "(list_position($specs, {0}.{1}) - 1)::INTEGER"
DIRECT_CODES = 4_000_000
SHAPES = """
SELECT shape_id, len(levels), units_per_rank * max_distance, units_per_rank, n_cross_pairs, chance
FROM data.shapes"""
TOTALS = f"""
SELECT {MODEL_OF.format("c", "spec_id")} AS model, {CELL_OF.format("c")},
  c.n_tuples, c.n_undefined, c.n_near_ties
FROM data.cell_totals c
WHERE c.sample_id = $sample AND c.scoring_id = $scoring AND list_contains($specs, c.spec_id)
  AND {IN_SLICE.format("c")}"""
COUNTS = f"""
SELECT {MODEL_OF.format("c", "spec_id")} AS model, {CELL_OF.format("c")}, c.shape_id, c.value, c.n
FROM data.counts c
WHERE c.sample_id = $sample AND c.scoring_id = $scoring AND c.indicator = $indicator
  AND list_contains($specs, c.spec_id) AND {IN_SLICE.format("c")}"""
COMMON_TUPLES = f"""
WITH common AS (
  SELECT t.tuple_id, t.shape_id, t.year, t.section
  FROM data.tuples t JOIN data.distances d USING (sample_id, tuple_id)
  WHERE t.sample_id = $sample AND d.scoring_id = $scoring AND list_contains($specs, d.spec_id)
    AND d.footrule IS NOT NULL AND {IN_SLICE.format("t")}
  GROUP BY ALL HAVING count(*) = len($specs)
), valued AS (
  SELECT c.*, d.spec_id,
    CASE $indicator WHEN 'footrule' THEN d.footrule ELSE d.concordance END AS value
  FROM common c JOIN data.distances d ON d.sample_id = $sample AND d.tuple_id = c.tuple_id
  WHERE d.scoring_id = $scoring AND list_contains($specs, d.spec_id)
)"""
COMMON_COUNTS = f"""{COMMON_TUPLES}
SELECT {MODEL_OF.format("v", "spec_id")} AS model, {CELL_OF.format("v")},
  v.shape_id, v.value, count(*) AS n
FROM valued v GROUP BY ALL"""


TUPLES_OF_SHAPE = f"""
SELECT t.shape_id, count(*) FROM data.tuples t
WHERE t.sample_id = $sample AND {IN_SLICE.format("t")} GROUP BY t.shape_id"""


@dataclass(frozen=True, slots=True)
class Part:
    """One year, section or cell of a slice; the whole slice has neither."""

    year: int | None = None
    section: str | None = None

    @classmethod
    def of_number(cls, number: int) -> Part:
        """The part of this number, as Parts has them."""
        return cls(number // 128 or None, chr(number % 128) if number % 128 else None)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a slice and the cells they are made of.

    Shapes: cells (C,), ascending numbers as CELL_OF writes them; part_of_cell (C,) into
    numbers (P,), ascending: a year, a section, a cell, or 0 for the whole slice.
    """

    cells: IntArray
    numbers: IntArray
    part_of_cell: IntArray

    @classmethod
    def of(cls, cells: IntArray, by: By) -> Parts:
        """The parts that cells fall into."""
        section = cells % 128
        numbers = {"all": 0 * cells, "year": cells - section, "section": section, "cell": cells}
        distinct, part_of_cell = np.unique(numbers[by], return_inverse=True)
        return cls(cells, distinct, part_of_cell)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Part]:
        return map(Part.of_number, self.numbers.tolist())

    def places_of(self, numbers: IntArray) -> IntArray:
        """The places (n,) of cells by their numbers (n,), all of which are there."""
        first = int(self.cells[0])
        place: IntArray = np.zeros(int(self.cells[-1]) - first + 1, dtype=np.int64)
        place[self.cells - first] = np.arange(len(self.cells))
        return place[numbers - first]

    def cells_of(self, part: int) -> IntArray:
        """The places of a part's cells."""
        return np.flatnonzero(self.part_of_cell == part)

    def summed(self, of_cells: IntArray) -> IntArray:
        """Numbers of cells (C, ...), added up for each part (P, ...)."""
        total = np.zeros((len(self), *of_cells.shape[1:]), dtype=np.int64)
        np.add.at(total, self.part_of_cell, of_cells)
        return total


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """Counts of P parts, C cells and M models over V values, and what else a view must show.

    Shapes: counts (P, M, V) over values (V,), ascending, larger is better, for the tests;
    shown_counts (P, M, E) and cell_counts (C, M, E) over shown (E,), the same values as they are
    displayed; n_defined, the sums of counts, n_tuples, n_undefined, n_near_ties (P, M);
    chance (P,).
    """

    parts: Parts
    values: DoubleArray
    counts: IntArray
    shown: DoubleArray
    shown_counts: IntArray
    cell_counts: IntArray
    n_defined: IntArray
    n_tuples: IntArray
    n_undefined: IntArray
    n_near_ties: IntArray
    chance: DoubleArray


def no_tuples(subject: Subject, question: Question) -> NotThere:
    """What to say of a slice without tuples."""
    return NotThere(
        f"sample {subject.sample} has no tuples in this slice",
        slice_words(question),
        "widen --years or --sections; `patcache shortages` shows what each cell has",
    )


def parameters(subject: Subject, question: Question) -> dict[str, Any]:
    """The named parameters that every statement about a slice takes."""
    return {
        "sample": subject.sample_id,
        "scoring": question.scoring_id,
        "indicator": question.indicator,
        "specs": [model.spec_id for model in subject.models],
        "years": None if question.years is None else list(question.years),
        "sections": None if question.sections is None else list(question.sections),
    }


def model_counts(
    cursor: duckdb.DuckDBPyConnection,
    subject: Subject,
    question: Question,
    scales: Mapping[int, ShapeScale],
    by: By = "all",
) -> ModelCounts:
    """The counts of a slice, whole or by year, section or cell.

    Errors: NotThere for a slice without tuples.
    """
    asked = parameters(subject, question)
    without_indicator = {name: asked[name] for name in asked if name != "indicator"}
    totals = cursor.execute(TOTALS, without_indicator).fetchnumpy()
    if not len(totals["cell"]):
        raise no_tuples(subject, question)
    parts = Parts.of(np.unique(totals["cell"]), by)
    n_total = np.zeros((len(parts.cells), len(subject.models), 3), dtype=np.int64)
    place = parts.places_of(totals["cell"]), totals["model"]
    for column, name in enumerate(("n_tuples", "n_undefined", "n_near_ties")):
        n_total[*place, column] = totals[name]
    statement = COMMON_COUNTS if question.is_common else COUNTS
    rows = cursor.sql(statement, params=asked).to_arrow_table()
    columns = {name: rows[name].to_numpy() for name in rows.column_names}
    counts = _arranged(columns, scales, parts, parts.summed(n_total), question)
    if counts.n_defined.any():
        return counts
    return replace(
        counts, chance=np.full(len(parts), _chance_of_slice(cursor, asked, scales, question))
    )


@dataclass(frozen=True, slots=True)
class ShapeScale:
    """What turns the integers of one shape into values; paper: the footrule's, by the study."""

    footrule: int
    concordance: int
    paper: float
    chance: float
    paper_chance: float

    def chance_of(self, question: Question) -> float:
        """Level of chance of the indicator asked for, as it is shown."""
        if question.indicator != "footrule":
            return 0.0
        return self.paper_chance if question.dmax == "paper" else self.chance


def shapes(cursor: duckdb.DuckDBPyConnection) -> dict[int, ShapeScale]:
    """The scales of every shape of the store."""
    scales = {}
    for shape_id, m, largest, units, n_cross, chance in cursor.execute(SHAPES).fetchall():
        paper = units * paper_max_distance(m)
        paper_chance = 1 - (1 - chance) * largest / paper
        scales[shape_id] = ShapeScale(largest, n_cross, paper, chance, paper_chance)
    return scales


def _arranged(
    columns: dict[str, Any],
    scales: Mapping[int, ShapeScale],
    parts: Parts,
    n_total: IntArray,
    question: Question,
) -> ModelCounts:
    entries, entry = distinct_pairs(columns["shape_id"], columns["value"])
    size = (len(parts.cells), n_total.shape[1], len(entries))
    place = parts.places_of(columns["cell"]), columns["model"], entry
    cell_counts = counted(place, columns["n"], size)
    shown_counts = parts.summed(cell_counts)
    is_footrule = question.indicator == "footrule"
    of_entry = [scales[shape_id] for shape_id in entries[:, 0].tolist()]
    largest = np.array([s.footrule if is_footrule else s.concordance for s in of_entry], np.int64)
    axis = common_axis(largest - entries[:, 1] if is_footrule else entries[:, 1], largest)
    counts = np.zeros((*shown_counts.shape[:2], len(axis.values)), dtype=np.int64)
    for position, column in zip(axis.position.tolist(), range(len(entries)), strict=True):
        counts[..., position] += shown_counts[..., column]
    is_paper = is_footrule and question.dmax == "paper"
    paper = np.array([s.paper for s in of_entry])
    shown = 1 - entries[:, 1] / paper if is_paper else axis.values[axis.position]
    chance = [scale.chance_of(question) for scale in of_entry]
    return ModelCounts(
        parts,
        axis.values,
        counts,
        shown,
        shown_counts,
        cell_counts,
        counts.sum(axis=-1),
        n_total[..., 0],
        n_total[..., 1],
        n_total[..., 2],
        _mean_chance(shown_counts.sum(axis=1), np.array(chance, dtype=np.float64)),
    )


def _chance_of_slice(
    cursor: duckdb.DuckDBPyConnection,
    asked: dict[str, Any],
    scales: Mapping[int, ShapeScale],
    question: Question,
) -> float:
    """Level of chance where no tuple is defined: that of all the tuples of the slice."""
    slice_only = {name: asked[name] for name in ("sample", "years", "sections")}
    rows = cursor.execute(TUPLES_OF_SHAPE, slice_only).fetchall()
    total = sum(n * scales[shape_id].chance_of(question) for shape_id, n in rows)
    return float(total / max(1, sum(n for _, n in rows)))


def _mean_chance(counts: IntArray, chance: DoubleArray) -> DoubleArray:
    """Level of chance of each part: that of its shapes, weighted by their defined tuples."""
    total = counts.sum(axis=-1)
    weights = np.where(total[:, None] > 0, counts, counts.sum(axis=0))
    mean: DoubleArray = (weights @ chance) / np.maximum(1, weights.sum(axis=-1))
    return mean


def distinct_pairs(shape_ids: IntArray, numbers: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct (shape, number), ascending (D, 2), and which of them each row is (n,)."""
    if len(numbers) == 0:
        return np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)
    low = int(numbers.min())
    width = int(numbers.max()) - low + 1
    codes = shape_ids.astype(np.int64) * width + (numbers - low)
    if codes.max() < DIRECT_CODES:  # a table of all codes is faster than sorting the rows
        is_there = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
        is_there[codes] = True
        distinct, row = np.flatnonzero(is_there), (is_there.cumsum() - 1)[codes]
    else:
        distinct, row = np.unique(codes, return_inverse=True)
    return np.stack([distinct // width, distinct % width + low], axis=1), row


def counted(place: tuple[IntArray, ...], n: IntArray, size: tuple[int, ...]) -> IntArray:
    """An array of this size with n added up at each place.

    Shapes: place, one (n,) for each axis; n (n,), below 2 ** 53 in all -> size.
    """
    if not len(n):
        return np.zeros(size, dtype=np.int64)
    flat = np.ravel_multi_index(place, size)
    total = np.bincount(flat, weights=n, minlength=math.prod(size))
    return total.astype(np.int64).reshape(size)
