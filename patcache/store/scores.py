"""Distances of tuples, and the counts made from them: written in pieces, finished in one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import NotThere
from patcache.hashing import settings_digest
from patcache.records import Shape, TupleSet
from patcache.store.samples import sample_id

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from numpy.typing import NDArray

RULE_VERSION = 1
SIZES = """
SELECT s.sample_id, s.name, count(t.tuple_id) AS n_tuples, epoch_us(s.created_at) AS created_us
FROM data.samples s LEFT JOIN data.tuples t USING (sample_id)
GROUP BY ALL ORDER BY s.sample_id"""
SAME_SAMPLE = "SELECT 1 FROM data.samples WHERE sample_id = ? AND epoch_us(created_at) = ?"
FORGET_SCORING = "DELETE FROM data.scorings WHERE scoring_id = ?"
ADD_SCORING = "INSERT INTO data.scorings VALUES (?, ?, ?)"
SCORED = """
SELECT n_tuples FROM data.scores WHERE sample_id = ? AND spec_id = ? AND scoring_id = ?"""
PENDING = """
SELECT t.tuple_id, t.shape_id, t.target, t.candidates, t.year, t.section
FROM data.tuples t
WHERE t.sample_id = ? AND t.tuple_id >= ? AND t.tuple_id < ?
AND NOT EXISTS (
    FROM data.distances d
    WHERE d.sample_id = t.sample_id AND d.tuple_id = t.tuple_id
    AND d.spec_id = ? AND d.scoring_id = ? AND d.tuple_id >= ? AND d.tuple_id < ?)
ORDER BY t.tuple_id"""
PENDING_PATENTS = """
WITH pending AS (
    SELECT target, candidates FROM data.tuples t
    WHERE t.sample_id = ?
    AND NOT EXISTS (
        FROM data.distances d
        WHERE d.sample_id = t.sample_id AND d.tuple_id = t.tuple_id
        AND d.spec_id = ? AND d.scoring_id = ?))
SELECT DISTINCT patent_id, is_target FROM (
    SELECT target AS patent_id, true AS is_target FROM pending
    UNION ALL SELECT unnest(candidates), false FROM pending)
ORDER BY patent_id"""
LAST_TUPLE = "SELECT coalesce(max(tuple_id) + 1, 0) FROM data.tuples WHERE sample_id = ?"
SHAPES = "SELECT shape_id, levels FROM data.shapes"
# Another process may have scored the same tuples since: its rows stand.
ADD_DISTANCES = """
INSERT INTO data.distances
SELECT ?, r.tuple_id, ?, ?, r.similarities, r.footrule, r.concordance, r.is_near_tie
FROM scored r
WHERE NOT EXISTS (
    FROM data.distances d
    WHERE d.sample_id = ? AND d.spec_id = ? AND d.scoring_id = ? AND d.tuple_id = r.tuple_id
    AND d.tuple_id BETWEEN (SELECT min(tuple_id) FROM scored)
                       AND (SELECT max(tuple_id) FROM scored))
ORDER BY r.tuple_id"""
FORGET = "DELETE FROM data.{table} WHERE sample_id = ? AND spec_id = ? AND scoring_id = ?"
FORGET_DIFFERENCES = """
DELETE FROM data.difference_counts
WHERE sample_id = ? AND scoring_id = ? AND (spec_a = ? OR spec_b = ?)"""
ADD_TOTALS = """
INSERT INTO data.cell_totals
SELECT d.sample_id, d.spec_id, d.scoring_id, t.year, t.section, count(*),
       count(*) FILTER (d.footrule IS NULL), count(*) FILTER (d.is_near_tie)
FROM data.distances d JOIN data.tuples t USING (sample_id, tuple_id)
WHERE d.sample_id = ? AND d.spec_id = ? AND d.scoring_id = ?
GROUP BY ALL ORDER BY t.year, t.section"""
ADD_COUNTS = """
INSERT INTO data.counts
WITH valued AS (
    SELECT d.sample_id, d.spec_id, d.scoring_id, t.year, t.section, t.shape_id,
           unnest(['footrule', 'concordance']) AS indicator,
           unnest([d.footrule, d.concordance]) AS value
    FROM data.distances d JOIN data.tuples t USING (sample_id, tuple_id)
    WHERE d.sample_id = ? AND d.spec_id = ? AND d.scoring_id = ? AND d.footrule IS NOT NULL)
