"""How often each value occurs, per model and part of a slice: all that the tests need."""

from __future__ import annotations

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
# A part as one number, 128 years + letter of the section, 0 for what the part does not say.
PART_OF = """(CASE WHEN $by IN ('year', 'cell') THEN 128 * {0}.year::INTEGER ELSE 0 END
  + CASE WHEN $by IN ('section', 'cell') THEN ascii({0}.section) ELSE 0 END)::BIGINT AS part"""
MODEL_OF = "list_position($specs, {0}.{1})::BIGINT - 1"
SHAPES = """
SELECT shape_id, len(levels), units_per_rank * max_distance, units_per_rank, n_cross_pairs, chance
FROM data.shapes"""
TOTALS = f"""
SELECT {MODEL_OF.format("c", "spec_id")} AS model, {PART_OF.format("c")},
  sum(c.n_tuples)::BIGINT AS n_tuples, sum(c.n_undefined)::BIGINT AS n_undefined,
  sum(c.n_near_ties)::BIGINT AS n_near_ties
FROM data.cell_totals c
WHERE c.sample_id = $sample AND c.scoring_id = $scoring AND list_contains($specs, c.spec_id)
  AND {IN_SLICE.format("c")}
GROUP BY ALL"""
COUNTS = f"""
SELECT {MODEL_OF.format("c", "spec_id")} AS model, {PART_OF.format("c")},
  c.shape_id, c.value, sum(c.n)::BIGINT AS n
FROM data.counts c
WHERE c.sample_id = $sample AND c.scoring_id = $scoring AND c.indicator = $indicator
  AND list_contains($specs, c.spec_id) AND {IN_SLICE.format("c")}
GROUP BY ALL"""
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
SELECT {MODEL_OF.format("v", "spec_id")} AS model, {PART_OF.format("v")},
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
        """The part that PART_OF writes as this number."""
        return cls(number // 128 or None, chr(number % 128) if number % 128 else None)


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """Counts of P parts and M models over V values, and what else a view must show.

    Shapes: counts (P, M, V) over values (V,), ascending, larger is better, for the tests;
    shown_counts (P, M, E) over shown (E,), the same values as they are displayed; n_defined,
    the sums of counts, n_tuples, n_undefined, n_near_ties (P, M); chance (P,). part_numbers (P,):
    the parts as statements write them, ascending.
    """

    part_numbers: IntArray
    values: DoubleArray
    counts: IntArray
    shown: DoubleArray
    shown_counts: IntArray
    n_defined: IntArray
    n_tuples: IntArray
    n_undefined: IntArray
    n_near_ties: IntArray
    chance: DoubleArray

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(map(Part.of_number, self.part_numbers.tolist()))


def parameters(subject: Subject, question: Question, by: By) -> dict[str, Any]:
    """The named parameters that every statement about a slice takes."""
    return {
        "sample": subject.sample_id,
        "scoring": question.scoring_id,
        "indicator": question.indicator,
        "specs": [model.spec_id for model in subject.models],
        "years": None if question.years is None else list(question.years),
        "sections": None if question.sections is None else list(question.sections),
        "by": by,
    }


def model_counts(
    cursor: duckdb.DuckDBPyConnection, subject: Subject, question: Question, by: By = "all"
) -> ModelCounts:
    """The counts of a slice, whole or by year, section or cell.

    Errors: NotThere for a slice without tuples.
    """
    asked = parameters(subject, question, by)
    without_indicator = {name: asked[name] for name in asked if name != "indicator"}
    totals = cursor.execute(TOTALS, without_indicator).fetchnumpy()
    if not len(totals["part"]):
        raise NotThere(
            f"sample {subject.sample} has no tuples in this slice",
            slice_words(question),
            "widen --years or --sections; `patcache shortages` shows what each cell has",
        )
    numbers = np.unique(totals["part"])
    n_total = np.zeros((3, len(numbers), len(subject.models)), dtype=np.int64)
    place = np.searchsorted(numbers, totals["part"]), totals["model"]
    for total, name in zip(n_total, ("n_tuples", "n_undefined", "n_near_ties"), strict=True):
        total[place] = totals[name]
    columns = cursor.execute(COMMON_COUNTS if question.is_common else COUNTS, asked).fetchnumpy()
    counts = _arranged(columns, shapes(cursor), numbers, n_total, question)
    if counts.n_defined.any():
        return counts
    return replace(counts, chance=np.full(len(numbers), _chance_of_slice(cursor, asked, question)))


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
    scales: dict[int, ShapeScale],
    part_numbers: IntArray,
    n_total: IntArray,
    question: Question,
) -> ModelCounts:
    part = np.searchsorted(part_numbers, columns["part"])
    pairs = np.stack([columns["shape_id"], columns["value"]], axis=1).astype(np.int64)
    entries, entry = distinct_pairs(pairs)
    size = n_total.shape[1:]
    shown_counts = np.zeros((*size, len(entries)), dtype=np.int64)
    np.add.at(shown_counts, (part, columns["model"], entry), columns["n"].astype(np.int64))
    is_footrule = question.indicator == "footrule"
    of_entry = [scales[shape_id] for shape_id in entries[:, 0].tolist()]
    largest = np.array([s.footrule if is_footrule else s.concordance for s in of_entry], np.int64)
    axis = common_axis(largest - entries[:, 1] if is_footrule else entries[:, 1], largest)
    counts = np.zeros((*size, len(axis.values)), dtype=np.int64)
    for position, column in zip(axis.position.tolist(), range(len(entries)), strict=True):
        counts[..., position] += shown_counts[..., column]
    is_paper = is_footrule and question.dmax == "paper"
    paper = np.array([s.paper for s in of_entry])
    shown = 1 - entries[:, 1] / paper if is_paper else axis.values[axis.position]
    chance = [scale.chance_of(question) for scale in of_entry]
    return ModelCounts(
        part_numbers,
        axis.values,
        counts,
        shown,
        shown_counts,
        counts.sum(axis=-1),
        n_total[0],
        n_total[1],
        n_total[2],
        _mean_chance(shown_counts.sum(axis=1), np.array(chance, dtype=np.float64)),
    )


def _chance_of_slice(
    cursor: duckdb.DuckDBPyConnection, asked: dict[str, Any], question: Question
) -> float:
    """Level of chance where no tuple is defined: that of all the tuples of the slice."""
    slice_only = {name: asked[name] for name in ("sample", "years", "sections")}
    rows = cursor.execute(TUPLES_OF_SHAPE, slice_only).fetchall()
    scales = shapes(cursor)
    total = sum(n * scales[shape_id].chance_of(question) for shape_id, n in rows)
    return float(total / max(1, sum(n for _, n in rows)))


def _mean_chance(counts: IntArray, chance: DoubleArray) -> DoubleArray:
    """Level of chance of each part: that of its shapes, weighted by their defined tuples."""
    total = counts.sum(axis=-1)
    weights = np.where(total[:, None] > 0, counts, counts.sum(axis=0))
    mean: DoubleArray = (weights @ chance) / np.maximum(1, weights.sum(axis=-1))
    return mean


def distinct_pairs(pairs: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct rows of (n, 2) whole numbers, ascending, and which of them each row is (n,)."""
    if len(pairs) == 0:
        return pairs, np.zeros(0, dtype=np.int64)
    low = pairs[:, 1].min()
    width = pairs[:, 1].max() - low + 1
    numbers, row = np.unique(pairs[:, 0] * width + (pairs[:, 1] - low), return_inverse=True)
    return np.stack([numbers // width, numbers % width + low], axis=1), row
