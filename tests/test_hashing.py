"""Keys are what anybody computes with sha256."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from patcache.hashing import pair_keys, text_keys


def test_the_key_of_a_pair_is_of_both_keys_and_tells_who_asks() -> None:
    one, other = sha256(b"one").digest()[:16], sha256(b"other").digest()[:16]
    found = pair_keys(text_keys(["one", "other", "one"]), text_keys(["other", "one", "one"]))
    wanted = [one + other, other + one, one + one]
    assert [row.tobytes() for row in found] == [sha256(key).digest()[:16] for key in wanted]
    assert (found.dtype, found.shape) == (np.uint8, (3, 16))


def test_no_pairs_have_no_keys() -> None:
    assert pair_keys(text_keys([]), text_keys([])).shape == (0, 16)