SELECT sample_id, spec_id, scoring_id, indicator, year, section, shape_id, value, count(*)
FROM valued GROUP BY ALL ORDER BY indicator, year, section, shape_id, value"""
ADD_DIFFERENCES = """
INSERT INTO data.difference_counts
WITH paired AS (
    SELECT a.sample_id, a.spec_id AS mine, b.spec_id AS other, a.scoring_id,
           t.year, t.section, t.shape_id,
           unnest(['footrule', 'concordance']) AS indicator,
           unnest([a.footrule - b.footrule, a.concordance - b.concordance]) AS difference
    FROM data.distances a
    JOIN data.distances b USING (sample_id, tuple_id, scoring_id)
    JOIN data.tuples t USING (sample_id, tuple_id)
    WHERE a.sample_id = ? AND a.spec_id = ? AND a.scoring_id = ? AND b.spec_id <> a.spec_id
    AND a.footrule IS NOT NULL AND b.footrule IS NOT NULL
    AND b.spec_id IN (SELECT spec_id FROM data.scores WHERE sample_id = ? AND scoring_id = ?))
SELECT sample_id, least(mine, other), greatest(mine, other), scoring_id,
       indicator, year, section, shape_id,
       if(mine < other, difference, -difference) AS signed, count(*)
FROM paired GROUP BY ALL ORDER BY ALL"""
N_DISTANCES = """
SELECT count(*) FROM data.distances WHERE sample_id = ? AND spec_id = ? AND scoring_id = ?"""
TOTALS = """
SELECT coalesce(sum(n_undefined), 0), coalesce(sum(n_near_ties), 0) FROM data.cell_totals
WHERE sample_id = ? AND spec_id = ? AND scoring_id = ?"""
ADD_SCORES = "INSERT INTO data.scores VALUES (?, ?, ?, ?, now())"


@dataclass(frozen=True, slots=True)
class SampleSize:
    """A sample, how many tuples it has, and when it was made: ids are used again."""

    sample_id: int
    name: str
    n_tuples: int
    created_us: int


@dataclass(frozen=True, slots=True)
class Scored:
    """What is scored: one sample under one spec, by one rule."""

    sample_id: int
    spec_id: str
    scoring_id: str

    @property
    def key(self) -> list[Any]:
        return [self.sample_id, self.spec_id, self.scoring_id]


def sample_sizes(
    cursor: duckdb.DuckDBPyConnection, names: Sequence[str] | None
) -> list[SampleSize]:
    """The named samples in the order asked for (None: all). Errors: NotThere for an unknown one."""
    found = {row[1]: SampleSize(*row) for row in cursor.execute(SIZES).fetchall()}
    for name in names or ():
        sample_id(cursor, name)  # says which there are, if this one is not
    return list(found.values()) if names is None else [found[name] for name in dict.fromkeys(names)]


def refuse_removed(cursor: duckdb.DuckDBPyConnection, size: SampleSize) -> None:
    """Errors: NotThere where the sample was removed since, and perhaps another has its id."""
    if not cursor.execute(SAME_SAMPLE, [size.sample_id, size.created_us]).fetchall():
        raise NotThere(
            f"sample {size.name} was removed meanwhile",
            "another process or thread did so while this one worked on it",
        )


def scoring_id(tie_tolerance: float) -> str:
    """The id of the rule that turns similarities into distances; 0, 0.0 and -0.0 are one.

    Errors: ValueError for a tolerance that is not 0 or more.
    """
    if not (math.isfinite(tie_tolerance) and tie_tolerance >= 0):
        raise ValueError(f"a tie tolerance of {tie_tolerance} is not 0 or more")
    return settings_digest({"rule": RULE_VERSION, "tie_tolerance": float(tie_tolerance) + 0.0})


def add_scoring(cursor: duckdb.DuckDBPyConnection, tie_tolerance: float) -> str:
    """The id of a rule that the store knows from now on."""
    identity = scoring_id(tie_tolerance)
    cursor.execute(FORGET_SCORING, [identity])
    cursor.execute(ADD_SCORING, [identity, RULE_VERSION, tie_tolerance])
    return identity


def n_scored(cursor: duckdb.DuckDBPyConnection, scored: Scored) -> int | None:
    """Tuples that the kept counts stand for; None where there are no counts yet."""
    row = cursor.execute(SCORED, scored.key).fetchone()
    return int(row[0]) if row else None


def n_tuple_ids(cursor: duckdb.DuckDBPyConnection, sample_id: int) -> int:
    """One more than the largest tuple_id of a sample."""
    return int(cursor.execute(LAST_TUPLE, [sample_id]).fetchall()[0][0])


def pending_patents(
    cursor: duckdb.DuckDBPyConnection, scored: Scored
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The distinct (patent, is a target) of tuples that have no distance yet."""
    columns = cursor.execute(PENDING_PATENTS, scored.key).fetchnumpy()
    return np.asarray(columns["patent_id"], np.int32), np.asarray(columns["is_target"], np.bool_)


