"""Label noise: candidates that share more with their target, by some pair of codes, than they say.

A level is that of the main codes. Where secondary codes share a deeper one, the gold order may be
wrong for that candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.levels import CodeLists, CodeTree, code_tree, deepest_levels
from patcache.records import TupleSet
from patcache.store.population import read_codes

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
    if is_deeper.size:
        codes = _codes(store, tuples)
        for start in range(0, len(tuples.ids), CHUNK_TUPLES):
            rows = slice(start, start + CHUNK_TUPLES)
            is_deeper[rows] = _levels(codes, tuples, rows) > np.array(tuples.shape.levels)
    return Noise(dict(_counted(tuples, is_deeper)))


def are_ipc_levels(store: StoreFolder, tuples: TupleSet) -> bool:
    """Whether every candidate's level is the one its main code shares with the target's."""
    codes = _codes(store, tuples)
    main = CodeLists(
        np.arange(len(codes.lists.offsets)), codes.lists.codes[codes.lists.offsets[:-1]]
    )
    levels = _levels(replace(codes, lists=main), tuples, slice(None))
    return bool((levels == np.array(tuples.shape.levels)).all())


@dataclass(frozen=True, slots=True)
class _Codes:
    """The codes of the patents of a sample; row_of[patent_id] is their row in the lists."""

    tree: CodeTree
    lists: CodeLists
    row_of: IntArray


def _codes(store: StoreFolder, tuples: TupleSet) -> _Codes:
    is_involved = np.zeros(max(tuples.candidates.max(), tuples.targets.max()) + 1, dtype=bool)
    is_involved[tuples.candidates] = True
    is_involved[tuples.targets] = True
    codes = read_codes(store, np.flatnonzero(is_involved).astype(np.int32))
    row_of = np.cumsum(is_involved) - 1
    return _Codes(code_tree(codes.names), CodeLists(codes.offsets, codes.codes), row_of)


def _levels(codes: _Codes, tuples: TupleSet, rows: slice) -> IntArray:
    """The deepest level of each pair of target and candidate (t, m)."""
    targets = codes.row_of[tuples.targets[rows]]
    columns = [
        deepest_levels(codes.tree, codes.lists, targets, codes.row_of[column])
        for column in tuples.candidates[rows].T
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
