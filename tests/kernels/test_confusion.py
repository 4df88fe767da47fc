"""Where the candidates of each level stand, against every way to break the ties one by one."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest

from patcache.kernels.confusion import (
    Standing,
    confusion,
    mean_interval,
    neighbours,
    pairs_of_neighbours,
    standing,
)
from patcache.records import Shape

STUDY = Shape((1, 2, 3, 4, 5, 6))
SHAPES = (Shape((1, 2, 3)), Shape((1, 1, 6)), Shape((1, 2, 2, 5)), Shape((2, 3, 3, 6, 6)))


def orders(row: list[float]) -> list[tuple[int, ...]]:
    """Every order of the candidates, least similar first, that equal similarities allow."""
    return [
        order
        for order in permutations(range(len(row)))
        if all(row[a] <= row[b] for a, b in pairwise(order))
    ]


def plain_confusion(rows: list[list[float]], shape: Shape) -> np.ndarray:
    """Candidates at the place of each level, averaged over every order that the ties allow."""
    levels = sorted(set(shape.levels))
    place = [levels.index(level) for level in shape.levels]  # of rank 1, 2, ... in gold order
    table = np.zeros((len(levels), len(levels)))
    for row in rows:
        possible = orders(row)
        for order in possible:
            for rank, candidate in enumerate(order):
                table[place[candidate], place[rank]] += 1 / len(possible)
    return table


@pytest.mark.parametrize("shape", SHAPES)
def test_the_confusion_is_the_mean_over_every_way_to_break_the_ties(shape: Shape) -> None:
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 4, size=(40, shape.n_candidates)).astype(float)
    found = confusion(standing(rows, shape).blocks, shape)
    assert found == pytest.approx(plain_confusion(rows.tolist(), shape), abs=1e-12)
    assert found.sum(axis=1) == pytest.approx(40 * np.array(shape.level_sizes))


@pytest.mark.parametrize("shape", SHAPES)
def test_halves_count_the_pairs_of_neighbouring_levels_that_are_in_order(shape: Shape) -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 4, size=(60, shape.n_candidates)).astype(float)
    found = standing(rows, shape)
    for i, (shallow, deep) in enumerate(neighbours(shape)):
        wanted = np.zeros(found.halves.shape[1], dtype=int)
        for row in rows:
            pairs = product(
                row[np.array(shape.levels) == shallow], row[np.array(shape.levels) == deep]
            )
            wanted[sum(2 if b > a else 1 if b == a else 0 for a, b in pairs)] += 1
        assert found.halves[i].tolist() == wanted.tolist()


def test_swapped_neighbours_stand_in_each_others_place() -> None:
    # Gold 1 2 3 4 5 6; the model swaps levels 2 and 3 in one tuple of two.
    found = standing(np.array([[1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 5, 6.0]]), STUDY)
    table = confusion(found.blocks, STUDY)
    assert table[1].tolist() == [0, 1, 1, 0, 0, 0]
    assert table[2].tolist() == [0, 1, 1, 0, 0, 0]
    assert np.diag(table).tolist() == [2, 1, 1, 2, 2, 2]
    assert found.halves.tolist() == [[0, 0, 2], [1, 0, 1], [0, 0, 2], [0, 0, 2], [0, 0, 2]]


def test_a_constant_model_stands_everywhere_alike() -> None:
    found = standing(np.full((7, 6), 0.5), STUDY)
    assert confusion(found.blocks, STUDY) == pytest.approx(np.full((6, 6), 7 / 6))
    assert found.halves.tolist() == [[0, 7, 0]] * 5


def test_ties_are_those_of_scoring() -> None:
    # 0.1, 0.1 + 8e-7 and 0.1 + 1.6e-6: neighbours within 1e-6, so one block of three ranks.
    row = np.array([[0.1 + 1.6e-6, 0.1 + 8e-7, 0.1]])
    shape = Shape((1, 2, 3))
    assert confusion(standing(row, shape).blocks, shape) == pytest.approx(np.full((3, 3), 1 / 3))
    apart = confusion(standing(row, shape, tie_tolerance=0).blocks, shape)
    assert apart.tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_pieces_add_up_to_the_whole() -> None:
    rows = np.random.default_rng(6).random((30, 6))
    whole, pieces = standing(rows, STUDY), [standing(part, STUDY) for part in np.split(rows, 3)]
    total: Standing = pieces[0] + pieces[1] + pieces[2]
    assert np.array_equal(total.blocks, whole.blocks)
    assert np.array_equal(total.halves, whole.halves)


def test_neighbours_are_the_levels_that_are_there() -> None:
    shape = Shape((1, 1, 2, 6, 6, 6))
    assert neighbours(shape) == ((1, 2), (2, 6))
    assert pairs_of_neighbours(shape).tolist() == [2, 3]


def test_the_interval_of_a_share_is_wilsons() -> None:
    from scipy.stats import binomtest

    for successes, n in ((7, 10), (500, 1_000), (996, 1_000)):
        mean = successes / n
        found = mean_interval(mean, mean * (1 - mean), n)
        wanted = binomtest(successes, n).proportion_ci(method="wilson")
        assert found == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    # All 20 in order: not certain, 1 / (1 + 1.96 ** 2 / 20) at least.
    low, high = mean_interval(1.0, 0.0, 20)
    assert low == pytest.approx(1 / (1 + 1.959963984540054**2 / 20))
    assert high == 1.0


def test_the_interval_holds_the_mean_of_bounded_values_as_often_as_it_says() -> None:
    rng = np.random.default_rng(8)
    values = rng.beta(4, 1, size=(2_000, 60))
    held = 0
    for row in values:
        low, high = mean_interval(float(row.mean()), float(row.var(ddof=1)), 60)
        held += low <= 0.8 <= high
    assert 0.93 <= held / 2_000 <= 0.97


def test_other_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="5 candidates in a tuple, 6 levels"):
        standing(np.zeros((2, 5)), STUDY)
    with pytest.raises(ValueError, match="no values"):
        mean_interval(0.5, 0.1, 0)
