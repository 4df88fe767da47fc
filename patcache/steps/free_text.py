"""Texts that are no patent's, encoded by a stored spec's model in a process of its own.

Models bring libraries (torch above all) that must not be in one process with FAISS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.finish import unit_length
from patcache.embedders.process import EncoderProcess
from patcache.errors import ModelRefused
from patcache.records import Role, Runtime, Spec
from patcache.steps.loading import stored_fit
from patcache.store.specs import source_of

if TYPE_CHECKING:
    from patcache.store import StoreFolder


def encode_texts(
    store: StoreFolder, spec: Spec, texts: Sequence[str], role: Role, runtime: Runtime
) -> list[Encoded]:
    """The vector of each text as the spec gives it, with the prompt of the role before it.

    Errors: ModelRefused where the model cannot be loaded, or is no longer the spec's.
    """
    resolved, context = _how_to_load(store, spec, runtime)
    with EncoderProcess(resolved, context) as embedder:
        if embedder.spec.spec_id != spec.vectors_id:
            raise ModelRefused(
                f"{spec.label} is another model by now",
                f"its vectors are of spec {spec.vectors_id}, what loads is {embedder.spec.spec_id}",
                f"embed it anew under another name: `patcache embed {resolved.label} --label NAME`",
            )
        prompt = spec.prompt(role)  # one text a call, so that each says whether it was cut
        encoded = [embedder.encode([prompt + text], role) for text in texts]
    return [_cut(spec, one) for one in encoded] if spec.is_cut else encoded


def _cut(spec: Spec, encoded: Encoded) -> Encoded:
    """The first dimensions, to length 1 again where the spec says so."""
    vectors: Any = encoded.vectors[:, : spec.dim]
    cut = unit_length(vectors) if spec.identity["normalize"] else vectors
    return Encoded(cut, encoded.n_truncated)


def _how_to_load(store: StoreFolder, spec: Spec, runtime: Runtime) -> tuple[Resolved, Context]:
    """A stored spec's model with every dimension, and the fit it was made with."""
    with store.read() as cursor:
        source = source_of(cursor, spec.spec_id)
    if source is None:
        raise ModelRefused(
            f"{spec.label} cannot encode a text from here",
            "it was an object of a Python program, of which the store keeps only the vectors",
            "ask for a patent that has a vector",
        )
    settings = dict(source.settings)
    if "truncate_dim" in settings:
        settings["truncate_dim"] = None
    resolved = Resolved(source.kind, source.label, settings, source.is_fitted)
    context = Context(runtime=runtime, cache_path=store.cache_path)
    return resolved, stored_fit(store, spec, context) if source.is_fitted else context
