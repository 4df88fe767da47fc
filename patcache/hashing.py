"""The key of a text and of a spec: the one place where patcache hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from patcache.records import KeyArray

KEY_BYTES = 16
SPEC_ID_DIGITS = 16


def text_key(text: str) -> bytes:
    """First 16 bytes of sha256 of the UTF-8 text; in SQL `unhex(substr(sha256(t), 1, 32))`."""
    return hashlib.sha256(text.encode("utf-8")).digest()[:KEY_BYTES]


def text_keys(texts: Sequence[str]) -> KeyArray:
    """Keys (n, 16) uint8, row i for texts[i]."""
    import numpy as np

    joined = b"".join(map(text_key, texts))
    return np.frombuffer(joined, dtype=np.uint8).reshape(len(texts), KEY_BYTES)


def pair_keys(queries: KeyArray, documents: KeyArray) -> KeyArray:
    """Keys of pairs of texts, which tell who asks: first 16 bytes of sha256 of both keys.

    Shapes: queries (n, 16), documents (n, 16): keys of their texts, prompt included -> (n, 16).
    """
    import numpy as np

    both = np.concatenate([queries, documents], axis=1).tobytes()
    step = 2 * KEY_BYTES
    starts = range(0, len(both), step)
    joined = b"".join(hashlib.sha256(both[at : at + step]).digest()[:KEY_BYTES] for at in starts)
    return np.frombuffer(joined, dtype=np.uint8).reshape(len(queries), KEY_BYTES)


def canonical_json(value: Mapping[str, Any]) -> str:
    """JSON with sorted keys and no optional white space: equal settings, equal bytes."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def settings_digest(value: Mapping[str, Any]) -> str:
    """First 16 hex digits of sha256 of the canonical JSON: a spec_id, scoring_id or request key."""
    return hashlib.sha256(canonical_json(value).encode("utf-8")).hexdigest()[:SPEC_ID_DIGITS]


def keys_digest(keys: Iterable[bytes]) -> str:
    """sha256 over the given keys in the given order; sort them first where order must not count."""
    digest = hashlib.sha256()
    for key in keys:
        digest.update(key)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """sha256 of a file's bytes, as 64 hex digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def unchanged_digest(path: Path) -> str:
    """file_digest of a large file that is asked for again and again: a model's weights.

    Computed once a process for one size and time of change, by which requests are known too.
    """
    stat = path.stat()
    return _digest_at(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=1024)
def _digest_at(path: Path, _size: int, _mtime_ns: int) -> str:
    return file_digest(path)
