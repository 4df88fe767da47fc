"""Vectors from any OpenAI-compatible /v1/embeddings, here or elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.finish import Finish
from patcache.embedders.installed import versions
from patcache.embedders.served import Service
from patcache.embedders.settings import OPENAI_URL, stated_prompts
from patcache.embedders.text_lengths import Lengths, lengths_of
from patcache.errors import ModelRefused
from patcache.records import Role, Spec

if TYPE_CHECKING:
    from patcache.records import FloatArray

PROBE = "A method for measuring the distance between two texts."
NO_KEY = "no-key"  # the client must send something; servers that want a key refuse it
OPENAI_KEY = "OPENAI_API_KEY"
UNPRICED_TOKENS = 1_000_000  # more, and what they cost must be said first


class ApiEmbedder:
    """A model that others run. What it costs is known before a run, and refused above max_cost."""

    def __init__(
        self, spec: Spec, service: Service, settings: Mapping[str, Any], lengths: Lengths
    ) -> None:
        self.spec = spec
        self.device = "api"
        self.n_parallel = settings["parallel"]  # blocks asked for at once
        self.provenance: Mapping[str, Any] = {
            **versions("openai"),
            "base_url": settings["base_url"],
            "served": service.served,
        }
        self._service = service
        self._settings = settings
        self._lengths = lengths
        self._finish = Finish((), settings["normalize"])

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]. Errors: ModelRefused where the API fails or gives what cannot be."""
        cut = [self._cut(text) for text in texts]
        rows = np.zeros((len(texts), self.spec.dim), dtype=np.float32)
        for batch in self._batches(cut):
            vectors = self._service.vectors([cut[i] for i in batch])
            if vectors.shape[1] != self.spec.dim:
                raise ModelRefused(
                    f"{self.spec.label} gave vectors of {vectors.shape[1]} dimensions",
                    f"it gave {self.spec.dim} before",
                )
            rows[batch] = vectors
        n_truncated = sum(len(short) < len(text) for short, text in zip(cut, texts, strict=True))
        return Encoded(self._finish(rows), n_truncated)

    def check_run(self, texts: Iterable[str]) -> None:
        """Refuses a run that costs more than max_cost, or an unknown sum, before it begins."""
        lengths = [self._lengths.count(self._cut(text)) for text in texts]
        refuse_cost(self.spec.label, len(lengths), sum(lengths), self._settings)

    def count_tokens(self, texts: Iterable[str]) -> int:
        """About how many tokens would be sent."""
        return sum(self._lengths.count(self._cut(text)) for text in texts)

    def cost(self, n_tokens: int) -> float | None:
        """What so many tokens cost, in the currency of the price; None where none was said."""
        price: float | None = self._settings["price_per_million"]
        return None if price is None else price * n_tokens / 1e6

    def _cut(self, text: str) -> str:
        most = self._settings["max_tokens"]
        return text if most is None else self._lengths.cut(text, most)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Positions of texts by request; those that hold nothing are left out and stay zero."""
        batch: list[int] = []
        n_tokens = 0
        for place, text in enumerate(texts):
            if not text.strip():
                continue
            length = self._lengths.count(text)
            is_full = len(batch) >= self._settings["batch_texts"]
            if batch and (is_full or n_tokens + length > self._settings["batch_tokens"]):
                yield batch
                batch, n_tokens = [], 0
            batch.append(place)
            n_tokens += length
        if batch:
            yield batch


def refuse_cost(label: str, n_texts: int, n_tokens: int, settings: Mapping[str, Any]) -> None:
    """Errors: ModelRefused where tokens cost more than max_cost, or many cost nobody knows what."""
    price = settings["price_per_million"]
    asked = f"{n_texts:,} texts of about {n_tokens:,} tokens"
    if price is None and n_tokens > UNPRICED_TOKENS:
        raise ModelRefused(
            f"what {label} costs is not known",
            f"it would be sent {asked}",
            "say what a million tokens cost: --set price_per_million=0.02 (0: nothing)",
        )
    cost = (price or 0.0) * n_tokens / 1e6
    if cost > settings["max_cost"]:
        raise ModelRefused(
            f"{label} would cost about {cost:,.2f}",
            f"{asked} at {price:g} a million; max_cost is {settings['max_cost']:g}",
            f"allow it: --set max_cost={cost:.2f}, or embed fewer texts",
        )


def load(resolved: Resolved, context: Context) -> ApiEmbedder:
    """The model behind a base URL; one short sentence is sent, to learn what it gives.

    The base URL is part of the identity, for one name may be two models at two hosts, unless a
    revision says which it is; the name that the API states is part of it always.
    Errors: ModelRefused without the package openai or the key, or where the API fails.
    """
    settings = resolved.settings
    lengths = lengths_of(settings, resolved.label)
    try:
        service = Service(resolved.label, settings, _key(settings, resolved.label))
    except ImportError as error:
        raise ModelRefused(
            f"{resolved.label} needs the package openai",
            str(error),
            "pip install 'patcache[api]'",
        ) from error
    probe: FloatArray = service.vectors([PROBE])
    identity = {
        "embedder": "api",
        "model": settings["model"],
        "served": service.served,
        "base_url": settings["base_url"] if settings["revision"] is None else None,
        "revision": settings["revision"],
        "dimensions": settings["dimensions"],
        "max_tokens": settings["max_tokens"],
        "cut_by": None if settings["max_tokens"] is None else lengths.name,
        "truncate_dim": None,
        "normalize": settings["normalize"],
        "prompts": stated_prompts(settings["prompts"], resolved.label),
        "storage": settings["storage"],
        "text": settings["text"],
    }
    spec = Spec(resolved.label, identity, probe.shape[1])
    return ApiEmbedder(spec, service, settings, lengths)


def _key(settings: Mapping[str, Any], label: str) -> str:
    """The key, from the environment only; another host than OpenAI's gets none unasked."""
    name = settings["key_env"] or (OPENAI_KEY if settings["base_url"] == OPENAI_URL else None)
    if name is None:
        return NO_KEY
    key = os.environ.get(name, "").strip()
    if not key:
        raise ModelRefused(
            f"{label} needs a key",
            f"the environment variable {name} is not set",
            f"set it (export {name}=...); the store never keeps it",
        )
    if not re.fullmatch(
        r"[\x21-\x7e]+", key
    ):  # a header could not hold it, and errors would show it
        raise ModelRefused(
            f"{label} needs a key",
            f"what the environment variable {name} holds is none: it has spaces, or is not ASCII",
            f"set it to the key alone (export {name}=...)",
        )
    return key
