"""What a tuple is to hold, and who may stand in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.levels import CodeLists, CodeTree, deepest_levels
from patcache.kernels.population import ALONE, N_LEVELS, Population

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import BoolArray, IntArray

TRIES = 17  # the first draw and 16 more
DRAWS_PER_SLOT = 32  # counters of one slot: its tries, then the choice among all that remain


@dataclass(frozen=True, slots=True)
class Slot:
    """One candidate to draw: its column in gold order, level, and number inside the level."""

    column: int
    level: int
    number: int

    def draw(self, attempt: int) -> int:
        """The counter of an attempt."""
        return self.number * DRAWS_PER_SLOT + attempt


@dataclass(frozen=True, slots=True)
class Plan:
    """What to draw: the level of each candidate in gold order, the seed, and whose codes decide.

    tree, lists: given where the level by main codes must also be the deepest of any codes.
    """

    levels: tuple[int, ...]
    seed: int
    tree: CodeTree | None = None
    lists: CodeLists | None = None

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The candidates in the order they are drawn, deepest level first."""
        found = [
            Slot(column, level, column - self.levels.index(level))
            for column, level in enumerate(self.levels)
        ]
        return tuple(sorted(found, key=lambda slot: (-slot.level, slot.number)))

    def only(self, level: int) -> Plan:
        """The same for one level alone."""
        return replace(self, levels=(level,) * self.levels.count(level))


def is_allowed(
    patents: Population, plan: Plan, level: int, targets: IntArray, found: IntArray
) -> BoolArray:
    """Whether each patent may stand at a level of its target, other candidates aside: (P,)."""
    allowed: BoolArray = ~(_share(patents.texts, targets, found))
    allowed &= ~_share(patents.families, targets, found)
    if plan.tree is not None and plan.lists is not None and level < N_LEVELS:
        rows = np.flatnonzero(allowed)
        deepest = deepest_levels(plan.tree, plan.lists, targets[rows], found[rows])
        allowed[rows] = deepest == level
    return allowed


def _share(labels: NDArray[np.int32], a: IntArray, b: IntArray) -> BoolArray:
    first = labels[a]
    share: BoolArray = (first != ALONE) & (first == labels[b])
    return share
