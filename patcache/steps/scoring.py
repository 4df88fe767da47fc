"""From vectors to distances and counts: what is missing for a sample and a spec, and no more."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patcache.errors import NotThere
from patcache.kernels import footrule
from patcache.kernels.cosine import dense_cosines, sparse_cosines
from patcache.records import Progress, Spec, TupleSet
from patcache.steps.needed import by_role
from patcache.steps.rows import spec_rows
from patcache.store.scores import (
    SampleSize,
    Scored,
    add_distances,
    add_scoring,
    finish_scores,
    n_scored,
    n_tuple_ids,
    pending_patents,
    pending_tuples,
    refuse_removed,
    sample_sizes,
    score_totals,
    scoring_id,
)
from patcache.store.specs import labelled_spec, specs
from patcache.store.texts import text_keys_of
from patcache.vectors.keys import first_of_each
from patcache.vectors.rows import AnyRows

if TYPE_CHECKING:
    import pyarrow as pa

    from patcache.records import FloatArray, IntArray
    from patcache.store import StoreFolder

WINDOW_TUPLES = 50_000  # in one transaction
CHUNK_TUPLES = 256
CHUNK_BYTES = 8 << 20  # about what the caches hold
SPARSE_CHUNK_TUPLES = 2048
NO_VECTOR = -1
NO_TEXT = -2  # nothing to encode: the tuple is undefined


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """What scoring one sample under one spec did.

    n_scored: tuples scored now. n_missing: texts without a vector; with any, nothing was scored.
    """

    sample: str
    label: str
    spec_id: str
    n_tuples: int
    n_scored: int = 0
    n_undefined: int = 0
    n_near_ties: int = 0
    n_missing: int = 0
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RowsOfPatents:
    """Which row holds the text of a patent, as target and as candidate.

    n_tuple_ids: the tuples these patents are of have ids below it; a sample may grow meanwhile.
    Shapes: both (largest patent_id + 1,); NO_VECTOR, NO_TEXT.
    """

    as_target: IntArray
    as_candidate: IntArray
    n_missing: int
    n_texts: int
    n_tuple_ids: int


def score(
    store: StoreFolder,
    *,
    samples: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    tie_tolerance: float = footrule.DEFAULT_TIE_TOLERANCE,
    progress: Progress | None = None,
) -> list[ScoreReport]:
    """Distances of every tuple of the samples (None: all) under the models (None: all stored).

    Goes on where an earlier run stopped; does nothing where all is done. A pair whose texts have
    no vectors yet is reported, and refused where the model was asked for by name.
    Errors: NotThere, VectorsDamaged; ValueError for a tolerance that is not 0 or more.
    """
    rule = scoring_id(tie_tolerance)
    with store.read() as cursor:
        sizes = sample_sizes(cursor, samples)
        wanted = specs(cursor) if models is None else [labelled_spec(cursor, m) for m in models]
    if not sizes or not wanted:
        what = "sample" if not sizes else "model"
        how = "patcache sample main" if not sizes else "patcache add tfidf"
        raise NotThere(f"there is no {what} to score", "this store has none yet", f"run `{how}`")
    pairs = [(size, spec) for size in sizes for spec in wanted]
    total = sum(size.n_tuples for size, _ in pairs)
    reports: list[ScoreReport] = []
    for size, spec in pairs:
        done = sum(report.n_tuples for report in reports)
        advance = _shifted(progress, done, total)
        scored = Scored(size.sample_id, spec.spec_id, rule)
        reports.append(_score_pair(store, size, spec, scored, tie_tolerance, advance))
    _refuse_unready(reports, is_named=models is not None)
    return reports


def _score_pair(
    store: StoreFolder,
    size: SampleSize,
    spec: Spec,
    scored: Scored,
    tie_tolerance: float,
    progress: Progress,
) -> ScoreReport:
    start = time.perf_counter()
    with store.read() as cursor:
        is_done = n_scored(cursor, scored) == size.n_tuples
    n_new = 0
    if not is_done:
        rows = spec_rows(store, spec)
        places = _rows_of_pending(store, size, scored, rows)
        if places.n_missing:
            return ScoreReport(
                size.name, spec.label, spec.spec_id, size.n_tuples, n_missing=places.n_missing
            )
        rows.read_ahead(places.n_texts)
        n_new = _score_pending(store, size, scored, rows, places, tie_tolerance, progress)
    progress(size.n_tuples, size.n_tuples)
    with store.read() as cursor:
        n_undefined, n_near_ties = score_totals(cursor, scored)
    return ScoreReport(
        size.name,
        spec.label,
        spec.spec_id,
        size.n_tuples,
        n_new,
        n_undefined,
        n_near_ties,
        elapsed_s=time.perf_counter() - start,
    )


def _score_pending(
    store: StoreFolder,
    size: SampleSize,
    scored: Scored,
    rows: AnyRows,
    places: RowsOfPatents,
    tie_tolerance: float,
    progress: Progress,
) -> int:
    """Number of tuples scored: windows in a transaction each, then all the counts in one.

    Errors: NotThere where the sample is removed meanwhile.
    """
    with store.write() as cursor:
        add_scoring(cursor, tie_tolerance)
    n_new = 0
    for start in range(0, places.n_tuple_ids, WINDOW_TUPLES):
        stop = min(start + WINDOW_TUPLES, places.n_tuple_ids)
        with store.read() as cursor:
            refuse_removed(cursor, size)
            pending = pending_tuples(cursor, scored, start, stop)
        if pending:
            table = _distances(pending, rows, places, tie_tolerance)
            with store.write() as cursor:
                refuse_removed(cursor, size)
                add_distances(cursor, scored, table)
            n_new += len(table)
        progress(stop, places.n_tuple_ids)
    with store.write() as cursor:
        refuse_removed(cursor, size)
        finish_scores(cursor, scored)
    return n_new


def _rows_of_pending(
    store: StoreFolder, size: SampleSize, scored: Scored, rows: AnyRows
) -> RowsOfPatents:
    """Where the texts of the tuples still to score are."""
    spec = rows.spec
    with store.read() as cursor:
        refuse_removed(cursor, size)
        n_ids = n_tuple_ids(cursor, scored.sample_id)
        patents, is_target = pending_patents(cursor, scored)
    width = int(patents.max(initial=-1)) + 1
    found = {role: np.full(width, NO_VECTOR, dtype=np.int64) for role in ("query", "document")}
    if spec.prompt("query") == spec.prompt("document"):
        patents, is_target = np.unique(patents), np.zeros(len(np.unique(patents)), dtype=np.bool_)
        found["query"] = found["document"]
    n_missing = 0
    for role, mine in by_role(is_target):
        with store.read() as cursor:
            keys, has_text = text_keys_of(cursor, spec.text_view, spec.prompt(role), patents[mine])
        at = np.where(has_text, rows.rows_of(keys), NO_TEXT)
        found[role][patents[mine]] = at
        n_missing += len(first_of_each(keys[at == NO_VECTOR]))
    return RowsOfPatents(found["query"], found["document"], n_missing, len(patents), n_ids)


def _distances(
    tuple_sets: Sequence[TupleSet], rows: AnyRows, places: RowsOfPatents, tie_tolerance: float
) -> pa.Table:
    """Rows for data.distances, whatever the shapes of the tuples."""
    import pyarrow as pa

    tables = []
    for tuples in tuple_sets:
        similarities = np.concatenate(list(_similarities(tuples, rows, places)))
        scores = footrule.score(similarities, tuples.shape, tie_tolerance)
        width = tuples.shape.n_candidates
        offsets = np.arange(0, similarities.size + 1, width, dtype=np.int32)
        undefined = ~scores.is_defined
        columns = {
            "tuple_id": pa.array(tuples.ids),
            "similarities": pa.ListArray.from_arrays(offsets, similarities.ravel()),
            "footrule": pa.array(scores.footrule, mask=undefined),
            "concordance": pa.array(scores.concordance, mask=undefined),
            "is_near_tie": pa.array(scores.is_near_tie),
        }
        tables.append(pa.table(columns))
    return pa.concat_tables(tables)


def _similarities(tuples: TupleSet, rows: AnyRows, places: RowsOfPatents) -> Iterator[FloatArray]:
    """Cosines (chunk, m), a chunk of tuples at a time; only their rows are read."""
    targets = places.as_target[tuples.targets]
    candidates = places.as_candidate[tuples.candidates]
    width = tuples.shape.n_candidates + 1
    size = max(1, min(CHUNK_TUPLES, CHUNK_BYTES // (4 * width * rows.spec.dim)))
    size = SPARSE_CHUNK_TUPLES if rows.spec.sparse else size
    for start in range(0, len(targets), size):
        wanted = np.column_stack([targets[start : start + size], candidates[start : start + size]])
        cosines = _cosines(rows, np.maximum(wanted, 0))
        is_absent = wanted == NO_TEXT
        cosines[is_absent[:, 1:] | is_absent[:, :1]] = np.nan
        yield cosines


def _cosines(rows: AnyRows, wanted: IntArray) -> FloatArray:
    """Shapes: wanted (T, 1 + m) rows, the target's first -> (T, m)."""
    if rows.n_rows == 0:  # not one of the texts has a word to encode
        return np.full((len(wanted), wanted.shape[1] - 1), np.nan, dtype=np.float32)
    if rows.spec.sparse:
        targets: Any = rows.gather(wanted[:, 0])
        candidates: Any = rows.gather(wanted[:, 1:].ravel())
        return sparse_cosines(targets, candidates)
    vectors = cast("FloatArray", rows.gather(wanted.ravel()))
    return dense_cosines(vectors.reshape(*wanted.shape, rows.spec.dim))


def _shifted(progress: Progress | None, done: int, total: int) -> Progress:
    """Progress of one part, told as progress of the whole."""

    def advance(part_done: int, _part_total: int) -> None:
        if progress is not None:
            progress(done + part_done, total)

    return advance


def _refuse_unready(reports: Sequence[ScoreReport], *, is_named: bool) -> None:
    unready = [report for report in reports if report.n_missing]
    if not unready or not (is_named or len(unready) == len(reports)):
        return
    first = unready[0]
    raise NotThere(
        f"{first.n_missing:,} texts of sample {first.sample} have no vectors of {first.label}",
        "" if len(unready) == 1 else f"and {len(unready) - 1} more pairs of sample and model",
        f"run `patcache embed {first.label} --sample {first.sample}` first",
    )
