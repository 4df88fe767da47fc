"""From vectors to distances and counts: what is missing for a sample and a spec, and no more.

Similarities are cosines of vectors; those of a scorer of pairs are its scores as they are. The
tie tolerance is the same absolute one for both.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import NotThere
from patcache.kernels import footrule
from patcache.records import Progress, Spec, TupleSet
from patcache.steps.rows import spec_rows
from patcache.steps.similarities import Pending, find_pending
from patcache.store.jobs import running_job
from patcache.store.scores import (
    SampleSize,
    Scored,
    add_distances,
    add_scoring,
    finish_scores,
    n_scored,
    pending_tuples,
    refuse_removed,
    sample_sizes,
    score_totals,
    scoring_id,
)
from patcache.store.specs import labelled_spec, specs

if TYPE_CHECKING:
    import pyarrow as pa

    from patcache.store import StoreFolder

WINDOW_TUPLES = 50_000  # in one transaction


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """What scoring one sample under one spec did.

    n_scored: tuples scored now. n_missing: texts without a vector, or of a scorer of pairs, pairs
    without a score; with any, nothing was scored.
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
    is_pairs: bool = False


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
    subject = ", ".join(spec.label for spec in wanted)
    with running_job(store, "score", subject, "tuples", progress) as advance:
        for size, spec in pairs:
            done = sum(report.n_tuples for report in reports)
            part = _shifted(advance, done, total)
            scored = Scored(size.sample_id, spec.spec_id, rule)
            reports.append(_score_pair(store, size, spec, scored, tie_tolerance, part))
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
        pending = find_pending(store, size, scored, rows)
        if pending.n_missing:
            return ScoreReport(
                size.name,
                spec.label,
                spec.spec_id,
                size.n_tuples,
                n_missing=pending.n_missing,
                is_pairs=spec.is_pairs,
            )
        rows.read_ahead(pending.n_wanted)
        n_new = _score_pending(store, size, scored, pending, tie_tolerance, progress)
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
        is_pairs=spec.is_pairs,
    )


def _score_pending(
    store: StoreFolder,
    size: SampleSize,
    scored: Scored,
    pending: Pending,
    tie_tolerance: float,
    progress: Progress,
) -> int:
    """Number of tuples scored: windows in a transaction each, then all the counts in one.

    Errors: NotThere where the sample is removed meanwhile.
    """
    with store.write() as cursor:
        add_scoring(cursor, tie_tolerance)
    n_new = 0
    for start in range(0, pending.n_tuple_ids, WINDOW_TUPLES):
        stop = min(start + WINDOW_TUPLES, pending.n_tuple_ids)
        with store.read() as cursor:
            refuse_removed(cursor, size)
            tuple_sets = pending_tuples(cursor, scored, start, stop)
        if tuple_sets:
            table = _distances(tuple_sets, pending, tie_tolerance)
            with store.write() as cursor:
                refuse_removed(cursor, size)
                add_distances(cursor, scored, table)
            n_new += len(table)
        progress(stop, pending.n_tuple_ids)
    with store.write() as cursor:
        refuse_removed(cursor, size)
        finish_scores(cursor, scored)
    return n_new


def _distances(tuple_sets: Sequence[TupleSet], pending: Pending, tie_tolerance: float) -> pa.Table:
    """Rows for data.distances, whatever the shapes of the tuples."""
    import pyarrow as pa

    tables = []
    for tuples in tuple_sets:
        similarities = np.concatenate(list(pending.similarities(tuples)))
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


def _shifted(progress: Progress, done: int, total: int) -> Progress:
    """Progress of one part, told as progress of the whole."""
    return lambda part_done, _part_total: progress(done + part_done, total)


def _refuse_unready(reports: Sequence[ScoreReport], *, is_named: bool) -> None:
    unready = [report for report in reports if report.n_missing]
    if not unready or not (is_named or len(unready) == len(reports)):
        return
    first = unready[0]
    what, kept = ("pairs", "score") if first.is_pairs else ("texts", "vectors")
    raise NotThere(
        f"{first.n_missing:,} {what} of sample {first.sample} have no {kept} of {first.label}",
        "" if len(unready) == 1 else f"and {len(unready) - 1} more pairs of sample and model",
        f"run `patcache embed {first.label} --sample {first.sample}` first",
    )
