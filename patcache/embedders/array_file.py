"""Vectors computed elsewhere, looked up by publication number.

The text view of such a spec is the publication number itself: what encode gets are numbers, and
the key of a row is the key of a number. Everything else works as for any other model.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.array_rows import read_rows
from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.converted import NamedRows
from patcache.embedders.finish import unit_length
from patcache.embedders.installed import versions
from patcache.errors import ModelRefused
from patcache.hashing import file_digest, unchanged_digest
from patcache.records import Role, Spec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import IntArray

CHECKED_AT_ONCE = 100_000

log = logging.getLogger(__name__)


class Places:
    """Which row of an array each id has; -1 for none."""

    def __init__(self, ids: Sequence[str], path: Path) -> None:
        encoded: NDArray[np.bytes_] = np.array([name.encode() for name in ids], dtype=np.bytes_)
        self._order = np.argsort(encoded, kind="stable")
        self._sorted = encoded[self._order]
        again = np.flatnonzero(self._sorted[1:] == self._sorted[:-1])
        if len(again):
            rows = self._order[again[0] : again[0] + 2] + 1
            raise ModelRefused(
                f"{path} holds {self._sorted[again[0]].decode()} twice",
                f"in rows {rows[0]} and {rows[1]}; nothing says which vector is meant",
            )

    def of(self, ids: Sequence[str]) -> IntArray:
        """(len(ids),) rows."""
        if not len(self._sorted):
            return np.full(len(ids), -1, dtype=np.int64)
        wanted = np.array([name.encode() for name in ids], dtype=np.bytes_)
        at = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        return np.where(self._sorted[at] == wanted, self._order[at], -1)

    def some(self) -> str:
        """An id, to show what they look like."""
        return str(self._sorted[0].decode()) if len(self._sorted) else "none"


class ArrayEmbedder:
    """Rows of an array. A patent without one has the zero vector, and its tuples are undefined."""

    def __init__(self, spec: Spec, rows: NamedRows, path: Path, *, allow_missing: bool) -> None:
        self.spec = spec
        self.device = "cpu"
        self.provenance: Mapping[str, Any] = {**versions("numpy"), "file": path.name}
        self._values = rows.values
        self._places = Places(rows.names, path)
        self._path = path
        self._allow_missing = allow_missing

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for the patent whose publication number is texts[i]."""
        vectors = np.zeros((len(texts), self.spec.dim), dtype=np.float32)
        places = self._places.of(texts)
        is_there = places >= 0
        try:
            with np.errstate(over="raise"):
                vectors[is_there] = self._values[places[is_there]]
        except FloatingPointError as error:
            raise ModelRefused(
                f"{self._path} holds numbers that float32 cannot hold", str(error)
            ) from error
        return Encoded(unit_length(vectors) if self.spec.identity["normalize"] else vectors)

    def check_run(self, texts: Iterable[str]) -> None:
        """Counts the patents without a vector, and refuses a run where they are the most."""
        stream, n_texts, n_missing, example = iter(texts), 0, 0, ""
        while numbers := list(islice(stream, CHECKED_AT_ONCE)):
            lacks = np.flatnonzero(self._places.of(numbers) < 0)
            n_texts, n_missing = n_texts + len(numbers), n_missing + len(lacks)
            example = example or (numbers[lacks[0]] if len(lacks) else "")
        said = f"{n_missing:,} of {n_texts:,} patents have no vector in {self._path.name}"
        if 2 * n_missing > n_texts and not self._allow_missing:
            raise ModelRefused(
                said,
                f"missing is {example!r}; the file holds {self._places.some()!r}",
                "if that is meant, allow it: --set allow_missing=true",
            )
        if n_missing:
            log.warning("%s, such as %s: their tuples are undefined", said, example)
        self.provenance = {**self.provenance, "n_without_vector": n_missing}


def load(resolved: Resolved, context: Context) -> ArrayEmbedder:
    """The vectors of an .npy, .safetensors or .parquet file, memory-mapped.

    Errors: ModelRefused where the file and its ids cannot be read, or do not belong together.
    """
    settings = resolved.settings
    path = Path(settings["model"])
    ids = Path(settings["ids"]) if settings["ids"] else None
    rows = read_rows(path, ids, settings, context.cache_path)
    digest = unchanged_digest(path)
    columns = ("tensor", "id_column", "vector_column")
    identity = {
        "embedder": "vectors",
        "weights": digest,
        "ids": ids and file_digest(ids),
        **{name: settings[name] for name in columns},
        "truncate_dim": None,
        "normalize": settings["normalize"],
        "prompts": {"query": "", "document": ""},
        "storage": settings["storage"],
        "text": settings["text"],
    }
    spec = Spec(resolved.label, identity, rows.values.shape[1])
    return ArrayEmbedder(spec, rows, path, allow_missing=settings["allow_missing"])
