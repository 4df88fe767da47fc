"""Safetensors files, read without torch: the tensors stay on disk until they are used.

Source: the format's own description: 8 bytes of length, a JSON header, then the bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import FloatArray

LENGTH_BYTES = 8
LONGEST_HEADER = 100_000_000  # the format's own limit
BF16 = "BF16"
_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    BF16: "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
}


def tensor_header(path: Path) -> dict[str, dict[str, Any]]:
    """What a file says of its tensors, by name: dtype, shape, data_offsets.

    Errors: ValueError if it is no safetensors file.
    """
    return _header(path)[0]


def open_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a file, memory-mapped; those of bfloat16 are read, as float32.

    Errors: ValueError if it is no safetensors file, is cut short, or has a number format not known.
    """
    header, start = _header(path)
    return {name: _tensor(path, start, name, entry) for name, entry in header.items()}


def read_tensors(path: Path) -> dict[str, FloatArray]:
    """The tensors of a file as float32."""
    return {name: tensor.astype(np.float32) for name, tensor in open_tensors(path).items()}


def _header(path: Path) -> tuple[dict[str, dict[str, Any]], int]:
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(LENGTH_BYTES), "little")
        if not 2 <= length <= LONGEST_HEADER:
            raise ValueError(f"{path} is no safetensors file")
        try:
            header = json.loads(stream.read(length))
        except RecursionError as error:
            raise ValueError(f"{path} is no safetensors file") from error
    if not isinstance(header, dict):
        raise ValueError(f"{path} is no safetensors file")
    header.pop("__metadata__", None)
    return header, LENGTH_BYTES + length


def _tensor(path: Path, start: int, name: str, entry: Mapping[str, Any]) -> NDArray[Any]:
    try:
        kind, shape = str(entry["dtype"]), tuple(map(int, entry["shape"]))
        first = start + int(entry["data_offsets"][0])
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{path} does not say where {name} is") from error
    if kind not in _DTYPES:
        raise ValueError(f"{name} in {path} is of {kind}; known are {', '.join(_DTYPES)}")
    if min(shape, default=0) < 0 or first < start:
        raise ValueError(f"{path} says that {name} lies where nothing can be")
    dtype = np.dtype(_DTYPES[kind])
    if first + math.prod(shape) * dtype.itemsize > path.stat().st_size:
        raise ValueError(f"{path} is cut short: {name} ends behind its end")
    if not math.prod(shape):
        return np.empty(shape, dtype=dtype)
    raw: NDArray[Any] = np.memmap(path, dtype=dtype, mode="r", offset=first, shape=shape or (1,))
    raw = raw.reshape(shape)
    if kind != BF16:
        return raw
    widened: NDArray[Any] = (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return widened  # bfloat16 is the upper half of a float32