def pending_tuples(
    cursor: duckdb.DuckDBPyConnection, scored: Scored, start: int, stop: int
) -> list[TupleSet]:
    """Tuples start..stop (excluded) that have no distance yet, by shape."""
    span = [start, stop]
    values = [scored.sample_id, *span, scored.spec_id, scored.scoring_id, *span]
    table = cursor.sql(PENDING, params=values).to_arrow_table()
    shapes = {row[0]: Shape(tuple(row[1])) for row in cursor.execute(SHAPES).fetchall()}
    shape_ids = table["shape_id"].to_numpy()
    return [
        _tuple_set(table.filter(_equal(table["shape_id"], shape_id)), shapes[int(shape_id)])
        for shape_id in np.unique(shape_ids)
    ]


def add_distances(cursor: duckdb.DuckDBPyConnection, scored: Scored, rows: pa.Table) -> None:
    """Adds distances: tuple_id, similarities, footrule, concordance, is_near_tie."""
    cursor.register("scored", rows)
    cursor.execute(ADD_DISTANCES, [*scored.key, *scored.key])


def score_totals(cursor: duckdb.DuckDBPyConnection, scored: Scored) -> tuple[int, int]:
    """How many tuples are undefined, and how many have a near-tie."""
    row = cursor.execute(TOTALS, scored.key).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def finish_scores(cursor: duckdb.DuckDBPyConnection, scored: Scored) -> None:
    """Makes all the counts that stand for the distances there are, in place of earlier ones."""
    for table in ("cell_totals", "counts", "scores"):
        cursor.execute(FORGET.format(table=table), scored.key)
    sample_id, spec_id, rule = scored.key
    cursor.execute(FORGET_DIFFERENCES, [sample_id, rule, spec_id, spec_id])
    row = cursor.execute(N_DISTANCES, scored.key).fetchone()
    n_tuples = int(row[0]) if row else 0
    cursor.execute(ADD_TOTALS, scored.key)
    cursor.execute(ADD_COUNTS, scored.key)
    cursor.execute(ADD_DIFFERENCES, [*scored.key, sample_id, rule])
    cursor.execute(ADD_SCORES, [*scored.key, n_tuples])


def _tuple_set(table: pa.Table, shape: Shape) -> TupleSet:
    candidates = table["candidates"].combine_chunks().flatten()
    return TupleSet(
        shape=shape,
        ids=table["tuple_id"].to_numpy().astype(np.int64),
        targets=table["target"].to_numpy().astype(np.int32),
        candidates=np.asarray(candidates, np.int32).reshape(-1, shape.n_candidates),
        years=table["year"].to_numpy().astype(np.int16),
        sections=np.asarray(table["section"].to_pylist(), dtype=np.str_),
    )


def _equal(column: pa.ChunkedArray, value: int) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.equal(column, int(value))
