"""From what was asked for to a model that encodes: known specs first, loading only when needed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from patcache.embedders.base import Context, Embedder, Fitted, Resolved, load
from patcache.embedders.presets import FITTED, request_key, resolve
from patcache.errors import ModelRefused
from patcache.hashing import settings_digest
from patcache.records import ModelRequest, Runtime, Spec, TextView
from patcache.store.specs import Source, labelled_spec, requested_spec, source_of, specs
from patcache.store.texts import distinct_texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from patcache.store import StoreFolder

FIT_NAME = "fit"
CACHE_NAME = "cache"
FIT_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Model:
    """A request, and as much as is known of it without loading anything.

    spec: None where it takes loading to know it. resolved, key: None for an object of Python's.
    """

    label: str
    spec: Spec | None
    resolved: Resolved | None = None
    key: str | None = None
    embedder: Embedder | None = None
    fit_on: str = "corpus"

    @property
    def source(self) -> Source | None:
        """How the store remembers to load it."""
        if self.resolved is None:
            return None
        known = self.resolved
        return Source(known.kind, known.label, known.settings, known.is_fitted)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to encode, and its spec under the label it goes by."""

    embedder: Embedder
    spec: Spec
    is_new_fit: bool = False


def find_model(
    store: StoreFolder, request: ModelRequest, embedder: Embedder | None, *, refit: bool
) -> Model:
    """What a request is, by the store's memory: a stored label, or a request made before.

    Errors: ModelRefused for a name or setting that cannot be.
    """
    if embedder is not None:
        label = request.label or embedder.spec.label
        return Model(label, replace(embedder.spec, label=label), embedder=embedder)
    settings = dict(request.settings)
    fit_on = settings.pop("fit_on", "corpus")
    stored = None if settings or request.label else _by_label(store, request.name)
    if stored is not None and not refit:
        return stored
    resolved = resolve(replace(request, settings=settings))
    _check_fit(resolved, fit_on, refit=refit)
    key = request_key(resolved)
    if fit_on != "corpus":
        key = settings_digest({"request": key, "fit_on": fit_on})
    if refit:  # the request stays that of the first fit; this one is found by its label
        return Model(resolved.label, None, resolved, fit_on=fit_on)
    with store.read() as cursor:
        spec = requested_spec(cursor, key)
    return Model(resolved.label, spec, resolved, key, fit_on=fit_on)


def load_model(
    store: StoreFolder,
    model: Model,
    runtime: Runtime,
    fit_patents: NDArray[np.int32],
    *,
    refit: bool,
) -> Loaded:
    """The model loaded; a fitted one with the fit it was made with, else fitted on the patents."""
    if model.embedder is not None:
        return Loaded(model.embedder, replace(model.embedder.spec, label=model.label))
    resolved = model.resolved
    if resolved is None:
        raise ModelRefused(
            f"{model.label} cannot be loaded from here",
            "it was an object of a Python program, of which the store keeps only the vectors",
            "hand it over again: store.embed(..., embedder=...)",
        )
    context = Context(runtime=runtime, cache_path=store.path / CACHE_NAME)
    if not resolved.is_fitted:
        embedder = load(resolved, context)
        return Loaded(embedder, replace(embedder.spec, label=model.label))
    if model.spec is not None and (fit := _fit_folder(store, model.spec)).exists():
        digest = model.spec.identity["fit"]
        embedder = load(resolved, replace(context, fit_path=fit, fit_digest=digest))
        return Loaded(embedder, replace(embedder.spec, label=model.label))
    text = resolved.settings["text"]
    view = TextView(tuple(text["fields"]), text["separator"])
    with distinct_texts(store, view, fit_patents) as texts:
        embedder = load(resolved, replace(context, fit=texts))
    label = f"{model.label}~{texts.digest[:FIT_DIGITS]}" if refit else model.label
    return Loaded(embedder, replace(embedder.spec, label=label), is_new_fit=True)


def keep_fit(loaded: Loaded, folder: Path) -> None:
    """Stores what a fitted model learnt beside its vectors, whole or not at all."""
    fit = folder / FIT_NAME
    if not loaded.is_new_fit or fit.exists():
        return
    aside = folder / f"{FIT_NAME}.new"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    cast(Fitted, loaded.embedder).save_fit(aside)
    aside.rename(fit)


def _by_label(store: StoreFolder, label: str) -> Model | None:
    """The model of a stored label; None where there is none, or it came from Python."""
    with store.read() as cursor:
        if label not in {spec.label for spec in specs(cursor)}:
            return None
        spec = labelled_spec(cursor, label)
        source = source_of(cursor, spec.spec_id)
        if source is None:
            return Model(label, spec)
        resolved = Resolved(source.kind, source.label, source.settings, source.is_fitted)
        key = request_key(resolved)
        if source.is_fitted:
            return Model(label, spec, resolved)  # its fit is stored; the key is the first fit's
        return Model(label, requested_spec(cursor, key), resolved, key)


def _check_fit(resolved: Resolved, fit_on: str, *, refit: bool) -> None:
    if fit_on not in ("corpus", "sample"):
        raise ModelRefused(f"fit_on {fit_on!r}", "a model is fitted on the corpus or the sample")
    if not resolved.is_fitted and (refit or fit_on != "corpus"):
        raise ModelRefused(
            f"{resolved.label} cannot be fitted",
            f"a {resolved.kind} model is not made from a corpus",
            f"fitted models are {', '.join(FITTED)}",
        )


def _fit_folder(store: StoreFolder, spec: Spec) -> Path:
    return store.vectors_path / spec.spec_id / FIT_NAME
