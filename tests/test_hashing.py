"""Keys are what anybody computes with sha256."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from patcache import hashing
from patcache.hashing import pair_keys, text_keys, unchanged_digest


def test_the_key_of_a_pair_is_of_both_keys_and_tells_who_asks() -> None:
    one, other = sha256(b"one").digest()[:16], sha256(b"other").digest()[:16]
    found = pair_keys(text_keys(["one", "other", "one"]), text_keys(["other", "one", "one"]))
    wanted = [one + other, other + one, one + one]
    assert [row.tobytes() for row in found] == [sha256(key).digest()[:16] for key in wanted]
    assert (found.dtype, found.shape) == (np.uint8, (3, 16))


def test_no_pairs_have_no_keys() -> None:
    assert pair_keys(text_keys([]), text_keys([])).shape == (0, 16)


def test_an_unchanged_file_is_read_once_and_a_changed_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    digest_of = hashing.file_digest

    def counted(path: Path) -> str:
        read.append(path)
        return digest_of(path)

    monkeypatch.setattr(hashing, "file_digest", counted)
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    os.utime(path, ns=(1, 1))
    assert [unchanged_digest(path) for _ in range(3)] == [sha256(b"one").hexdigest()] * 3
    path.write_bytes(b"two")  # as long, and later
    assert unchanged_digest(path) == sha256(b"two").hexdigest()
    assert len(read) == 2
