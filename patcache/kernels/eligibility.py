"""Which patents can be targets, exactly, and at which levels the others are short."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.draws import streams, words
from patcache.kernels.plan import Plan
from patcache.kernels.population import N_LEVELS, Excluded, Population, available
from patcache.kernels.tuples import can_draw

if TYPE_CHECKING:
    from patcache.kernels.draws import WordArray
    from patcache.records import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Verdict on each of T patents, for the L different levels of a plan, ascending.

    Shapes: is_eligible (T,); is_short (L, T), fewer suitable texts at the level than wanted.
    """

    is_eligible: BoolArray
    is_short: BoolArray


def eligibility(
    patents: Population, excluded: Excluded, positions: IntArray, plan: Plan
) -> Eligibility:
    """Who has enough candidates at every level at once, after exclusions, and who lacks where.

    Shapes: positions (T,) -> (T,) and (L, T).
    Units:  none.
    Source: the number of patents at a level less the excluded settles most; where texts repeat, or
            any code counts, a level is short exactly when nothing can be drawn at it, and a target
            is eligible exactly when a whole tuple can be drawn for it.
    Errors: none.
    """
    n_available = available(patents, positions, excluded)
    levels = sorted(set(plan.levels))
    is_short = np.zeros((len(levels), len(positions)), dtype=bool)
    is_sure = np.ones(len(positions), dtype=bool)  # whatever is chosen, every level is filled
    for row, level in enumerate(levels):
        wanted = plan.levels.count(level)
        n_patents = n_available[level - 1]
        n_alone = n_patents - patents.n_repeated[level - 1, patents.leaves[positions]]
        is_short[row] = n_patents < wanted
        by_main = plan.tree is None or level == N_LEVELS
        is_enough = (n_alone >= wanted) & by_main
        is_sure &= is_enough
        if wanted > 1 or not by_main:
            _settle(patents, positions, plan.only(level), is_short[row], is_enough)
    is_eligible: BoolArray = np.logical_and.reduce(~is_short, axis=0)
    _settle_tuples(patents, positions, plan, is_eligible, is_sure)
    return Eligibility(is_eligible, is_short)


def chosen_targets(
    patents: Population, eligible: IntArray, groups: IntArray, quotas: dict[int, int], seed: int
) -> IntArray:
    """The targets of each group: its eligible patents with the smallest hash words, uniformly.

    Shapes: eligible (E,) ascending positions, groups (E,) -> positions, ascending.
    Units:  positions; quotas in targets a group.
    Source: the k smallest of independent uniform words are a uniform sample without replacement.
    Errors: KeyError for a group without a quota.
    """
    order = np.argsort(groups, kind="stable")
    numbers, first = np.unique(groups[order], return_index=True)
    edges = [*first.tolist(), len(order)]
    key = words(streams(seed, patents.words[eligible]), level=0, draw=0)
    kept = [
        _smallest(order[low:high], key, quotas[number])
        for number, (low, high) in zip(numbers.tolist(), pairwise(edges), strict=True)
    ]
    rows = np.sort(np.concatenate([*kept, np.empty(0, dtype=np.int64)]))
    targets: IntArray = eligible[rows]
    return targets


def _smallest(rows: IntArray, key: WordArray, quota: int) -> IntArray:
    if len(rows) <= quota:
        return rows
    if quota <= 0:
        return rows[:0]
    largest = np.partition(key[rows], quota - 1)[quota - 1]
    smallest: IntArray = rows[key[rows] <= largest][:quota]
    return smallest


def _settle(
    patents: Population, positions: IntArray, plan: Plan, is_short: BoolArray, is_enough: BoolArray
) -> None:
    """Marks in is_short whatever of the undecided cannot be drawn at the level of the plan."""
    undecided = np.flatnonzero(~is_short & ~is_enough)
    is_short[undecided] = ~can_draw(patents, positions[undecided], plan)


def _settle_tuples(
    patents: Population, positions: IntArray, plan: Plan, is_eligible: BoolArray, is_sure: BoolArray
) -> None:
    """Takes from is_eligible those for whom no whole tuple can be drawn."""
    undecided = np.flatnonzero(is_eligible & ~is_sure)
    is_eligible[undecided] = can_draw(patents, positions[undecided], plan)
