"""From pooled vectors to those that are kept: Dense heads, then length 1."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from patcache.embedders.tensors import read_tensors
from patcache.errors import ModelRefused
from patcache.hashing import file_digest

if TYPE_CHECKING:
    from patcache.records import FloatArray

_ACTIVATIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "Tanh": np.tanh,
    "Identity": lambda x: x,
    "ReLU": lambda x: np.maximum(x, np.float32(0)),
}


@dataclass(frozen=True, slots=True)
class Dense:
    """A linear layer after the pooling: activation(x @ weight.T + bias).

    Shapes: weight (out, in), bias (out,) float32. digest: of its weight file.
    """

    weight: FloatArray
    bias: FloatArray
    activation: str
    digest: str

    def __call__(self, x: FloatArray) -> FloatArray:
        return _ACTIVATIONS[self.activation](x @ self.weight.T + self.bias)


@dataclass(frozen=True, slots=True)
class Finish:
    """The steps after the pooling, in their order, all in float32."""

    heads: Sequence[Dense]
    normalize: bool

    def __call__(self, pooled: FloatArray) -> FloatArray:
        """Shapes: (n, hidden) -> (n, dim) float32. A zero vector stays zero."""
        vectors = np.asarray(pooled, dtype=np.float32)
        for head in self.heads:
            vectors = head(vectors)
        return unit_length(vectors) if self.normalize else vectors


def unit_length(vectors: FloatArray) -> FloatArray:
    """Each row divided by its Euclidean length; zero rows stay zero, NaN rows NaN."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    with np.errstate(invalid="ignore"):  # infinite rows become NaN, as they should
        divided: FloatArray = vectors / lengths
    return divided


def read_dense(folder: Path) -> Dense:
    """A Dense head as sentence-transformers saves it: config.json and model.safetensors.

    Errors: ModelRefused for pickled weights or an activation that is not known here.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    activation = str(config.get("activation_function", "torch.nn.Tanh")).rpartition(".")[2]
    if activation not in _ACTIVATIONS:
        raise ModelRefused(
            f"the Dense head {folder} has the activation {activation}",
            f"known are {', '.join(_ACTIVATIONS)}",
        )
    path = folder / "model.safetensors"
    if not path.is_file():
        raise ModelRefused(
            f"the Dense head {folder} has no model.safetensors", "pickled weights are not read"
        )
    tensors = read_tensors(path)
    weight = tensors["linear.weight"]
    bias = tensors.get("linear.bias", np.zeros(len(weight), dtype=np.float32))
    return Dense(weight, bias, activation, file_digest(path))
