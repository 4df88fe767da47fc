"""Which IPC levels a model confuses: where each level's candidates stand, and which are nearer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.axis import common_axis
from patcache.kernels.confusion import (
    Standing,
    confusion,
    mean_interval,
    neighbours,
    pairs_of_neighbours,
    standing,
)
from patcache.kernels.moments import Moments, moments
from patcache.listing import Listing, column
from patcache.queries.comparison import Comparison, compare
from patcache.queries.question import Question
from patcache.queries.similarities import about, blocks, undefined_notes
from patcache.queries.wording import named

if TYPE_CHECKING:
    from patcache.records import Shape
    from patcache.store import StoreFolder

CHANCE = 0.5  # of a deeper level to be more similar than a shallower one
Pair = tuple[int | None, int | None]  # the shallower level and the deeper one; None: no tuple
Standings = dict[tuple[int, "Shape"], Standing]  # of a model on the tuples of one shape


@dataclass(frozen=True, slots=True)
class LevelRow:
    """One model and two neighbouring gold levels of its tuples.

    accuracy: how often a candidate of the deeper level is more similar than one of the level
    before it, ties half, as the mean over n targets; low, high: its 95 % interval; None without a
    defined tuple that has both levels.
    """

    model: str = column("model")
    shallow: int | None = column("level", fmt="d")
    deep: int | None = column("deeper level", fmt="d")
    n: int = column("targets", fmt=",")
    accuracy: float | None = column("accuracy", fmt=".3f")
    low: float | None = column("from", fmt=".3f")
    high: float | None = column("to", fmt=".3f")
    chance: float = column("chance", fmt=".1f")


@dataclass(frozen=True, slots=True)
class ConfusionRow:
    """How many of one model's candidates of a gold level stand where a level belongs.

    n: candidates of the gold level; share: of them, at the ranks of the place's level in gold
    order, ties shared evenly over their ranks; chance: that of a model that knows nothing.
    """

    model: str = column("model")
    level: int | None = column("gold level", fmt="d")
    place: int | None = column("stands at", fmt="d")
    n: int = column("candidates", fmt=",")
    share: float | None = column("share", fmt=".1%")
    chance: float | None = column("chance", fmt=".1%")


def levels(store: StoreFolder, question: Question | None = None) -> Listing[LevelRow]:
    """Accuracy of each model on each two neighbouring levels, best model first.

    Errors: as for the leaderboard.
    """
    comparison = compare(store, question or Question())
    found = _standings(store, comparison)
    pairs: list[Pair] = [*sorted({pair for _, shape in found for pair in neighbours(shape)})]
    rows = tuple(
        _level_row(comparison.labels[model], pair, _in_order(found, model, pair))
        for model in comparison.best_first
        for pair in pairs or [(None, None)]
    )
    return Listing(LevelRow, rows, (about(comparison),), tuple(_notes(comparison, rows)))


def level_confusion(store: StoreFolder, question: Question | None = None) -> Listing[ConfusionRow]:
    """Where the candidates of each gold level stand in each model's order, best model first.

    Errors: as for the leaderboard.
    """
    comparison = compare(store, question or Question())
    found = _standings(store, comparison)
    rows = tuple(
        row
        for model in comparison.best_first
        for row in _confusion_rows(comparison.labels[model], model, found)
    )
    notes = (
        "a row's candidates of one gold level, by the place where they stand: place k is the ranks "
        "that level k has in gold order, ties shared evenly",
        *undefined_notes(comparison),
    )
    return Listing(ConfusionRow, rows, (about(comparison),), notes)


def _standings(store: StoreFolder, comparison: Comparison) -> Standings:
    """The counts of each model and shape, added up piece by piece."""
    found: Standings = {}
    tolerance = comparison.question.tie_tolerance
    with store.read() as cursor:
        for block in blocks(cursor, comparison.subject, comparison.question):
            new = standing(block.similarities, block.shape, tolerance)
            key = block.model, block.shape
            found[key] = found[key] + new if key in found else new
    return found


def _in_order(found: Standings, model: int, pair: Pair) -> Moments:
    """The share of a target's pairs of these two levels that are in gold order, over targets."""
    halves, largest, counts = [], [], []
    for (of_model, shape), counted in found.items():
        of_shape: list[Pair] = [*neighbours(shape)]
        if of_model != model or pair not in of_shape:
            continue
        place = of_shape.index(pair)
        occurs = np.flatnonzero(counted.halves[place])
        halves.append(occurs)
        largest.append(np.full(len(occurs), 2 * pairs_of_neighbours(shape)[place]))
        counts.append(counted.halves[place][occurs])
    if not halves:
        return Moments()
    axis = common_axis(np.concatenate(halves), np.concatenate(largest))
    return moments(axis.values[axis.position], np.concatenate(counts))


def _level_row(model: str, pair: Pair, found: Moments) -> LevelRow:
    if found.n == 0:
        return LevelRow(model, *pair, 0, None, None, None, CHANCE)
    low, high = mean_interval(found.mean, (found.deviation or 0.0) ** 2, found.n)
    return LevelRow(model, *pair, found.n, found.mean, low, high, CHANCE)


def _confusion_rows(label: str, model: int, found: Standings) -> Iterator[ConfusionRow]:
    """Every gold level by every place, over the tuples of all shapes."""
    at: dict[tuple[int, int], float] = {}
    expected: dict[tuple[int, int], float] = {}
    total: dict[int, int] = {}
    for (of_model, shape), counted in found.items():
        if of_model != model:
            continue
        table = confusion(counted.blocks, shape)
        n_tuples = int(counted.blocks[0].sum())
        sizes = dict(zip(sorted(set(shape.levels)), shape.level_sizes, strict=True))
        for i, (level, size) in enumerate(sizes.items()):
            total[level] = total.get(level, 0) + size * n_tuples
            for j, (place, width) in enumerate(sizes.items()):
                key = level, place
                at[key] = at.get(key, 0.0) + float(table[i, j])
                chance = size * n_tuples * width / shape.n_candidates
                expected[key] = expected.get(key, 0.0) + chance
    if not total:
        yield ConfusionRow(label, None, None, 0, None, None)
    for level, place in sorted(at):
        n = total[level]
        yield ConfusionRow(label, level, place, n, at[level, place] / n, expected[level, place] / n)


def _notes(comparison: Comparison, rows: tuple[LevelRow, ...]) -> Iterator[str]:
    yield (
        "how often the deeper of two neighbouring levels is more similar, ties half: chance 0.5; "
        "95 % intervals by target"
    )
    places = [
        (f"{row.model} {row.shallow}<{row.deep}", row.low <= CHANCE, row.high < CHANCE)
        for row in rows
        if row.low is not None and row.high is not None
    ]
    if at_chance := [name for name, is_low, is_below in places if is_low and not is_below]:
        yield f"chance is inside the interval of {named(at_chance)}"
    if below := [name for name, _, is_below in places if is_below]:
        yield f"below chance: {named(below)}"
    yield from undefined_notes(comparison)
