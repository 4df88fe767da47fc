"""Which files hold the vectors of a spec, and what a row of each is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from patcache.records import Spec
from patcache.vectors.npyfile import NpyFile

KEYS = "keys"
DTYPES: Mapping[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2")}


def files_of(folder: Path, spec: Spec) -> dict[str, NpyFile]:
    """The files of a spec in the order they are written, the keys last."""
    numbers = DTYPES[spec.storage]
    keys = {KEYS: NpyFile(folder / "keys.npy", np.dtype("u1"), 16)}
    if spec.sparse:
        return {
            "indices": NpyFile(folder / "indices.npy", np.dtype("<i4")),
            "data": NpyFile(folder / "data.npy", numbers),
            "indptr": NpyFile(folder / "indptr.npy", np.dtype("<i8")),
            **keys,
        }
    return {"vectors": NpyFile(folder / "vectors.npy", numbers, spec.dim), **keys}
