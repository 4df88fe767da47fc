"""The tree of IPC codes as numbers: groups of every depth, and the deepest level two patents share.

Depths: 0 the year, 1 section, 2 class, 3 subclass, 4 main group, 5 code. Two codes that agree down
to depth d, and no further, are at level d + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import IntArray

N_DEPTHS = 5
CHUNK_PAIRS = 1 << 22  # pairs of codes compared at a time: 32 MB


@dataclass(frozen=True, slots=True)
class CodeTree:
    """Distinct codes in order and the groups they fall in.

    Shapes: groups (5, C) int32, non-decreasing along C, the number of each code's section, class,
    subclass, main group and itself; paths (C,) int64, the five ranks inside the parent packed into
    one word, the section highest; thresholds (5,) int64: two codes share depth d exactly where the
    exclusive or of their paths is below thresholds[d - 1].
    """

    codes: tuple[str, ...]
    groups: NDArray[np.int32]
    paths: IntArray
    thresholds: IntArray


@dataclass(frozen=True, slots=True)
class CodeLists:
    """The codes of each of n patents, at least one: codes[offsets[i]:offsets[i + 1]].

    Shapes: offsets (n + 1,) int64; codes (K,) int32, numbers in a CodeTree.
    """

    offsets: IntArray
    codes: NDArray[np.int32]


def code_tree(codes: Sequence[str]) -> CodeTree:
    """The tree of canonical codes ("A61B 5/00"), whose text begins with the names of its levels.

    Shapes: C codes -> a tree of C codes.
    Units:  none.
    Source: IPC Guide: section, class, subclass, main group, subgroup.
    Errors: ValueError where codes are not in strictly ascending order.
    """
    if any(a >= b for a, b in pairwise(codes)):
        raise ValueError("codes are not in ascending order, each once")
    names = [(code[:1], code[:3], code[:4], code.partition("/")[0], code) for code in codes]
    by_depth = np.array(names, dtype=np.str_).reshape(len(codes), N_DEPTHS).T
    is_new = np.ones((N_DEPTHS, len(codes)), dtype=bool)
    is_new[:, 1:] = by_depth[:, 1:] != by_depth[:, :-1]
    np.logical_or.accumulate(is_new, axis=0, out=is_new)
    groups = (is_new.cumsum(axis=1) - 1).astype(np.int32)
    return CodeTree(tuple(codes), groups, *_packed_paths(groups, is_new))


def deepest_levels(tree: CodeTree, lists: CodeLists, a: IntArray, b: IntArray) -> IntArray:
    """The deepest level, 1 to 6, of any code of one patent with any code of another.

    Shapes: a (P,), b (P,), rows of the lists -> (P,).
    Units:  levels.
    Source: packed paths agree in their leading fields where the codes agree, so that the pair of
            codes with the smallest exclusive or is the deepest.
    Errors: none; every patent has a code.
    """
    n_pairs = lists.offsets[a + 1] - lists.offsets[a]
    n_pairs *= lists.offsets[b + 1] - lists.offsets[b]
    smallest = np.empty(len(a), dtype=np.int64)
    for start, stop in _chunks(n_pairs):
        rows = slice(start, stop)
        smallest[rows] = _smallest_difference(tree, lists, a[rows], b[rows], n_pairs[rows])
    levels: IntArray = 1 + (smallest[:, None] < tree.thresholds).sum(axis=1)
    return levels


def spread(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Rows repeated by their counts, and 0, 1, ... inside each: (sum of counts,) twice."""
    rows = np.repeat(np.arange(len(counts)), counts)
    first = np.repeat(counts.cumsum() - counts, counts)
    return rows, np.arange(len(rows)) - first


def _smallest_difference(
    tree: CodeTree, lists: CodeLists, a: IntArray, b: IntArray, n_pairs: IntArray
) -> IntArray:
    rows, inside = spread(n_pairs)
    width = (lists.offsets[b + 1] - lists.offsets[b])[rows]
    first = lists.codes[lists.offsets[a][rows] + inside // width]
    second = lists.codes[lists.offsets[b][rows] + inside % width]
    difference = tree.paths[first] ^ tree.paths[second]
    found: IntArray = np.minimum.reduceat(difference, n_pairs.cumsum() - n_pairs)
    return found


def _chunks(n_pairs: IntArray) -> list[tuple[int, int]]:
    """Spans of rows of about CHUNK_PAIRS pairs each, at least one row a span."""
    cuts = np.unique(n_pairs.cumsum() // CHUNK_PAIRS, return_index=True)[1]
    edges = [*cuts.tolist(), len(n_pairs)]
    return [(low, high) for low, high in pairwise(edges) if low < high]


def _packed_paths(
    groups: NDArray[np.int32], is_new: NDArray[np.bool_]
) -> tuple[IntArray, IntArray]:
    paths = np.zeros(groups.shape[1], dtype=np.int64)
    bits = []
    for depth, group in enumerate(groups):
        ranks = group.astype(np.int64)
        if depth:  # count from the first group of the parent
            starts = np.flatnonzero(is_new[depth - 1])
            ranks -= group[starts[groups[depth - 1]]]
        bits.append(int(ranks.max(initial=0)).bit_length())
        paths = (paths << bits[-1]) | ranks
    below = [sum(bits[depth + 1 :]) for depth in range(N_DEPTHS)]
    return paths, np.array([1 << shift for shift in below], dtype=np.int64)
