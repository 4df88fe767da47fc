"""The similarities of a slice as they are stored, piece by piece: memory does not grow with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.queries.counts import COMMON_TUPLES, IN_SLICE, MODEL_OF, parameters
from patcache.queries.wording import named, slice_words
from patcache.records import Shape
from patcache.store.scores import n_tuple_ids

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from numpy.typing import NDArray

    from patcache.queries.comparison import Comparison
    from patcache.queries.question import Question, Subject

WINDOW_TUPLES = 32_768  # of every model at a time
LEVELS = "SELECT shape_id, levels FROM data.shapes"
PAIR_SCORERS = """
SELECT spec_id FROM data.specs
WHERE list_contains(?, spec_id) AND coalesce((identity->>'pairs')::BOOLEAN, false)"""
OF_MODELS = f"""
SELECT {MODEL_OF.format("d", "spec_id")} AS model, t.shape_id, d.similarities
FROM data.tuples t JOIN data.distances d USING (sample_id, tuple_id)
WHERE t.sample_id = $sample AND d.scoring_id = $scoring AND list_contains($specs, d.spec_id)
  AND d.footrule IS NOT NULL AND {IN_SLICE.format("t")}
  AND d.tuple_id >= $start AND d.tuple_id < $stop"""
OF_COMMON_TUPLES = f"""{COMMON_TUPLES}
SELECT {MODEL_OF.format("d", "spec_id")} AS model, c.shape_id, d.similarities
FROM common c JOIN data.distances d ON d.sample_id = $sample AND d.tuple_id = c.tuple_id
WHERE d.scoring_id = $scoring AND list_contains($specs, d.spec_id)
  AND d.tuple_id >= $start AND d.tuple_id < $stop"""


@dataclass(frozen=True, slots=True)
class Block:
    """Similarities (T, m) that one model gives to the candidates of T tuples of one shape."""

    model: int
    shape: Shape
    similarities: NDArray[np.float32]


def blocks(
    cursor: duckdb.DuckDBPyConnection, subject: Subject, question: Question
) -> Iterator[Block]:
    """All similarities of a slice, in gold order; undefined tuples are left out."""
    asked = parameters(subject, question)
    if not question.is_common:
        del asked["indicator"]
    statement = OF_COMMON_TUPLES if question.is_common else OF_MODELS
    shapes = {row[0]: Shape(tuple(row[1])) for row in cursor.execute(LEVELS).fetchall()}
    for start in range(0, n_tuple_ids(cursor, subject.sample_id), WINDOW_TUPLES):
        window = {"start": start, "stop": start + WINDOW_TUPLES}
        yield from _blocks_of(cursor.sql(statement, params=asked | window).to_arrow_table(), shapes)


def pair_scorers(cursor: duckdb.DuckDBPyConnection, subject: Subject) -> frozenset[int]:
    """Models of the subject that score pairs of texts: their similarities are no cosines."""
    specs = [model.spec_id for model in subject.models]
    found = cursor.execute(PAIR_SCORERS, [specs]).fetchall()
    return frozenset(specs.index(row[0]) for row in found)


def about(comparison: Comparison) -> str:
    """What a listing of similarities is of: sample, tuples, slice."""
    n_tuples = int(comparison.counts.n_tuples.max(axis=1).sum())
    sample = comparison.subject.sample
    return f"sample {sample} · {n_tuples:,} tuples · {slice_words(comparison.question)}"


def undefined_notes(comparison: Comparison) -> list[str]:
    """That undefined tuples are left out, and how many of which model."""
    n_undefined = comparison.counts.n_undefined.sum(axis=0).tolist()
    left_out = [f"{comparison.labels[i]} {n:,}" for i, n in enumerate(n_undefined) if n]
    notes = [f"undefined tuples left out: {named(left_out)}"] if left_out else []
    return notes + (
        ["only tuples defined for every model"] if comparison.question.is_common else []
    )


def _blocks_of(table: pa.Table, shapes: dict[int, Shape]) -> Iterator[Block]:
    model, shape_id = table["model"].to_numpy(), table["shape_id"].to_numpy()
    lists = table["similarities"].combine_chunks()
    starts, flat = lists.offsets.to_numpy()[:-1], lists.values.to_numpy()
    kind = model.astype(np.int64) * (max(shapes) + 1) + shape_id
    for one in np.unique(kind).tolist():
        of_model, of_shape = divmod(one, max(shapes) + 1)
        places = starts[kind == one, None] + np.arange(shapes[of_shape].n_candidates)
        yield Block(of_model, shapes[of_shape], flat[places])
