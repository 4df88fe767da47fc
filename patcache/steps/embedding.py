"""The one place where texts, models and vectors meet: each text is encoded once per spec, ever."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Embedder, Encoded
from patcache.records import ModelRequest, Progress, Runtime, Spec
from patcache.steps.interrupts import Interrupts
from patcache.steps.loading import Loaded, Model, find_model, keep_fit, load_model
from patcache.steps.needed import Needed, Scope, blocks_of, by_role, find_scopes, needed_texts
from patcache.steps.rows import spec_rows
from patcache.store.scores import refuse_removed
from patcache.store.specs import (
    Encoding,
    add_encodings,
    add_spec,
    find_spec,
    forget_encodings,
    is_embedded,
    is_record_of,
    mark_embedded,
    n_encoded,
    refuse_taken_label,
)
from patcache.store.texts import patent_ids, sample_patents
from patcache.vectors.journal import Block, Run
from patcache.vectors.rows import AnyRows

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from patcache.records import BoolArray, IntArray
    from patcache.store import StoreFolder


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What embedding one model did.

    label: the stored one; asked_label: the one asked for, another where the spec was there before.
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


def embed(
    store: StoreFolder,
    request: ModelRequest,
    *,
    samples: Sequence[str] | None = None,
    all_texts: bool = False,
    runtime: Runtime | None = None,
    refit: bool = False,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> EmbedReport:
    """Gives every text of the samples (None: of all; all_texts: of the corpus) its vector.

    Nothing is loaded where nothing is missing. `embedder` is an object to use as it is; request
    then only gives its label. Interrupted or killed, the same call goes on where it stopped.
    Errors: ModelRefused, NotThere without a sample, VectorsDamaged, VectorsBusy.
    """
    scopes = find_scopes(store, samples, all_texts=all_texts)
    model = find_model(store, request, embedder, refit=refit)
    needed = None
    if model.spec is not None:
        rows = spec_rows(store, model.spec)
        if (known := _done_spec(store, rows, scopes)) is not None:
            return _report(rows, model.label, known)
        needed = needed_texts(store, model.spec, scopes)
        if rows.n_rows > 0 and len(rows.missing(needed.keys)) == 0:
            stored = _finish(store, model, rows, scopes)
            return _report(rows, model.label, stored, needed)
    fit_patents = _fit_patents(store, model, scopes)
    loaded = load_model(store, model, runtime or Runtime(), fit_patents, refit=refit)
    if needed is None or model.spec is None or loaded.spec.spec_id != model.spec.spec_id:
        needed = needed_texts(store, loaded.spec, scopes)
    return _encode_missing(store, model, loaded, needed, scopes, progress)


def _encode_missing(
    store: StoreFolder,
    model: Model,
    loaded: Loaded,
    needed: Needed,
    scopes: Sequence[Scope],
    progress: Progress | None,
) -> EmbedReport:
    with store.read() as cursor:
        refuse_taken_label(cursor, loaded.spec)
    rows = spec_rows(store, loaded.spec)
    with rows.writing():
        keep_fit(loaded, rows.folder)
        _begin(store, model, rows)
        n_before = len(rows.blocks)
        try:
            _encode_blocks(store, loaded.embedder, rows, needed, progress)
        finally:
            _record(store, rows)
        stored = _finish(store, model, rows, scopes)
    return _report(rows, loaded.spec.label, stored, needed, rows.blocks[n_before:])


def _encode_blocks(
    store: StoreFolder,
    embedder: Embedder,
    rows: AnyRows,
    needed: Needed,
    progress: Progress | None,
) -> None:
    """Encodes what is missing. Errors: KeyboardInterrupt, after the running block."""
    missing = rows.missing(needed.keys)
    done = 0
    with Interrupts() as interrupts:
        for positions, texts in blocks_of(store, rows.spec, needed, missing):
            _encode_block(embedder, rows, needed, positions, texts)
            done += len(positions)
            if progress is not None:
                progress(done, len(missing))
            interrupts.stop_if_asked()


def _encode_block(
    embedder: Embedder, rows: AnyRows, needed: Needed, positions: IntArray, texts: list[str]
) -> None:
    """Encodes a block and puts it on disk: row i for texts[i]."""
    started_at = datetime.now(UTC).isoformat()
    start = time.perf_counter()
    encoded = _encode(embedder, texts, needed.is_query[positions])
    elapsed_s = time.perf_counter() - start
    run = Run(started_at, elapsed_s, embedder.device, encoded.n_truncated, embedder.provenance)
    vectors: Any = encoded.vectors
    rows.append(needed.keys[positions], vectors, run)


def _encode(embedder: Embedder, texts: Sequence[str], is_query: BoolArray) -> Encoded:
    """Vectors of texts whose roles may differ, row i for texts[i]."""
    parts, order = [], []
    for role, mine in by_role(is_query):
        prompt = embedder.spec.prompt(role)
        parts.append(embedder.encode([prompt + texts[i] for i in mine], role))
        order.append(mine)
    if len(parts) == 1:
        return parts[0]
    back = np.argsort(np.concatenate(order))
    n_truncated = sum(part.n_truncated for part in parts)
    return Encoded(_stack([part.vectors for part in parts])[back], n_truncated)


def _stack(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")


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


def _done_spec(store: StoreFolder, rows: AnyRows, scopes: Sequence[Scope]) -> Spec | None:
    """The stored spec where, by the store's notes, nothing can be missing; no text is read."""
    spec_id = rows.spec.spec_id
    with store.read() as cursor:
        is_done = _is_recorded(cursor, rows) and all(
            is_embedded(cursor, spec_id, scope.sample_id, scope.n_tuples, rows.n_rows)
            for scope in scopes
        )
        return find_spec(cursor, spec_id) if is_done else None


def _begin(store: StoreFolder, model: Model, rows: AnyRows) -> None:
    """Makes the spec known."""
    with store.write() as cursor:
        add_spec(cursor, rows.spec, model.source, model.key)


def _finish(store: StoreFolder, model: Model, rows: AnyRows, scopes: Sequence[Scope]) -> Spec:
    """Notes that the scopes are embedded; the spec under its stored label."""
    _record(store, rows)
    with store.write() as cursor:
        stored = add_spec(cursor, rows.spec, model.source, model.key)
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


def _runs(blocks: Sequence[Block]) -> list[Encoding]:
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
    needed: Needed | None = None,
    blocks: Sequence[Block] = (),
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
    )
