"""From what was asked for to a model that encodes: known specs first, loading only when needed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from patcache.embedders.base import (
    PAIR_KINDS,
    AnyModel,
    Context,
    Embedder,
    Fitted,
    Resolved,
    Shared,
    load,
)
from patcache.embedders.presets import FITTED, request_key, resolve
from patcache.embedders.process import SeveralDevices, devices_of
from patcache.errors import ModelRefused
from patcache.hashing import settings_digest
from patcache.records import ModelRequest, Runtime, Spec, TextView
from patcache.store.specs import (
    Source,
    find_spec,
    labelled_spec,
    requested_id,
    source_of,
    specs,
)
from patcache.store.texts import distinct_texts
from patcache.vectors.disk import explained, sync_folder
from patcache.vectors.folder import SPEC_NAME, read_spec
from patcache.vectors.sums import write_sums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from patcache.store import StoreFolder

FIT_NAME = "fit"
NO_DEVICE = frozenset({"api", "vectors"})  # kinds that look at a whole run before it begins
FIT_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Model:
    """A request, and as much as is known of it without loading anything.

    spec: of the vectors as they are encoded, under this label; None where it takes loading to know.
    dims: how many of their dimensions are asked for, None for all.
    resolved, key, whole_key: None for an object of Python's; whole_key is that of the same request
    with every dimension.
    """

    label: str
    spec: Spec | None
    resolved: Resolved | None = None
    key: str | None = None
    whole_key: str | None = None
    embedder: AnyModel | None = None
    fit_on: str = "corpus"
    dims: int | None = None

    @property
    def source(self) -> Source | None:
        """How the store remembers to load it."""
        if self.resolved is None:
            return None
        known = self.resolved
        return Source(known.kind, known.label, known.settings, known.is_fitted)

    @property
    def unit(self) -> str:
        """What it encodes: "texts", or "pairs" of them."""
        if self.spec is not None:
            return "pairs" if self.spec.is_pairs else "texts"
        return "pairs" if self.resolved and self.resolved.kind in PAIR_KINDS else "texts"

    def asked(self, whole: Spec) -> Spec:
        """The spec that was asked for, given that of the vectors as they are encoded.

        Errors: ModelRefused where they have fewer dimensions, or ones that mean nothing alone.
        """
        if self.dims is None or self.dims == whole.dim:
            return whole
        if "truncate_dim" not in whole.identity:
            raise ModelRefused(
                f"{self.label} cannot be cut to {self.dims} dimensions",
                f"vectors of a {whole.embedder} model mean nothing without all of them",
            )
        if self.dims > whole.dim:
            raise ModelRefused(
                f"{self.label} cannot give {self.dims} dimensions", f"it has {whole.dim}"
            )
        return Spec(whole.label, {**whole.identity, "truncate_dim": self.dims}, self.dims)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to encode, and its spec under the label it goes by."""

    embedder: AnyModel
    spec: Spec
    is_new_fit: bool = False

    def close(self) -> None:
        """Ends the processes that it runs in, where it has some of its own."""
        if isinstance(self.embedder, SeveralDevices):
            self.embedder.close()


def find_model(
    store: StoreFolder, request: ModelRequest, embedder: AnyModel | None, *, refit: bool
) -> Model:
    """What a request is, by the store's memory: a stored label, or a request made before.

    Errors: ModelRefused for a name or setting that cannot be.
    """
    if embedder is not None:
        return _of_object(request, embedder)
    settings = dict(request.settings)
    fit_on = settings.pop("fit_on", "corpus")
    stored = None if settings or request.label else _by_label(store, request.name)
    if stored is not None and not refit:
        return stored
    resolved = resolve(replace(request, settings=settings))
    _check_fit(resolved, fit_on, refit=refit)
    dims = resolved.settings.get("truncate_dim")
    if dims is not None and request.label is None:
        resolved = replace(resolved, label=f"{resolved.label}@{dims}d")
    model = Model(resolved.label, None, resolved, fit_on=fit_on, dims=dims)
    if refit:  # the request stays that of the first fit; this one is found by its label
        return model
    key, whole_key = _key(resolved, fit_on), _key(_whole(resolved), fit_on)
    spec = _known(store, whole_key, resolved.label)
    return replace(model, spec=spec, key=key, whole_key=whole_key)


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
    if model.resolved is None:
        raise ModelRefused(
            f"{model.label} cannot be loaded from here",
            "it was an object of a Python program, of which the store keeps only the vectors",
            "hand it over again: store.embed(..., embedder=...)",
        )
    resolved = _whole(model.resolved)
    context = Context(runtime=runtime, cache_path=store.cache_path)
    if not resolved.is_fitted:
        embedder = _on_devices(resolved, context)
        return Loaded(embedder, replace(embedder.spec, label=model.label))
    if model.spec is not None and _fit_folder(store, model.spec).exists():
        embedder = load(resolved, stored_fit(store, model.spec, context))
        return Loaded(embedder, replace(embedder.spec, label=model.label))
    text = resolved.settings["text"]
    view = TextView(tuple(text["fields"]), text["separator"])
    with distinct_texts(store, view, fit_patents) as texts:
        embedder = load(resolved, replace(context, fit=texts))
    label = f"{model.label}~{texts.digest[:FIT_DIGITS]}" if refit else model.label
    return Loaded(embedder, replace(embedder.spec, label=label), is_new_fit=True)


