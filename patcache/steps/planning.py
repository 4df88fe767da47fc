"""What embedding a model would take, before anything of it is done."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import PAIR_KINDS, Resolved
from patcache.embedders.settings import stated_prompts
from patcache.listing import Listing, column
from patcache.quantities import bytes_text
from patcache.records import ModelRequest, Runtime, Spec
from patcache.steps.encoding import FAST_KINDS
from patcache.steps.loading import Loaded, Model, find_model, load_model
from patcache.steps.needed import Scope, find_scopes
from patcache.steps.rows import spec_rows
from patcache.steps.work import AnyNeeded, find_needed, work_of
from patcache.vectors.layout import DTYPES

if TYPE_CHECKING:
    from patcache.records import IntArray
    from patcache.steps.encoding import Work
    from patcache.store import StoreFolder

PROBE_TEXTS = 30
FAST_PROBE_TEXTS = 1024  # fewer would measure the fixed cost of a call
WARM_UP_TEXTS = 2
KEY_BYTES = 16
API = "api"
TEXTS, PAIRS = "texts", "pairs"
NO_PROMPTS = {"query": "", "document": ""}


@dataclass(frozen=True, slots=True)
class Plan:
    """What one model would take; None: not known before it is made.

    unit: what is counted, "texts" or, of a scorer of pairs, "pairs". n_tokens, elapsed_s,
    size_bytes: estimates for the missing ones from a probe of some of them.
    """

    label: str = column("model")
    unit: str = column("of")
    n_texts: int = column("needed")
    n_stored: int = column("stored")
    n_missing: int = column("missing")
    n_tokens: int | None = column("tokens")
    size_bytes: int | None = column("size", fmt="bytes")
    elapsed_s: float | None = column("time", fmt="seconds")
    device: str | None = column("on")
    free_bytes: int = column("free", fmt="bytes", hidden=True)
    is_fitting: bool | None = column("fits")
    cost: float | None = column("cost", fmt=",.2f", hidden=True)
    note: str = column("note")


def plan(
    store: StoreFolder,
    request: ModelRequest,
    *,
    samples: Sequence[str] | None = None,
    all_texts: bool = False,
    runtime: Runtime | None = None,
) -> Plan:
    """What `embed` would do for the same request: nothing is encoded but a probe, nothing stored.

    A model that is to be made from the corpus first is not made for this, and one behind an API is
    not sent any text of a patent.
    Errors: those of finding and loading the model.
    """
    scopes = find_scopes(store, samples, all_texts=all_texts)
    model = find_model(store, request, None, refit=False)
    free_bytes = shutil.disk_usage(store.path).free
    nothing = Plan(model.label, TEXTS, 0, 0, 0, 0, 0, 0.0, None, free_bytes, True, None, "")
    if model.spec is not None:
        needed = find_needed(store, model.spec, scopes)
        missing = spec_rows(store, model.spec).missing(needed.keys)
        n_texts = len(needed.keys)
        nothing = replace(
            nothing,
            unit=_unit(model.spec),
            n_texts=n_texts,
            n_stored=n_texts - len(missing),
        )
        if len(missing) == 0:
            return replace(nothing, note="up to date")
    if model.resolved is not None and model.resolved.is_fitted and model.spec is None:
        return _of_unmade(store, model, model.resolved, scopes, nothing)
    loaded = load_model(store, model, runtime or Runtime(), np.empty(0, np.int32), refit=False)
    try:
        return _of_loaded(store, loaded, find_needed(store, loaded.spec, scopes), nothing)
    finally:
        loaded.close()


def plans(store: StoreFolder, requests: Sequence[ModelRequest], **options: Any) -> Listing[Plan]:
    """The plans of several models, in order; options are those of `plan`.

    Models that are cut from the vectors of one before them take nothing.
    """
    found: list[Plan] = []
    planned: dict[str, Plan] = {}
    for request in requests:
        key = find_model(store, request, None, refit=False).whole_key
        if key is not None and (whole := planned.get(key)) is not None:
            found.append(_shared(store, request, whole))
            continue
        found.append(plan(store, request, **options))
        if key is not None:
            planned[key] = found[-1]
    return _listed(found)


def _shared(store: StoreFolder, request: ModelRequest, whole: Plan) -> Plan:
    """The plan of a model whose vectors are those of another one of the same run."""
    label = find_model(store, request, None, refit=False).label
    return replace(
        whole,
        label=label,
        n_stored=whole.n_texts,
        n_missing=0,
        n_tokens=0,
        size_bytes=0,
        elapsed_s=0.0,
        cost=None,
        note=f"cut from the vectors of {whole.label}",
    )


def _listed(rows: Sequence[Plan]) -> Listing[Plan]:
    notes = []
    known = sum(row.size_bytes or 0 for row in rows)
    free_bytes = rows[0].free_bytes if rows else 0
    if known > free_bytes:
        notes.append(
            f"the disk does not hold it all: {bytes_text(known)} are needed, "
            f"{bytes_text(free_bytes)} are free"
        )
    caption = f"{bytes_text(free_bytes)} free on the disk of the store"
    return Listing(Plan, tuple(rows), (caption,), tuple(notes))


def _of_unmade(
    store: StoreFolder, model: Model, resolved: Resolved, scopes: Sequence[Scope], nothing: Plan
) -> Plan:
    """What is known of a model that is made from the corpus when it is embedded."""
    settings = resolved.settings
    identity = {
        "embedder": resolved.kind,
        "text": settings["text"],
        "prompts": stated_prompts(settings.get("prompts", NO_PROMPTS), model.label),
        "pairs": resolved.kind in PAIR_KINDS,
    }
    spec = Spec(model.label, identity, 1)
    needed = find_needed(store, spec, scopes)
    n_texts = len(needed.keys)
    item_bytes = DTYPES[settings.get("storage", "float32")].itemsize
    dim = 1 if identity["pairs"] else settings.get("dim")
    return _sized(
        replace(
            nothing,
            unit=_unit(spec),
            n_texts=n_texts,
            n_missing=n_texts,
            n_tokens=None,
            elapsed_s=None,
        ),
        None if dim is None else dim * item_bytes,
        "made from the corpus first; how long that takes is not known",
    )


def _of_loaded(store: StoreFolder, loaded: Loaded, needed: AnyNeeded, nothing: Plan) -> Plan:
    spec = loaded.spec
    missing = spec_rows(store, spec).missing(needed.keys)
    n_texts = len(needed.keys)
    found = replace(
        nothing,
        unit=_unit(spec),
        n_texts=n_texts,
        n_stored=n_texts - len(missing),
        n_missing=len(missing),
        device=_device(loaded),
    )
    if len(missing) == 0:
        return replace(found, note="up to date")
    work = work_of(store, loaded.embedder, needed)
    if spec.embedder == API:
        return _of_service(loaded, work, missing, found)
    probe = _probe(work, missing, FAST_PROBE_TEXTS if spec.embedder in FAST_KINDS else PROBE_TEXTS)
    row_bytes = probe.row_bytes if spec.sparse else spec.dim * DTYPES[spec.storage].itemsize
    tokens = probe.tokens_per_text
    return _sized(
        replace(
            found,
            n_tokens=None if tokens is None else round(tokens * len(missing)),
            elapsed_s=probe.s_per_text * len(missing),
        ),
        row_bytes,
        f"by a probe of {probe.n_texts} {found.unit}",
    )


def _of_service(loaded: Loaded, work: Work[Any], missing: IntArray, found: Plan) -> Plan:
    """Tokens and cost of a model behind an API, to which no text is sent for this."""
    embedder: Any = loaded.embedder
    texts = (t for block in work.blocks(missing) for part in block.parts for t in part.prepared)
    n_tokens = embedder.count_tokens(texts)
    cost = embedder.cost(n_tokens)
    said = "price not said" if cost is None else f"costs about {cost:,.2f}"
    found = replace(found, n_tokens=n_tokens, elapsed_s=None, cost=cost)
    return _sized(found, loaded.spec.dim * DTYPES[loaded.spec.storage].itemsize, said)


@dataclass(frozen=True, slots=True)
class _Probe:
    n_texts: int
    s_per_text: float
    tokens_per_text: float | None
    row_bytes: float


def _probe(work: Work[Any], missing: IntArray, n_wanted: int) -> _Probe:
    """A few of the missing texts encoded, spread evenly over them, after a short warm-up."""
    chosen = missing[np.unique(np.linspace(0, len(missing) - 1, n_wanted).astype(np.int64))]
    _timed(work, chosen[:WARM_UP_TEXTS])
    elapsed_s, n_tokens, n_bytes = _timed(work, chosen)
    n_texts = len(chosen)
    tokens = None if n_tokens is None else n_tokens / n_texts
    return _Probe(n_texts, elapsed_s / n_texts, tokens, n_bytes / n_texts)


def _timed(work: Work[Any], positions: IntArray) -> tuple[float, int | None, int]:
    """Seconds, tokens and bytes of the vectors of some texts."""
    elapsed_s = 0.0
    n_tokens: int | None = 0
    n_bytes = 0
    for block in work.blocks(positions):
        prepared = work.prepare(block)
        counted = _n_tokens(prepared)
        n_tokens = None if counted is None or n_tokens is None else n_tokens + counted
        (done,) = work.encode(prepared)
        elapsed_s += done.run.elapsed_s
        is_dense = isinstance(done.vectors, np.ndarray)
        n_bytes += done.vectors.nbytes if is_dense else _sparse_bytes(done.vectors)
    return elapsed_s, n_tokens, n_bytes


def _n_tokens(block: Any) -> int | None:
    """Tokens of a prepared block; None where the model does not cut texts into tokens apart."""
    parts = [part.prepared for part in block.parts] if hasattr(block, "parts") else [block.prepared]
    if not all(hasattr(prepared, "ids") for prepared in parts):
        return None
    return sum(len(ids) for prepared in parts for ids in prepared.ids)


def _sparse_bytes(vectors: Any) -> int:
    return int(vectors.data.nbytes + vectors.indices.nbytes + 8 * vectors.shape[0])


def _sized(found: Plan, row_bytes: float | None, note: str) -> Plan:
    """With the bytes of vectors and keys, and whether the disk holds them."""
    if row_bytes is None:
        return replace(found, size_bytes=None, is_fitting=None, note=note)
    size_bytes = round((row_bytes + KEY_BYTES) * found.n_missing)
    is_fitting = size_bytes <= found.free_bytes
    return replace(found, size_bytes=size_bytes, is_fitting=is_fitting, note=note)


def _unit(spec: Spec) -> str:
    return PAIRS if spec.is_pairs else TEXTS


def _device(loaded: Loaded) -> str:
    """Where it runs and how: "cpu, onnx fp32"."""
    engine = loaded.spec.identity.get("engine")
    device = loaded.embedder.device
    return f"{device}, {engine['name']} {engine['arithmetic']}" if engine else device
