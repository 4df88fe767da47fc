"""From pooled vectors to those that are kept: Dense heads, then length 1."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import ModelRefused
from patcache.hashing import file_digest

if TYPE_CHECKING:
    from patcache.records import FloatArray

_ACTIVATIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "Tanh": np.tanh,
    "Identity": lambda x: x,
    "ReLU": lambda x: np.maximum(x, np.float32(0)),
}
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


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
    tensors = read_safetensors(path)
    weight = tensors["linear.weight"]
    bias = tensors.get("linear.bias", np.zeros(len(weight), dtype=np.float32))
    return Dense(weight, bias, activation, file_digest(path))


def read_safetensors(path: Path) -> dict[str, FloatArray]:
    """The tensors of a safetensors file as float32, without torch.

    Source: the format's own description: 8 bytes of length, a JSON header, then the bytes.
    """
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8:start])
    header.pop("__metadata__", None)
    return {name: _tensor(content, start, entry) for name, entry in header.items()}


def _tensor(content: bytes, start: int, entry: Mapping[str, Any]) -> FloatArray:
    dtype = _DTYPES[entry["dtype"]]
    first, _ = entry["data_offsets"]
    count = math.prod(entry["shape"])
    raw = np.frombuffer(content, dtype=dtype, count=count, offset=start + first)
    if entry["dtype"] == "BF16":  # the upper half of a float32
        raw = (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return raw.astype(np.float32).reshape(entry["shape"])
