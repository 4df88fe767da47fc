"""Label noise: candidates that share more with their target, by some pair of codes, than they say.

A level is that of the main codes. Where secondary codes share a deeper one, the gold order may be
wrong for that candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.levels import CodeLists, code_tree, deepest_levels
from patcache.records import TupleSet
from patcache.store.population import CodeColumns, read_codes

if TYPE_CHECKING:
    from patcache.records import BoolArray, IntArray
    from patcache.store.folder import StoreFolder

CHUNK_TUPLES = 1 << 18


@dataclass(frozen=True, slots=True)
class Noise:
    """by_cell: (year, section) -> level -> (pairs drawn, pairs that share a deeper level)."""

    by_cell: Mapping[tuple[int, str], Mapping[int, tuple[int, int]]]

    @property
    def n_pairs(self) -> int:
        return sum(pairs for levels in self.by_cell.values() for pairs, _ in levels.values())

    @property
    def n_deeper(self) -> int:
        return sum(deeper for levels in self.by_cell.values() for _, deeper in levels.values())


def label_noise(store: StoreFolder, tuples: TupleSet) -> Noise:
    """How many pairs of each cell and level share a deeper level by any of their codes."""
    is_deeper = np.zeros(tuples.candidates.shape, dtype=bool)
    for start in range(0, len(tuples.ids), CHUNK_TUPLES):
        rows = slice(start, start + CHUNK_TUPLES)
        is_deeper[rows] = _is_deeper(store, tuples, rows)
    return Noise(dict(_counted(tuples, is_deeper)))


def are_ipc_levels(store: StoreFolder, tuples: TupleSet) -> bool:
    """Whether every candidate's level is the one its main code shares with the target's."""
    if not set(tuples.shape.levels) <= set(range(1, 7)):
        return False
    involved = np.unique(np.append(tuples.candidates.ravel(), tuples.targets))
    codes = read_codes(store, involved)
    main = CodeLists(np.arange(len(involved) + 1), codes.codes[codes.offsets[:-1]])
    tree, owners = code_tree(codes.names), np.searchsorted(involved, tuples.targets)
    return all(
        bool((deepest_levels(tree, main, owners, np.searchsorted(involved, column)) == level).all())
        for level, column in zip(tuples.shape.levels, tuples.candidates.T, strict=True)
    )


def _is_deeper(store: StoreFolder, tuples: TupleSet, rows: slice) -> BoolArray:
    targets, candidates = tuples.targets[rows], tuples.candidates[rows]
    involved = np.unique(np.append(candidates.ravel(), targets))
    codes = read_codes(store, involved)
    tree, lists = code_tree(codes.names), _lists(codes)
    owners = np.searchsorted(involved, targets)
    columns = [
        deepest_levels(tree, lists, owners, np.searchsorted(involved, column)) > level
        for level, column in zip(tuples.shape.levels, candidates.T, strict=True)
    ]
    return np.stack(columns, axis=1)


def _counted(
    tuples: TupleSet, is_deeper: BoolArray
) -> Iterator[tuple[tuple[int, str], dict[int, tuple[int, int]]]]:
    levels = np.array(tuples.shape.levels)
    for cell, rows in _rows_by_cell(tuples):
        deeper = is_deeper[rows].sum(axis=0)
        yield (
            cell,
            {
                level: (
                    int(len(rows) * (levels == level).sum()),
                    int(deeper[levels == level].sum()),
                )
                for level in sorted(set(tuples.shape.levels))
            },
        )


def _rows_by_cell(tuples: TupleSet) -> Iterator[tuple[tuple[int, str], IntArray]]:
    letters = np.ascontiguousarray(tuples.sections.astype("U1")).view(np.uint32)
    keys = tuples.years.astype(np.int64) * 256 + letters
    order = np.argsort(keys, kind="stable")
    cells, first = np.unique(keys[order], return_index=True)
    for cell, rows in zip(cells.tolist(), np.split(order, first[1:]), strict=False):
        yield (cell // 256, chr(cell % 256)), rows


def _lists(codes: CodeColumns) -> CodeLists:
    return CodeLists(codes.offsets, codes.codes)
