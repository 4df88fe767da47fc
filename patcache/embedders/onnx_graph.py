"""What an ONNX file says about itself, read without the onnx package: arithmetic and digest."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from patcache.errors import ModelRefused
from patcache.hashing import unchanged_digest

# Numbers of fields in ONNX's protocol buffers, and its numbers of element types.
_MODEL_GRAPH, _GRAPH_TENSOR = 7, 5
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_EXTERNAL = 1, 2, 13
_ENTRY_KEY, _ENTRY_VALUE = 1, 2
_ARITHMETIC = {1: "fp32", 2: "int8", 3: "int8", 10: "fp16", 16: "bf16", 21: "int4", 22: "int4"}
_NARROWEST_FIRST = ("int4", "int8", "bf16", "fp16", "fp32")
_NOTABLE_SHARE = 0.05  # of all weights: with a large vocabulary, what is not an embedding is few
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Field = tuple[int, "int | memoryview"]


@dataclass(frozen=True, slots=True)
class Graph:
    """arithmetic: the narrowest type that a notable share of the weights have.

    digest: of the file and its external weights.
    """

    arithmetic: str
    digest: str


def read_graph(path: Path) -> Graph:
    """Arithmetic and digest of an ONNX file. Errors: ModelRefused if it is none."""
    sizes: Counter[str] = Counter()
    external: set[str] = set()
    try:
        for tensor in _tensors(memoryview(path.read_bytes())):
            fields = list(_fields(tensor))
            kind = next((value for number, value in fields if number == _TENSOR_TYPE), 0)
            if kind in _ARITHMETIC:
                sizes[_ARITHMETIC[int(kind)]] += _n_elements(fields)
            external.update(_external(fields))
    except (ValueError, IndexError, TypeError) as error:
        raise ModelRefused(f"{path} is no ONNX graph", str(error)) from error
    if not sizes:
        raise ModelRefused(f"{path} is no ONNX graph", "it holds no weights")
    files = [path, *(path.parent / name for name in sorted(external))]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise ModelRefused(f"{path} is incomplete", f"its weights {missing[0]} are not beside it")
    digests = "".join(unchanged_digest(file) for file in files)
    whole = digests if len(files) == 1 else hashlib.sha256(digests.encode()).hexdigest()
    notable = [name for name in _NARROWEST_FIRST if sizes[name] > _NOTABLE_SHARE * sizes.total()]
    return Graph(notable[0], whole)


def _tensors(model: memoryview) -> Iterator[memoryview]:
    for number, graph in _fields(model):
        if number == _MODEL_GRAPH and isinstance(graph, memoryview):
            for inner, tensor in _fields(graph):
                if inner == _GRAPH_TENSOR and isinstance(tensor, memoryview):
                    yield tensor


def _n_elements(fields: list[Field]) -> int:
    dims: list[int] = []
    for number, value in fields:
        if number == _TENSOR_DIMS:
            packed = _varints(value) if isinstance(value, memoryview) else [value]
            dims.extend(packed)
    return math.prod(dims)


def _external(fields: list[Field]) -> Iterator[str]:
    """Names of files that hold a tensor's bytes, from its key and value pairs."""
    for number, entry in fields:
        if number == _TENSOR_EXTERNAL and isinstance(entry, memoryview):
            key, value = (b"".join(_bytes(entry, part)) for part in (_ENTRY_KEY, _ENTRY_VALUE))
            if key == b"location":
                yield value.decode()


def _bytes(message: memoryview, wanted: int) -> Iterator[bytes]:
    for number, value in _fields(message):
        if number == wanted and isinstance(value, memoryview):
            yield bytes(value)


def _fields(message: memoryview) -> Iterator[Field]:
    """Number and content of each field of a message in protocol buffers' wire format."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(message, at)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise ValueError(f"unknown wire type {wire}")
        if at + size > len(message):
            raise ValueError("it ends too early")
        yield number, message[at : at + size]
        at += size


def _varints(packed: memoryview) -> Iterator[int]:
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield value


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
