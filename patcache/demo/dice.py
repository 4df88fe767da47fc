"""Draws from the uniform numbers of a numpy Generator alone: the same on every platform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Dice:
    """Choices that depend on a seed and on nothing else."""

    def __init__(self, *seed: int) -> None:
        self._rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))

    def chance(self, probability: float) -> bool:
        return bool(self._rng.random() < probability)

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._rng.random() * (high - low + 1))

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self._rng.random() * len(items))]

    def early(self, items: Sequence[T]) -> T:
        """One item, the first ones more likely than the last ones."""
        return items[min(self.whole(0, len(items) - 1), self.whole(0, len(items) - 1))]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One item, as likely as its share of the weights."""
        left = self._rng.random() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            left -= weight
            if left < 0:
                return item
        return items[-1]

    def several(self, items: Sequence[T], count: int) -> list[T]:
        """Up to count items in random order, none of them twice."""
        left = list(items)
        return [left.pop(self.whole(0, len(left) - 1)) for _ in range(min(count, len(left)))]
