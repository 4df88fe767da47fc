"""The one place where texts, models and vectors meet: each text is encoded once per spec, ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from patcache.embedders.base import AnyModel
from patcache.records import ModelRequest, Progress, Runtime, Spec
from patcache.steps.encoding import Done, Step, TextWork, Work
from patcache.steps.interrupts import Interrupts
from patcache.steps.loading import Loaded, Model, find_model, keep_fit, load_model
from patcache.steps.needed import Scope, find_scopes
from patcache.steps.pipeline import in_order, read_ahead
from patcache.steps.rows import spec_rows
from patcache.steps.work import AnyNeeded, find_needed, work_of
from patcache.store.jobs import running_job
from patcache.store.scores import refuse_removed
from patcache.store.specs import (
    Encoding,
    add_encodings,
    add_spec,
    find_spec,
    forget_encodings,
    is_record_of,
    mark_embedded,
    n_embedded,
    n_encoded,
    refuse_taken_label,
    remember_request,
)
from patcache.store.texts import patent_ids, sample_patents
from patcache.vectors.journal import Block as JournalBlock
from patcache.vectors.rows import AnyRows

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from patcache.store import StoreFolder


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What embedding one model did.

    label: the stored one; asked_label: the one asked for, another where the spec was there before.
    is_pairs: a scorer of pairs, whose texts below are pairs of texts and whose vectors are scores.
    n_texts: distinct texts asked for; None where the store's notes say that none can be missing.
    n_without_text: patents asked for whose text is empty; tuples with one stay undefined.
    """

    label: str
    asked_label: str
    spec_id: str
    dim: int
    n_stored: int
    n_texts: int | None = None
    n_without_text: int = 0
    n_encoded: int = 0
    n_truncated: int = 0
    elapsed_s: float = 0.0
    device: str | None = None
    max_tokens: int | None = None
    is_pairs: bool = False


def embed(
    store: StoreFolder,
    request: ModelRequest,
    *,
    samples: Sequence[str] | None = None,
    all_texts: bool = False,
    runtime: Runtime | None = None,
    refit: bool = False,
    embedder: AnyModel | None = None,
    progress: Progress | None = None,
) -> EmbedReport:
    """Gives every text of the samples (None: of all; all_texts: of the corpus) its vector.

    A scorer of pairs gives each pair of a target and a candidate its score instead. Nothing is
    loaded where nothing is missing. `embedder` is an object to use as it is; request then gives its
    label and the number of dimensions. Interrupted or killed, the same call goes on where it
    stopped.
    Errors: ModelRefused, NotThere without a sample, VectorsDamaged, VectorsBusy, WriteFailed.
    """
    scopes = find_scopes(store, samples, all_texts=all_texts)
    model = find_model(store, request, embedder, refit=refit)
    needed = None
    if model.spec is not None:
        rows = spec_rows(store, model.spec)
        scopes = _begun(store, model, rows, scopes)
        if (known := _done_spec(store, model, rows, scopes)) is not None:
            return _report(rows, model.label, known)
        needed = find_needed(store, model.spec, scopes)
        if rows.n_rows > 0 and len(rows.missing(needed.keys)) == 0:
            stored = _finish(store, model, rows, scopes)
            return _report(rows, model.label, stored, needed)
    with running_job(store, "embed", model.label, "texts", progress) as advance:
        fit_patents = _fit_patents(store, model, scopes)
        loaded = load_model(store, model, runtime or Runtime(), fit_patents, refit=refit)
        try:
            if needed is None or model.spec is None or loaded.spec.spec_id != model.spec.spec_id:
                scopes = [replace(scope, first=0) for scope in scopes]
                needed = find_needed(store, loaded.spec, scopes)
            return _encode_missing(store, model, loaded, needed, scopes, advance)
        finally:
            loaded.close()


def _encode_missing(
    store: StoreFolder,
    model: Model,
    loaded: Loaded,
    needed: AnyNeeded,
    scopes: Sequence[Scope],
    progress: Progress,
) -> EmbedReport:
    asked = model.asked(loaded.spec)
    with store.read() as cursor:
        refuse_taken_label(cursor, asked)
    rows = spec_rows(store, loaded.spec)
    work = work_of(store, loaded.embedder, needed)
    if isinstance(work, TextWork):
        work.check(rows.missing(work.keys))
    with rows.writing(store.busy_wait_s):
        keep_fit(loaded, rows.folder)
        with store.write() as cursor:
            _remember(cursor, model, rows)
        n_before = len(rows.blocks)
        try:
            _encode_blocks(work, rows, progress)
        finally:
            _record(store, rows)
        stored = _finish(store, model, rows, scopes)
    return _report(rows, asked.label, stored, needed, rows.blocks[n_before:])


