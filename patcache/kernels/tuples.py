"""Candidates drawn for each target: uniform at every level, exclusions included.

Levels are filled from the deepest up. A candidate is drawn uniformly from the patents at its level
that are not excluded, share no text with a candidate already chosen, and leave enough for the
levels still to fill. An unsuitable draw is redrawn 16 times by its counter; then the target goes
to `exact`, which repeats the same draws and counts the rest out. A tuple completed here is what
`exact` would give: every choice did leave enough, since the later levels were filled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.draws import indices, streams, words
from patcache.kernels.exact import can_draw_exactly, draw_exactly
from patcache.kernels.levels import spread
from patcache.kernels.plan import TRIES, Plan, Slot, is_allowed
from patcache.kernels.population import ALONE, Population

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import BoolArray, IntArray

CHUNK_TARGETS = 1 << 18
CHUNK_COUNTED = 1 << 21
VERDICT_TRIES = 256
SMALL_LEVEL = 256  # patents at a level that are counted out in bulk


@dataclass(frozen=True, slots=True)
class Drawn:
    """Candidates in gold order, as positions; those of an incomplete tuple mean nothing.

    Shapes: candidates (T, m) int32; is_complete (T,).
    """

    candidates: NDArray[np.int32]
    is_complete: BoolArray


def draw(patents: Population, positions: IntArray, plan: Plan) -> Drawn:
    """The candidates of each target, or that there are not enough.

    Shapes: positions (T,) -> (T, m) and (T,).
    Units:  positions in the population.
    Source: a random index in at most two ranges per draw; exact enumeration where that fails.
    Errors: ValueError for a wrong seed.
    """
    candidates = _no_candidates(len(positions), plan)
    is_complete = np.zeros(len(positions), dtype=bool)
    for rows in _spans(len(positions), CHUNK_TARGETS):
        part = _draw_by_index(patents, positions[rows], plan)
        candidates[rows], is_complete[rows] = part.candidates, part.is_complete
    return Drawn(candidates, is_complete)


def can_draw(patents: Population, positions: IntArray, plan: Plan) -> BoolArray:
    """Which targets `draw` would find candidates for: the same verdict with less counting.

    Shapes: positions (T,) -> (T,).
    Units:  none.
    Source: what redraws fill can be filled; for the rest, the matching of levels and texts.
    Errors: ValueError for a wrong seed.
    """
    verdict = np.zeros(len(positions), dtype=bool)
    for rows in _spans(len(positions), CHUNK_TARGETS):
        verdict[rows] = _can_fill(patents, positions[rows], plan)
    return verdict


def _can_fill(patents: Population, positions: IntArray, plan: Plan) -> BoolArray:
    """The verdict on a chunk: more tries than a draw has spare most of the counting."""
    failed_at = _fill(patents, positions, plan, _no_candidates(len(positions), plan))
    verdict: BoolArray = failed_at == 0
    rows = np.fromiter(_worth_counting(patents, positions, plan, failed_at), dtype=np.int64)
    none = _no_candidates(len(rows), plan)
    verdict[rows] = _fill(patents, positions[rows], plan, none, VERDICT_TRIES) == 0
    for row in rows[~verdict[rows]].tolist():
        verdict[row] = can_draw_exactly(patents, int(positions[row]), plan)
    return verdict


def _no_candidates(n_targets: int, plan: Plan) -> NDArray[np.int32]:
    return np.full((n_targets, len(plan.levels)), ALONE, dtype=np.int32)


def _draw_by_index(patents: Population, positions: IntArray, plan: Plan) -> Drawn:
    candidates = _no_candidates(len(positions), plan)
    failed_at = _fill(patents, positions, plan, candidates)
    for row in _worth_counting(patents, positions, plan, failed_at):
        exact = draw_exactly(patents, int(positions[row]), plan)
        if exact is not None:
            candidates[row], failed_at[row] = exact, 0
    return Drawn(candidates, failed_at == 0)


def _fill(
    patents: Population,
    positions: IntArray,
    plan: Plan,
    candidates: NDArray[np.int32],
    tries: int = TRIES,
) -> NDArray[np.int8]:
    """Fills candidates by redraws alone; the level at which each target failed, 0 where none."""
    failed_at = np.zeros(len(positions), dtype=np.int8)
    stream = streams(plan.seed, patents.words[positions])
    alive = np.arange(len(positions))
    for number, slot in enumerate(plan.slots):
        filled = plan.slots[:number]
        sizes = patents.sizes(slot.level, positions[alive])
        pending, left = alive[sizes > 0], sizes[sizes > 0]
        for attempt in range(tries):
            index = indices(words(stream[pending], slot.level, slot.draw(attempt)), left)
            targets = positions[pending]
            found = patents.at(slot.level, targets, index)
            suits = is_allowed(patents, plan, slot.level, targets, found)
            suits &= _is_new(patents, candidates, filled, slot, pending, found)
            candidates[pending[suits], slot.column] = found[suits]
            pending, left = pending[~suits], left[~suits]
            if not len(pending):
                break
        failed = alive[candidates[alive, slot.column] == ALONE]
        failed_at[failed] = slot.level
        alive = alive[candidates[alive, slot.column] != ALONE]
    return failed_at


def _is_new(
    patents: Population,
    candidates: NDArray[np.int32],
    filled: tuple[Slot, ...],
    slot: Slot,
    rows: IntArray,
    found: IntArray,
) -> BoolArray:
    """Whether each patent found is none of those chosen for its row, and has the text of none."""
    is_new = np.ones(len(rows), dtype=bool)
    texts = patents.texts[found]
    shared = np.flatnonzero(texts != ALONE)
    for other in filled:
        if other.level == slot.level:  # patents of different levels are different patents
            is_new &= candidates[rows, other.column] != found
        chosen = candidates[rows[shared], other.column]
        is_new[shared] &= patents.texts[chosen] != texts[shared]
    return is_new


def _worth_counting(
    patents: Population, positions: IntArray, plan: Plan, failed_at: NDArray[np.int8]
) -> Iterator[int]:
    """Failed rows, without those whose level turns out to hold too few once it is counted."""
    for level in sorted(set(plan.levels)):
        rows = np.flatnonzero(failed_at == level)
        sizes = patents.sizes(level, positions[rows])
        is_open = sizes >= plan.levels.count(level)
        small = np.flatnonzero(is_open & (sizes <= SMALL_LEVEL))
        allowed = _count_allowed(patents, positions[rows[small]], plan, level, sizes[small])
        is_open[small] = allowed >= plan.levels.count(level)
        yield from rows[is_open].tolist()


def _count_allowed(
    patents: Population, targets: IntArray, plan: Plan, level: int, sizes: IntArray
) -> IntArray:
    """How many patents each target may take at a level, other candidates aside."""
    counts = np.zeros(len(targets), dtype=np.int64)
    for part in _spans(len(targets), max(1, CHUNK_COUNTED // SMALL_LEVEL)):
        rows, index = spread(sizes[part])
        owners = targets[part][rows]
        found = patents.at(level, owners, index)
        allowed = is_allowed(patents, plan, level, owners, found)
        counts[part] = np.bincount(rows[allowed], minlength=len(sizes[part]))
    return counts


def _spans(n_rows: int, size: int) -> Iterator[slice]:
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
