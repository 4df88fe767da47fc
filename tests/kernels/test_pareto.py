"""The Pareto front: by hand, and against the definition on random points with ties."""

from __future__ import annotations

import numpy as np
import pytest

from patcache.kernels.pareto import pareto_front

NAN = float("nan")


def by_definition(cost: np.ndarray, value: np.ndarray) -> list[bool]:
    """No other point is as good on both sides and better on one."""

    def beats(a: int, b: int) -> bool:
        is_as_good = cost[a] <= cost[b] and value[a] >= value[b]
        return bool(is_as_good and (cost[a] < cost[b] or value[a] > value[b]))

    known = ~np.isnan(cost) & ~np.isnan(value)
    return [
        bool(known[i]) and not any(known[j] and beats(j, i) for j in range(len(cost)))
        for i in range(len(cost))
    ]


def test_the_front_by_hand() -> None:
    # Cheap and poor, dear and good, and one that is dearer than the first and no better.
    found = pareto_front(np.array([1.0, 5.0, 2.0]), np.array([0.5, 0.7, 0.5]))
    assert found.tolist() == [True, True, False]


def test_equal_points_share_the_front_and_points_without_a_number_are_off_it() -> None:
    found = pareto_front(np.array([1.0, 1.0, NAN, 0.5]), np.array([0.5, 0.5, 0.9, NAN]))
    assert found.tolist() == [True, True, False, False]
    assert pareto_front(np.array([]), np.array([])).tolist() == []


@pytest.mark.parametrize("seed", range(30))
def test_the_front_is_that_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost = rng.integers(0, 6, 25).astype(float)
    value = rng.integers(0, 6, 25).astype(float)
    cost[rng.random(25) < 0.1] = NAN
    value[rng.random(25) < 0.1] = NAN
    assert pareto_front(cost, value).tolist() == by_definition(cost, value)
