"""The footrule distance: exact, indifferent to how ties fall, and equal to listing every order."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.kernels import footrule
from patcache.kernels.footrule import UNDEFINED, score
from patcache.records import Shape

STUDY = Shape((1, 2, 3, 4, 5, 6))
SHAPES = [STUDY, Shape((1, 2, 3)), Shape((1, 1, 2, 2, 3)), Shape((1, 2, 2, 2, 6)), Shape((2, 5))]


def shape_of(level_sizes: list[int]) -> Shape:
    return Shape(tuple(i for i, size in enumerate(level_sizes, start=1) for _ in range(size)))


def distance_in_ranks(similarities: list[float], shape: Shape = STUDY) -> Fraction:
    found = int(footrule.distances(np.array([similarities]), shape)[0])
    return Fraction(found, footrule.units_per_rank(shape.n_candidates))


def distance_by_every_order(similarities: tuple[float, ...], shape: Shape) -> Fraction:
    """Mean cost over every order that agrees with the similarities: no formula, no blocks."""
    size = len(similarities)
    gold: list[tuple[int, int]] = []
    for level in shape.levels:
        first = sum(other < level for other in shape.levels) + 1
        gold.append((first, first + shape.levels.count(level) - 1))
    costs = []
    for ranks in permutations(range(1, size + 1)):
        agrees = all(
            similarities[i] >= similarities[j] or ranks[i] < ranks[j]
            for i, j in product(range(size), repeat=2)
        )
        if agrees:
            costs.append(sum(max(0, a - r, r - b) for r, (a, b) in zip(ranks, gold, strict=True)))
    return Fraction(sum(costs), len(costs))


def test_a_swap_of_neighbours_costs_two_ranks() -> None:
    # Ranks 1 2 3 4 6 5 against 1 2 3 4 5 6: |6 - 5| + |5 - 6| = 2.
    assert distance_in_ranks([0.1, 0.2, 0.3, 0.4, 0.6, 0.5]) == 2


def test_a_tie_costs_the_mean_of_both_orders() -> None:
    # The two lowest tie: ranks 1 2 cost 0, ranks 2 1 cost 2; the mean is 1.
    assert distance_in_ranks([0.1, 0.1, 0.3, 0.4, 0.5, 0.6]) == 1


def test_order_inside_a_level_is_free() -> None:
    # Gold intervals [1, 2] and [3, 4]; ranks 2 1 4 3 lie inside them.
    assert distance_in_ranks([0.2, 0.1, 0.4, 0.3], Shape((1, 1, 2, 2))) == 0


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_distance_equals_the_mean_over_every_order(shape: Shape) -> None:
    rng = np.random.default_rng(1)
    similarities = rng.integers(0, 4, size=(40, shape.n_candidates)) / 10  # heavy ties
    found = footrule.distances(similarities, shape)
    units = footrule.units_per_rank(shape.n_candidates)
    for row, distance in zip(similarities.tolist(), found.tolist(), strict=True):
        assert Fraction(distance, units) == distance_by_every_order(tuple(row), shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_order_is_farther_than_the_reversed_one(shape: Shape) -> None:
    every_order = np.array(list(permutations(range(shape.n_candidates))), dtype=float)
    units = footrule.units_per_rank(shape.n_candidates)
    assert footrule.distances(every_order, shape).max() == units * footrule.max_distance(shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_constant_model_and_the_mean_over_every_order_are_chance(shape: Shape) -> None:
    largest = footrule.units_per_rank(shape.n_candidates) * footrule.max_distance(shape)
    constant = int(footrule.distances(np.zeros((1, shape.n_candidates)), shape)[0])
    every_order = np.array(list(permutations(range(shape.n_candidates))), dtype=float)
    mean = Fraction(int(footrule.distances(every_order, shape).sum()), len(every_order))
    assert 1 - Fraction(constant, largest) == footrule.chance(shape)
    assert 1 - mean / largest == footrule.chance(shape)


def test_every_reference_value_is_reproduced(shared: Path) -> None:
    cases: list[dict[str, Any]] = json.loads((shared / "golden/rci.json").read_text())["rci"]
    for case in cases:
        shape = shape_of(case["level_sizes_least_similar_first"])
        found = score(np.array([case["similarities_in_gold_order"]], dtype=np.float32), shape)
        units = footrule.units_per_rank(shape.n_candidates)
        largest = footrule.max_distance(shape)
        expected, rci, chance = (
            Fraction(case[name]["numerator"], case[name]["denominator"])
            for name in ("expected_distance", "rci", "chance_rci")
        )
        assert found.footrule.tolist() == [case["distance_in_units"]], case["note"]
        assert units == case["units_per_rank"]
        assert largest == case["max_distance"]
        assert Fraction(int(found.footrule[0]), units) == expected
        assert 1 - Fraction(int(found.footrule[0]), units * largest) == rci
        assert footrule.chance(shape) == chance
        assert found.concordance.tolist() == [case["concordant_minus_discordant"]]
    assert len(cases) >= 16


def test_the_study_example_is_four_ninths_and_zero() -> None:
    # Predicted ranks 2 3 4 5 6 1: five off by 1, one off by 5: 10 of 18 ranks; reversed: 18.
    assert distance_in_ranks([2, 3, 4, 5, 6, 1]) == 10
    assert distance_in_ranks([6, 5, 4, 3, 2, 1]) == 18
    assert footrule.max_distance(STUDY) == 18


@pytest.mark.parametrize(
    ("size", "largest", "in_paper"), [(3, 4, 1 / 9), (5, 12, 0.04), (6, 18, 0)]
)
def test_a_reversed_odd_tuple_is_zero_except_by_the_paper(
    size: int, largest: int, in_paper: float
) -> None:
    shape = Shape(tuple(range(1, size + 1)))
    assert distance_in_ranks(list(range(size, 0, -1)), shape) == largest
    assert footrule.max_distance(shape) == largest
    assert 1 - largest / footrule.paper_max_distance(shape.n_candidates) == pytest.approx(
        in_paper, abs=1e-15
    )


def test_neighbours_within_the_tolerance_tie_in_chains() -> None:
    # Gaps of 0.6e-6 link all three, though the outer two are 1.2e-6 apart; 0.5 stands alone.
    low, high, _ = footrule.tie_blocks(np.array([[0.0, 1.2e-6, 0.6e-6, 0.5]]), 1e-6)
    assert low.tolist() == [[1, 1, 1, 4]]
    assert high.tolist() == [[3, 3, 3, 4]]


@pytest.mark.parametrize(
    ("gap", "is_near"),
    [(0.0, False), (1.5e-7, False), (4e-7, True), (1e-6, True), (1.9e-6, True), (3e-6, False)],
)
def test_a_near_tie_is_a_gap_that_rounding_could_move_over_the_tolerance(
    gap: float, is_near: bool
) -> None:
    _, _, near_tie = footrule.tie_blocks(np.array([[0.0, gap, 0.5]]), 1e-6)
    assert near_tie.tolist() == [is_near]


def test_without_tolerance_only_equal_values_tie_and_any_small_gap_is_near() -> None:
    low, high, near_tie = footrule.tie_blocks(np.array([[0, 0, 0.5], [0, 1e-7, 0.5]]), 0.0)
    assert low.tolist() == [[1, 1, 3], [1, 2, 3]]
    assert high.tolist() == [[2, 2, 3], [1, 2, 3]]
    assert near_tie.tolist() == [False, True]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_similarity_that_is_no_number_leaves_the_tuple_undefined(bad: float) -> None:
    similarities = np.array([[1, 2, 3, 4, 5, 6]] * 3, dtype=np.float32)
    similarities[1, 5] = bad  # sorted last, it would win
    found = score(similarities, STUDY)
    assert found.is_defined.tolist() == [True, False, True]
    assert found.footrule.tolist() == [0, UNDEFINED, 0]
    assert found.concordance.tolist() == [15, 0, 15]
    assert not found.is_near_tie.any()


def test_a_tolerance_below_zero_is_refused() -> None:
    for tolerance in (-1e-9, float("nan")):
        with pytest.raises(ValueError, match="not 0 or more"):
            score(np.zeros((1, 2)), Shape((1, 2)), tolerance)


def test_the_order_of_candidates_inside_a_level_and_of_tuples_changes_nothing() -> None:
    rng = np.random.default_rng(2)
    shape = Shape((1, 1, 1, 2, 2, 3))
    similarities = np.round(rng.random((500, 6)), 1).astype(np.float32)
    found = score(similarities, shape)
    shuffled = similarities.copy()
    rng.permuted(shuffled[:, :3], axis=1, out=shuffled[:, :3])
    rng.permuted(shuffled[:, 3:5], axis=1, out=shuffled[:, 3:5])
    rows = rng.permutation(500)
    again = score(shuffled[rows], shape)
    assert again.footrule.tolist() == found.footrule[rows].tolist()
    assert again.concordance.tolist() == found.concordance[rows].tolist()


def test_chunks_give_what_the_whole_gives() -> None:
    similarities = np.random.default_rng(3).random((1_000, 6), dtype=np.float32)
    whole = score(similarities, STUDY).footrule
    chunks = [score(part, STUDY).footrule for part in np.array_split(similarities, 7)]
    assert np.concatenate(chunks).tolist() == whole.tolist()


def test_no_tuples_give_no_distances() -> None:
    found = score(np.empty((0, 6), dtype=np.float32), STUDY)
    assert found.footrule.shape == found.is_near_tie.shape == (0,)


def test_the_largest_distance_of_forty_candidates_fits_and_of_forty_one_is_refused() -> None:
    largest = Shape(tuple(range(1, 41)))
    found = footrule.distances(np.arange(40, 0, -1.0)[None, :], largest)
    assert found.tolist() == [800 * footrule.units_per_rank(40)]
    with pytest.raises(ValueError, match="41 candidates"):
        footrule.distances(np.zeros((1, 41)), Shape(tuple(range(1, 42))))


def test_a_wrong_width_and_a_single_level_are_refused() -> None:
    with pytest.raises(ValueError, match="5 candidates in a tuple, 6 gold levels"):
        score(np.zeros((1, 5)), STUDY)
    with pytest.raises(ValueError, match="no order to test"):
        footrule.max_distance(Shape((3, 3, 3)))
