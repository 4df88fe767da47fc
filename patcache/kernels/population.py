"""Patents sorted so that every level of every target is at most two contiguous ranges.

Sorted by (year, code, publication number), the patents of a year that share a section, class,
subclass, main group or code stand side by side. The candidates of level d + 1 are then the group
of depth d without the group of depth d + 1: a random index below their number is a candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.kernels.levels import CodeTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import BoolArray, IntArray

N_LEVELS = 6
ALONE = -1  # shares its text, or its family, with no other patent of its year


@dataclass(frozen=True, slots=True)
class Population:
    """N sorted patents in G leaves, a leaf being the patents of one year and code.

    Shapes: years (N,) int16; codes, leaves (N,) int32; words (N,) uint64; texts, families (N,)
    int32, equal for patents of a year that share one, else ALONE; starts, ends (7, G) int32,
    first and past-the-end position of each leaf's group of depth 0-5 (row 6 is empty: level 6
    leaves out the target alone); n_repeated (6, G) int32, candidates of each level, from 1, whose
    text occurs again in the year.
    Units: positions in the sorted order, 0 .. N - 1.
    """

    years: NDArray[np.int16]
    codes: NDArray[np.int32]
    leaves: NDArray[np.int32]
    words: NDArray[np.uint64]
    texts: NDArray[np.int32]
    families: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    n_repeated: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.leaves)

    def sizes(self, level: int, positions: IntArray) -> IntArray:
        """How many patents stand at a level of each target, nobody excluded: (T,)."""
        leaves = self.leaves[positions]
        sizes: IntArray = self.ends[level - 1, leaves].astype(np.int64)
        sizes -= self.starts[level - 1, leaves]
        if level == N_LEVELS:
            return sizes - 1
        sizes -= self.ends[level, leaves] - self.starts[level, leaves]
        return sizes

    def at(self, level: int, positions: IntArray, index: IntArray) -> IntArray:
        """The patent at an index, 0 .. size - 1, among those at a level of each target: (T,)."""
        leaves = self.leaves[positions]
        found: IntArray = self.starts[level - 1, leaves] + index
        if level == N_LEVELS:
            found += found >= positions
            return found
        start, end = self.starts[level, leaves], self.ends[level, leaves]
        found += np.where(found >= start, end - start, 0)
        return found


def population(
    years: NDArray[np.int16],
    codes: NDArray[np.int32],
    words: NDArray[np.uint64],
    texts: NDArray[np.int32],
    families: NDArray[np.int32],
    tree: CodeTree,
) -> Population:
    """The groups of patents that come sorted by (year, code, publication number).

    Shapes: all (N,); codes are numbers in the tree; texts and families are equal where shared,
            negative where unknown or shared with nobody.
    Units:  positions.
    Source: one pass over the leaves; nothing is sorted here but patents with a shared text.
    Errors: ValueError where the patents are not sorted.
    """
    key = years.astype(np.int64) * max(1, len(tree.codes)) + codes
    step = np.diff(key)
    if (step < 0).any():
        raise ValueError("patents are not sorted by year and code")
    first = np.flatnonzero(np.concatenate([np.ones(min(1, len(key)), bool), step > 0]))
    leaves = np.zeros(len(key), dtype=np.int32)
    leaves[first[1:]] = 1
    np.cumsum(leaves, out=leaves)
    starts, ends = _group_bounds(years[first], tree.groups[:, codes[first]], first, len(key))
    shared_texts = shared_in_year(texts, years)
    n_repeated = _count_levels(shared_texts != ALONE, starts, ends)
    return Population(
        years, codes, leaves, words, shared_texts, shared_in_year(families, years),
        starts, ends, n_repeated,
    )  # fmt: skip


def shared_in_year(labels: NDArray[np.int32], years: NDArray[np.int16]) -> NDArray[np.int32]:
    """Labels numbered anew, one for each (label, year) of two patents or more, else ALONE: (N,)."""
    found = np.full(len(labels), ALONE, dtype=np.int32)
    known = np.flatnonzero(labels >= 0)
    if len(known):
        key = labels[known].astype(np.int64) << 16 | years[known].astype(np.int64)
        _, numbers, counts = np.unique(key, return_inverse=True, return_counts=True)
        found[known] = np.where(counts[numbers] > 1, numbers, ALONE)
    return found


def available(patents: Population, positions: IntArray, excluded: Excluded) -> NDArray[np.int32]:
    """How many patents each target may draw from at each level, exclusions taken off.

    Shapes: positions (T,) -> (6, T), level 1 first.
    Units:  patents.
    Source: size of the level minus the excluded members of the two groups that bound it.
    Errors: none.
    """
    found = np.stack([patents.sizes(level, positions) for level in range(1, N_LEVELS + 1)])
    row = np.searchsorted(excluded.positions, positions)
    row[row == len(excluded.positions)] = 0
    if len(excluded.positions):
        touched = np.flatnonzero(excluded.positions[row] == positions)
        found[:, touched] -= excluded.counts[:, row[touched]]
    return found.astype(np.int32)


@dataclass(frozen=True, slots=True)
class Excluded:
    """How many patents each of S targets may not take, for sharing its text or family.

    Shapes: positions (S,) ascending; counts (6, S) int32, level 1 first.
    """

    positions: IntArray
    counts: NDArray[np.int32]


def excluded(patents: Population) -> Excluded:
    """The targets that share a text or a family with others of their year, and what that costs.

    Shapes: -> (S,) and (6, S).
    Units:  patents.
    Source: members of a group by text plus those by family minus those by both, per depth.
    Errors: none.
    """
    by_text, by_family = patents.texts != ALONE, patents.families != ALONE
    touched = np.flatnonzero(by_text | by_family)
    leaves, texts, families = (
        column[touched] for column in (patents.leaves, patents.texts, patents.families)
    )
    both = texts.astype(np.int64) << 32 | families
    both[(texts == ALONE) | (families == ALONE)] = ALONE
    members = np.zeros((N_LEVELS + 1, len(touched)), dtype=np.int32)
    for depth in range(N_LEVELS):
        groups = patents.starts[depth, leaves]
        members[depth] = _run_lengths(texts, groups) + _run_lengths(families, groups)
        members[depth] -= _run_lengths(both, groups)
    members[N_LEVELS] = 1  # level 6 leaves out the target itself
    return Excluded(touched, members[:-1] - members[1:])


def _run_lengths(labels: NDArray[Any], groups: NDArray[np.int32]) -> NDArray[np.int32]:
    """How many patents, of those given, have the label and the group of each; 0 where ALONE."""
    lengths = np.zeros(len(labels), dtype=np.int32)
    known = np.flatnonzero(labels != ALONE)
    order = known[np.argsort(labels[known], kind="stable")]  # groups stay in ascending order
    is_new = np.ones(len(order), dtype=bool)
    for column in (labels[order], groups[order]):
        is_new[1:] &= column[1:] == column[:-1]
    is_new[1:] = ~is_new[1:]
    runs = np.diff(np.append(np.flatnonzero(is_new), len(order)))
    lengths[order] = np.repeat(runs, runs)
    return lengths


def _group_bounds(
    years: NDArray[np.int16], groups: NDArray[np.int32], first: IntArray, n_patents: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Start and end (7, G) of the group of each depth that each leaf stands in."""
    n_leaves = len(first)
    edges = np.append(first, n_patents)
    starts = np.zeros((N_LEVELS + 1, n_leaves), dtype=np.int32)
    ends = np.zeros_like(starts)
    is_new = np.ones(n_leaves, dtype=bool)
    is_new[1:] = years[1:] != years[:-1]
    for depth in range(N_LEVELS):
        if depth:
            is_new[1:] |= groups[depth - 1, 1:] != groups[depth - 1, :-1]
        heads = np.flatnonzero(is_new)
        sizes = np.diff(np.append(heads, n_leaves))
        starts[depth] = np.repeat(edges[heads], sizes)
        ends[depth] = np.repeat(edges[heads + sizes], sizes)
    return starts, ends


def _count_levels(
    is_counted: BoolArray, starts: NDArray[np.int32], ends: NDArray[np.int32]
) -> NDArray[np.int32]:
    """How many counted patents stand at each level of each leaf (6, G); level 6 counts the leaf."""
    before = np.concatenate([np.zeros(1, np.int32), is_counted.cumsum(dtype=np.int32)])
    inside: NDArray[np.int32] = before[ends] - before[starts]
    return inside[:-1] - inside[1:]
