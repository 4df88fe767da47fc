"""The FAISS indexes of a store's models: made when asked for, listed with what they are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patcache.errors import VectorsDamaged
from patcache.listing import Listing, column
from patcache.records import IndexKind, Progress, Runtime, Spec
from patcache.steps.nearest import searchable_rows, use_threads
from patcache.steps.rows import spec_rows
from patcache.store.specs import labelled_spec, specs
from patcache.vectors.index import (
    BUILT_KINDS,
    MEASURED_K,
    IndexInfo,
    index_paths,
    is_of,
    read_info,
    ready_index,
)
from patcache.vectors.rows import AnyRows

if TYPE_CHECKING:
    from patcache.store import StoreFolder

UNREADABLE = "vectors cannot be read"  # `patcache verify` says why
WIDTH_NAMES = {"hnsw": "efSearch", "ivf": "nprobe"}


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One index of one model. recall: of the exact 10 nearest, for stored vectors drawn at random.

    state: "current", "N rows to add", "of other vectors", or "vectors cannot be read".
    """

    model: str = column("model")
    kind: str = column("kind")
    n_rows: int = column("vectors")
    size_bytes: int = column("bytes")
    recall: float = column(f"recall@{MEASURED_K}", fmt=".4f")
    n_queries: int = column("of queries")
    settings: str = column("settings")
    elapsed_s: float = column("built in s", fmt=".1f")
    state: str = column("state")
    spec_id: str = column(hidden=True)
    faiss_version: str = column(hidden=True)


def build_index(
    store: StoreFolder,
    model: str,
    kind: IndexKind,
    *,
    rebuild: bool = False,
    runtime: Runtime | None = None,
    progress: Progress | None = None,
) -> IndexRow:
    """The index of every vector a model has: made, added to, or (rebuild) made anew.

    Errors: NotThere without such a model or vectors; ModelRefused for sparse vectors and scorers
    of pairs; VectorsBusy while another process builds it; WriteFailed.
    """
    with store.read() as cursor:
        spec = labelled_spec(cursor, model)
    rows = searchable_rows(store, spec)
    use_threads(runtime or Runtime())
    index = ready_index(
        store.indexes_path,
        rows,
        kind,
        rebuild=rebuild,
        extend=True,
        wait_s=store.wait_s,
        progress=progress,
    )
    return _row(store, spec, index.info, _state(rows, index.info))


def indexes(store: StoreFolder, models: Sequence[str] | None = None) -> Listing[IndexRow]:
    """The indexes there are (models None: of all)."""
    with store.read() as cursor:
        stored = specs(cursor) if models is None else [labelled_spec(cursor, m) for m in models]
    rows = tuple(row for spec in stored for row in _rows_of(store, spec))
    what = f"{len(rows)} index{'es' * (len(rows) != 1)}"
    return Listing(IndexRow, rows, caption=(f"{what} · exact look-ups need none",))


def _rows_of(store: StoreFolder, spec: Spec) -> list[IndexRow]:
    infos = [read_info(store.indexes_path, spec.spec_id, kind) for kind in BUILT_KINDS]
    there = [info for info in infos if info is not None]
    if not there:
        return []
    try:
        rows = spec_rows(store, spec)
    except VectorsDamaged:
        return [_row(store, spec, info, UNREADABLE) for info in there]
    return [_row(store, spec, info, _state(rows, info)) for info in there]


def _row(store: StoreFolder, spec: Spec, info: IndexInfo, state: str) -> IndexRow:
    path, _ = index_paths(store.indexes_path, info.spec_id, info.kind)
    settings = dict(info.parameters)
    if info.kind in WIDTH_NAMES:
        settings[WIDTH_NAMES[info.kind]] = info.width
    return IndexRow(
        spec.label,
        info.kind,
        info.n_rows,
        path.stat().st_size,
        info.recall,
        info.n_queries,
        ", ".join(f"{name} {value}" for name, value in settings.items()),
        info.elapsed_s,
        state,
        info.spec_id,
        info.faiss_version,
    )


def _state(rows: AnyRows, info: IndexInfo) -> str:
    if not is_of(info, rows):
        return "of other vectors"
    n_new = rows.n_rows - info.n_rows
    return f"{n_new:,} rows to add" if n_new else "current"