def load_sibling(loaded: Loaded, model: Model) -> Loaded:
    """A model that shares the passes of one that is loaded (steps/sharing), without loading it.

    Errors: ModelRefused for what loading it would be refused for.
    """
    embedder = cast(Shared, loaded.embedder).sibling(_whole(cast(Resolved, model.resolved)))
    return Loaded(embedder, replace(embedder.spec, label=model.label))


def stored_fit(store: StoreFolder, whole: Spec, context: Context) -> Context:
    """The context in which a fitted model is read back instead of fitted anew."""
    fit_path = _fit_folder(store, whole)
    return replace(context, fit_path=fit_path, fit_digest=whole.identity["fit"])


def keep_fit(loaded: Loaded, folder: Path) -> None:
    """Stores what a fitted model learnt beside its vectors, whole or not at all.

    Errors: WriteFailed.
    """
    fit = folder / FIT_NAME
    if not loaded.is_new_fit or fit.exists():
        return
    aside = folder / f"{FIT_NAME}.new"
    shutil.rmtree(aside, ignore_errors=True)
    with explained(aside):
        aside.mkdir()
        cast(Fitted, loaded.embedder).save_fit(aside)
        write_sums(aside)
        aside.rename(fit)
        sync_folder(folder)


def _of_object(request: ModelRequest, embedder: AnyModel) -> Model:
    """An object of Python's, whose settings are its own but for the number of dimensions."""
    settings = dict(request.settings)
    dims = settings.pop("truncate_dim", None)
    if settings:
        raise ModelRefused(
            f"{embedder.spec.label} cannot be given {', '.join(settings)}",
            "it is an object, and its settings are part of it",
            "give them where it is made: from_object(..., prompts=..., storage=...)",
        )
    label = request.label or embedder.spec.label
    label = f"{label}@{dims}d" if dims is not None and request.label is None else label
    return Model(label, replace(embedder.spec, label=label), embedder=embedder, dims=dims)


def _by_label(store: StoreFolder, label: str) -> Model | None:
    """The model of a stored label; None where there is none, or it came from Python."""
    with store.read() as cursor:
        if label not in {spec.label for spec in specs(cursor)}:
            return None
        spec = labelled_spec(cursor, label)
        source = source_of(cursor, spec.spec_id)
    dims = spec.dim if spec.is_cut else None
    whole = _stored_whole(store, spec)
    if source is None:
        return Model(label, whole, dims=dims)
    resolved = Resolved(source.kind, source.label, source.settings, source.is_fitted)
    if source.is_fitted:  # its fit is stored; the key is the first fit's
        return Model(label, whole, resolved, dims=dims)
    key, whole_key = _key(resolved), _key(_whole(resolved))
    return Model(label, _known(store, whole_key, label), resolved, key, whole_key, dims=dims)


def _whole(resolved: Resolved) -> Resolved:
    """The same request with every dimension: what is encoded."""
    if resolved.settings.get("truncate_dim") is None:
        return resolved
    return replace(resolved, settings={**resolved.settings, "truncate_dim": None})


def _key(resolved: Resolved, fit_on: str = "corpus") -> str:
    key = request_key(resolved)
    return key if fit_on == "corpus" else settings_digest({"request": key, "fit_on": fit_on})


def _known(store: StoreFolder, whole_key: str, label: str) -> Spec | None:
    """The spec that a request for every dimension was found to be, in this store or its folders."""
    with store.read() as cursor:
        spec_id = requested_id(cursor, whole_key)
        spec = None if spec_id is None else find_spec(cursor, spec_id)
    if spec_id is not None and spec is None:  # only fewer dimensions of it have a label
        spec = _spec_of_folder(store.vectors_path / spec_id)
    return None if spec is None else replace(spec, label=label)


def _stored_whole(store: StoreFolder, spec: Spec) -> Spec | None:
    """The spec whose vectors a stored one is cut from; itself where it is whole."""
    if not spec.is_cut:
        return spec
    whole = _spec_of_folder(store.vectors_path / spec.vectors_id)
    return None if whole is None else replace(whole, label=spec.label)


def _spec_of_folder(folder: Path) -> Spec | None:
    return read_spec(folder) if (folder / SPEC_NAME).exists() else None


def _on_devices(resolved: Resolved, context: Context) -> Embedder:
    """The model on the device that was asked for, or in a process for each of several."""
    devices = devices_of(context.runtime)
    if len(devices) == 1 or resolved.kind in NO_DEVICE:
        return load(resolved, context)
    return SeveralDevices(resolved, context, devices)


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
