"""Finding rows by text key, fast for millions: keys are hashes, so eight bytes nearly tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import IntArray, KeyArray


class KeyIndex:
    """Which row holds a key.

    Shapes: keys (n, 16) uint8, all different.
    """

    def __init__(self, keys: KeyArray) -> None:
        first, second = _halves(keys)
        self._order = np.argsort(first, kind="stable")
        self._first = first[self._order]
        self._second = second[self._order]

    def rows_of(self, keys: KeyArray) -> IntArray:
        """Row of each key (len(keys),); -1 where there is none."""
        first, second = _halves(keys)
        rows = np.full(len(first), -1, dtype=np.int64)
        place = np.searchsorted(self._first, first)
        asked = np.arange(len(first))
        while len(asked):  # once, but for keys that share their first eight bytes
            inside = place < len(self._first)
            asked, place = asked[inside], place[inside]
            same = self._first[place] == first[asked]
            asked, place = asked[same], place[same]
            hit = self._second[place] == second[asked]
            rows[asked[hit]] = self._order[place[hit]]
            asked, place = asked[~hit], place[~hit] + 1
        return rows


def first_of_each(keys: KeyArray) -> IntArray:
    """Positions of the first occurrence of each distinct key, ascending."""
    first, second = _halves(keys)
    order = np.lexsort((second, first))  # stable: equal keys stay in order of position
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (first[order[1:]] != first[order[:-1]]) | (second[order[1:]] != second[order[:-1]])
    return np.sort(order[is_new]).astype(np.int64)


def _halves(keys: KeyArray) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    numbers = np.ascontiguousarray(keys).view(np.uint64).reshape(-1, 2)
    return numbers[:, 0].copy(), numbers[:, 1].copy()
