"""What the store notes of vectors: of which spec, for which tuples, and how they were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from patcache.records import Spec
from patcache.steps.loading import Model
from patcache.steps.needed import Scope
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
    remember_request,
)
from patcache.vectors.journal import Block as JournalBlock
from patcache.vectors.rows import AnyRows

if TYPE_CHECKING:
    import duckdb

    from patcache.store import StoreFolder


def begun(store: StoreFolder, model: Model, rows: AnyRows, scopes: Sequence[Scope]) -> list[Scope]:
    """The scopes with what, by the store's notes, has vectors already; no text is read."""
    asked = model.asked(rows.spec)
    with store.read() as cursor:
        if not _is_recorded(cursor, rows):
            return list(scopes)
        return [
            replace(scope, first=n_embedded(cursor, asked.spec_id, scope.sample_id, rows.n_rows))
            for scope in scopes
        ]


def done_spec(
    store: StoreFolder, model: Model, rows: AnyRows, scopes: Sequence[Scope]
) -> Spec | None:
    """The stored spec where nothing can be missing."""
    if any(scope.first < scope.n_tuples for scope in scopes):
        return None
    with store.read() as cursor:
        return find_spec(cursor, model.asked(rows.spec).spec_id)


def remember(cursor: duckdb.DuckDBPyConnection, model: Model, whole: Spec) -> Spec:
    """Makes the spec that was asked for known; as the store has it from then on.

    whole: that of the vectors as they are encoded, under the label that was asked for.
    """
    stored = add_spec(cursor, model.asked(whole), model.source, model.key)
    if model.whole_key is not None:
        remember_request(cursor, model.whole_key, whole.spec_id)
    return stored


def finish(
    store: StoreFolder, model: Model, whole: Spec, rows: AnyRows, scopes: Sequence[Scope]
) -> Spec:
    """Notes that the scopes are embedded; the spec under its stored label."""
    record(store, rows)
    with store.write() as cursor:
        stored = remember(cursor, model, whole)
        for scope in scopes:
            if scope.sample is not None:
                refuse_removed(cursor, scope.sample)
            mark_embedded(cursor, stored.spec_id, scope.sample_id, scope.n_tuples, rows.n_rows)
    return stored


def record(store: StoreFolder, rows: AnyRows) -> None:
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
