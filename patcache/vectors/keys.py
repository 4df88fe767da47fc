"""Finding rows by text key, fast for millions: keys are hashes, so eight bytes nearly tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import IntArray, KeyArray


class KeyIndex:
    """Which row holds a key: 12 bytes of memory a key, beside the keys where they lie.

    Shapes: keys (n, 16) uint8, all different, fewer than 2**32.
    """

    def __init__(self, keys: KeyArray) -> None:
        first = _numbers(keys)[:, 0]
        self._keys = keys
        self._order = np.argsort(first, kind="stable").astype(np.uint32)
        self._first = first[self._order]

    def rows_of(self, keys: KeyArray) -> IntArray:
        """Row of each key (len(keys),); -1 where there is none."""
        first, second = _halves(keys)
        rows = np.full(len(first), -1, dtype=np.int64)
        asked = np.argsort(first)  # in order, the search walks through memory once
        place = np.searchsorted(self._first, first[asked])
        while len(asked):  # once, but for keys that share their first eight bytes
            inside = place < len(self._first)
            asked, place = asked[inside], place[inside]
            same = self._first[place] == first[asked]
            asked, place = asked[same], place[same]
            found = self._order[place].astype(np.int64)
            hit = _numbers(self._keys[found])[:, 1] == second[asked]
            rows[asked[hit]] = found[hit]
            asked, place = asked[~hit], place[~hit] + 1
        return rows


def rows_in_order(stored: KeyArray, keys: KeyArray) -> IntArray:
    """Row i for keys[i] where row i has that key, else -1: without an index, in one pass."""
    rows = np.full(len(keys), -1, dtype=np.int64)
    n_both = min(len(stored), len(keys))
    if n_both:
        ours, theirs = _numbers(stored[:n_both]), _numbers(keys[:n_both])
        place = np.flatnonzero((ours[:, 0] == theirs[:, 0]) & (ours[:, 1] == theirs[:, 1]))
        rows[place] = place
    return rows


def first_of_each(keys: KeyArray) -> IntArray:
    """Positions of the first occurrence of each distinct key, ascending."""
    first, second = _halves(keys)
    order = np.argsort(first, kind="stable")  # equal halves stay in order of position
    is_same = first[order[1:]] == first[order[:-1]]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_shared = np.zeros(len(order), dtype=np.bool_)
    is_shared[1:] |= is_same
    is_shared[:-1] |= is_same
    shared = order[is_shared]
    shared = shared[np.lexsort((second[shared], first[shared]))]
    is_again = (first[shared[1:]] == first[shared[:-1]]) & (
        second[shared[1:]] == second[shared[:-1]]
    )
    is_first[shared[1:][is_again]] = False
    return np.flatnonzero(is_first)


def _halves(keys: KeyArray) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    numbers = _numbers(keys)
    return numbers[:, 0].copy(), numbers[:, 1].copy()


def _numbers(keys: KeyArray) -> NDArray[np.uint64]:
    return np.ascontiguousarray(keys).view(np.uint64).reshape(-1, 2)