def _encode_blocks(work: Work[Step], rows: AnyRows, progress: Progress) -> None:
    """Encodes what is missing, while the next block is read and the last one written.

    Errors: KeyboardInterrupt, once what was begun is on disk.
    """
    missing = rows.missing(work.keys)
    n_before = rows.n_rows
    with Interrupts() as interrupts:

        def encode(block: Step) -> Done | None:
            return None if interrupts.is_asked else work.encode(block)

        def write(done: Done | None) -> bool:
            if done is not None:
                rows.append(work.keys[done.positions], done.vectors, done.run)
            return done is not None

        prepared = in_order(work.prepare, read_ahead(work.blocks(missing)))
        # none ahead: a kill loses the block that is computed and the one that is written
        encoded = in_order(
            encode, prepared, threads=work.n_parallel, n_ahead=0, is_waited_for=False
        )
        for is_written in in_order(write, encoded):
            if not is_written:
                break
            progress(rows.n_rows - n_before, len(missing))
        interrupts.stop_if_asked()


def _fit_patents(store: StoreFolder, model: Model, scopes: Sequence[Scope]) -> NDArray[np.int32]:
    """Whose texts a fitted model would be made from: the corpus as it is now, or the samples."""
    none = np.empty(0, dtype=np.int32)
    if model.resolved is None or not model.resolved.is_fitted:
        return none
    with store.read() as cursor:
        if model.fit_on == "corpus":
            return patent_ids(cursor)
        ids = [sample_patents(cursor, s.sample_id)[0] for s in scopes if s.sample_id is not None]
    return np.unique(np.concatenate([none, *ids]))


def _begun(store: StoreFolder, model: Model, rows: AnyRows, scopes: Sequence[Scope]) -> list[Scope]:
    """The scopes with what, by the store's notes, has vectors already; no text is read."""
    asked = model.asked(rows.spec)
    with store.read() as cursor:
        if not _is_recorded(cursor, rows):
            return list(scopes)
        return [
            replace(scope, first=n_embedded(cursor, asked.spec_id, scope.sample_id, rows.n_rows))
            for scope in scopes
        ]


def _done_spec(
    store: StoreFolder, model: Model, rows: AnyRows, scopes: Sequence[Scope]
) -> Spec | None:
    """The stored spec where nothing can be missing."""
    if any(scope.first < scope.n_tuples for scope in scopes):
        return None
    with store.read() as cursor:
        return find_spec(cursor, model.asked(rows.spec).spec_id)


def _remember(cursor: duckdb.DuckDBPyConnection, model: Model, rows: AnyRows) -> Spec:
    """Makes the spec that was asked for known; as the store has it from then on."""
    stored = add_spec(cursor, model.asked(rows.spec), model.source, model.key)
    if model.whole_key is not None:
        remember_request(cursor, model.whole_key, rows.spec.spec_id)
    return stored


def _finish(store: StoreFolder, model: Model, rows: AnyRows, scopes: Sequence[Scope]) -> Spec:
    """Notes that the scopes are embedded; the spec under its stored label."""
    _record(store, rows)
    with store.write() as cursor:
        stored = _remember(cursor, model, rows)
        for scope in scopes:
            if scope.sample is not None:
                refuse_removed(cursor, scope.sample)
            mark_embedded(cursor, stored.spec_id, scope.sample_id, scope.n_tuples, rows.n_rows)
    return stored


def _record(store: StoreFolder, rows: AnyRows) -> None:
    """Catches data.encodings up with the journal, what a killed run finished included.

    What was noted of other vectors is forgotten.
    """
    with store.write() as cursor:
        if not _is_recorded(cursor, rows):
            forget_encodings(cursor, rows.spec.spec_id)
        recorded = n_encoded(cursor, rows.spec.spec_id)
        new = [block for block in rows.blocks if block.start >= recorded]
        add_encodings(cursor, rows.spec.spec_id, _runs(new))


def _is_recorded(cursor: duckdb.DuckDBPyConnection, rows: AnyRows) -> bool:
    started_at = rows.blocks[0].run.started_at if rows.blocks else None
    return is_record_of(cursor, rows.spec.spec_id, rows.n_rows, started_at)


def _runs(blocks: Sequence[JournalBlock]) -> list[Encoding]:
    """One run for each stretch of blocks of one device."""
    stretches = [list(group) for _, group in groupby(blocks, key=lambda block: block.run.device)]
    return [
        Encoding(
            started_at=stretch[0].run.started_at,
            n_texts=stretch[-1].stop - stretch[0].start,
            n_truncated=sum(block.run.n_truncated for block in stretch),
            elapsed_s=sum(block.run.elapsed_s for block in stretch),
            device=stretch[0].run.device,
            provenance=stretch[0].run.provenance or {},
        )
        for stretch in stretches
    ]


def _report(
    rows: AnyRows,
    asked_label: str,
    stored: Spec,
    needed: AnyNeeded | None = None,
    blocks: Sequence[JournalBlock] = (),
) -> EmbedReport:
    return EmbedReport(
        label=stored.label,
        asked_label=asked_label,
        spec_id=stored.spec_id,
        dim=stored.dim,
        n_stored=rows.n_rows,
        n_texts=None if needed is None else len(needed.keys),
        n_without_text=0 if needed is None else needed.n_without_text,
        n_encoded=sum(block.stop - block.start for block in blocks),
        n_truncated=sum(block.run.n_truncated for block in blocks),
        elapsed_s=sum(block.run.elapsed_s for block in blocks),
        device=blocks[-1].run.device if blocks else None,
        max_tokens=stored.identity.get("max_tokens"),
        is_pairs=stored.is_pairs,
    )
