"""One target's candidates by counting: for the few whose levels are short of suitable patents.

Slow and sure. It makes the draws of `tuples` in their order, and adds what those leave to luck:
no choice may take the last text that another level needs, and where 17 draws find nothing the
level is listed and one of its suitable patents chosen by the next word.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.draws import indices, streams, words
from patcache.kernels.plan import TRIES, Plan, Slot, is_allowed
from patcache.kernels.population import ALONE, Population

if TYPE_CHECKING:
    from patcache.records import IntArray

FIRST_BLOCK = 64
LARGEST_BLOCK = 1 << 16
UNIQUE = -2  # position p alone with its text is text UNIQUE - p; shared texts are 0, 1, ...


@dataclass(frozen=True, slots=True)
class _Target:
    """A target with the texts of its scarce levels: those with fewer texts than candidates."""

    patents: Population
    plan: Plan
    position: int
    scarce: dict[int, frozenset[int]]


def draw_exactly(patents: Population, position: int, plan: Plan) -> IntArray | None:
    """The candidates of one target, or None where no choice fills every level.

    Shapes: -> (m,), in gold order.
    Units:  positions in the population.
    Source: levels as demands and texts as supplies: a bipartite matching (Kuhn 1955) says whether
            what remains can be filled.
    Errors: ValueError for a wrong seed.
    """
    target = _target(patents, position, plan)
    slots = list(plan.slots)
    if not _can_fill(target, slots, ()):
        return None
    candidates = np.full(len(slots), ALONE, dtype=np.int64)
    used: set[int] = set()
    for number, slot in enumerate(slots):
        found = _draw_slot(target, slot, slots[number + 1 :], used)
        candidates[slot.column] = found
        used.add(_text(patents, found))
    return candidates


def can_draw_exactly(patents: Population, position: int, plan: Plan) -> bool:
    """Whether some choice fills every level of a target: reads no more of a level than it must."""
    return _can_fill(_target(patents, position, plan), list(plan.slots), ())


def _target(patents: Population, position: int, plan: Plan) -> _Target:
    scarce = {
        level: texts
        for level in set(plan.levels)
        if len(texts := _texts_up_to(patents, plan, position, level)) < len(plan.levels)
    }
    return _Target(patents, plan, position, scarce)


def _draw_slot(target: _Target, slot: Slot, later: list[Slot], used: set[int]) -> int:
    owner = np.array([target.position])
    stream = streams(target.plan.seed, target.patents.words[owner])
    size = target.patents.sizes(slot.level, owner)
    for attempt in range(TRIES):
        index = indices(words(stream, slot.level, slot.draw(attempt)), size)
        found = target.patents.at(slot.level, owner, index)
        if is_allowed(target.patents, target.plan, slot.level, owner, found)[0] and _suits(
            target, _text(target.patents, int(found[0])), later, used
        ):
            return int(found[0])
    remaining = _suitable(target, slot, later, used)
    word = words(stream, slot.level, slot.draw(TRIES))
    return int(remaining[indices(word, np.array([len(remaining)]))[0]])


def _suitable(target: _Target, slot: Slot, later: list[Slot], used: set[int]) -> IntArray:
    """Every patent that could be drawn for a slot, in order of position."""
    blocks = list(_allowed_blocks(target.patents, target.plan, target.position, slot.level))
    found: IntArray = np.concatenate(blocks)
    scarce = frozenset().union(*target.scarce.values())
    taken = used | {text for text in scarce if not _suits(target, text, later, used)}
    return found[~np.isin(_texts(target.patents, found), list(taken))]


def _suits(target: _Target, text: int, later: list[Slot], used: set[int]) -> bool:
    return text not in used and _can_fill(target, later, {*used, text})


def _can_fill(target: _Target, slots: list[Slot], used: Collection[int]) -> bool:
    """Whether every slot at a scarce level can have a text of its own; the others always can."""
    owner_of: dict[int, int] = {}
    wanted = [slot.level for slot in slots if slot.level in target.scarce]

    def place(slot: int, seen: set[int]) -> bool:
        for text in sorted(target.scarce[wanted[slot]]):
            if text in used or text in seen:
                continue
            seen.add(text)
            if text not in owner_of or place(owner_of[text], seen):
                owner_of[text] = slot
                return True
        return False

    return all(place(slot, set()) for slot in range(len(wanted)))


def _texts_up_to(patents: Population, plan: Plan, position: int, level: int) -> frozenset[int]:
    """The texts at a level; reading stops once there are as many as candidates."""
    texts: set[int] = set()
    for block in _allowed_blocks(patents, plan, position, level):
        texts.update(np.unique(_texts(patents, block))[: len(plan.levels)].tolist())
        if len(texts) >= len(plan.levels):
            break
    return frozenset(texts)


def _allowed_blocks(
    patents: Population, plan: Plan, position: int, level: int
) -> Iterator[IntArray]:
    """The patents allowed at a level, in order, block by block; the first blocks are small."""
    size = int(patents.sizes(level, np.array([position]))[0])
    start, width = 0, FIRST_BLOCK
    while start < size:
        index = np.arange(start, min(start + width, size))
        owners = np.full(len(index), position)
        found = patents.at(level, owners, index)
        yield found[is_allowed(patents, plan, level, owners, found)]
        start, width = start + width, min(2 * width, LARGEST_BLOCK)


def _texts(patents: Population, found: IntArray) -> IntArray:
    """A number for the text of each patent, the same for the same text: (P,)."""
    texts = patents.texts[found].astype(np.int64)
    return np.where(texts == ALONE, UNIQUE - found, texts)


def _text(patents: Population, found: int) -> int:
    return int(_texts(patents, np.array([found]))[0])
