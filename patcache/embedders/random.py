"""Random vectors: the level of chance, as a model that every other one must beat."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.records import Role, Spec

if TYPE_CHECKING:
    from patcache.records import FloatArray


class RandomEmbedder:
    """Gaussian vectors that depend on the seed and the text alone."""

    def __init__(self, spec: Spec, seed: int) -> None:
        self.spec = spec
        self.device = "cpu"
        self.provenance: Mapping[str, Any] = {"numpy": np.__version__}
        self._seed = seed

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i is drawn from the seed and texts[i], whatever stands beside it."""
        rows = [gaussian(self._seed, text, self.spec.dim) for text in texts]
        return Encoded(np.array(rows, dtype=np.float32).reshape(len(texts), self.spec.dim))


def gaussian(seed: int, text: str, dim: int) -> FloatArray:
    """A vector (dim,) of independent standard normal numbers.

    Source: Philox (Salmon 2011), whose raw stream numpy promises to keep, keyed by sha256 of seed
            and text; Box and Muller 1958.
    """
    key = hashlib.sha256(f"{seed}\0{text}".encode()).digest()[:16]
    half = (dim + 1) // 2
    raw = np.random.Philox(key=int.from_bytes(key, "little")).random_raw(2 * half)
    uniform = ((raw >> np.uint64(11)) + 0.5) * 2.0**-53  # in (0, 1): the logarithm is finite
    radius = np.sqrt(-2.0 * np.log(uniform[:half]))
    angle = 2.0 * np.pi * uniform[half:]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    return normal[:dim].astype(np.float32)


def load(resolved: Resolved, context: Context) -> RandomEmbedder:
    """The model of chance."""
    settings = resolved.settings
    identity = {
        "embedder": "random",
        "seed": settings["seed"],
        "dim": settings["dim"],
        "prompts": {"query": "", "document": ""},
        "normalize": False,
        "storage": settings["storage"],
        "text": settings["text"],
    }
    return RandomEmbedder(Spec(resolved.label, identity, settings["dim"]), settings["seed"])
