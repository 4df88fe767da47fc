"""Which requests of one run are one network, whose passes they can share."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from patcache.embedders.base import AFTER_TOKENS, SHARED_KINDS
from patcache.embedders.process import devices_of
from patcache.errors import PatcacheError
from patcache.hashing import settings_digest
from patcache.records import ModelRequest, Runtime
from patcache.steps.loading import Model, find_model

if TYPE_CHECKING:
    from patcache.store import StoreFolder


def find_sharers(
    store: StoreFolder, requests: Mapping[int, ModelRequest], runtime: Runtime, *, refit: bool
) -> dict[int, Model]:
    """The models of the first request and of those that share its passes; none if it is alone.

    What is refused shares nothing: its own turn says so.
    """
    first, *others = requests
    found = _find_network(store, requests[first], runtime, refit=refit) if others else None
    if found is None:
        return {}
    sharers = {first: found[1]}
    for number in others:
        other = _find_network(store, requests[number], runtime, refit=refit)
        if other is not None and other[0] == found[0]:
            sharers[number] = other[1]
    return sharers if len(sharers) > 1 else {}


def _find_network(
    store: StoreFolder, request: ModelRequest, runtime: Runtime, *, refit: bool
) -> tuple[str, Model] | None:
    """A model, and what all its settings up to the vectors of tokens come to.

    None where no pass can be shared; several devices take block by block of one model.
    """
    with suppress(PatcacheError):
        model = find_model(store, request, None, refit=refit)
        known = model.resolved
        if known is None or known.kind not in SHARED_KINDS or len(devices_of(runtime)) > 1:
            return None
        before = {name: v for name, v in known.settings.items() if name not in AFTER_TOKENS}
        return settings_digest({"kind": known.kind, "settings": before}), model
    return None
