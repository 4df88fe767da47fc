"""Concordant minus discordant pairs: equal to counting them one by one, and to Kendall's tau."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from patcache.kernels.tau import concordance, n_cross_pairs
from patcache.records import Shape


def test_one_swapped_neighbour_costs_two_of_six_pairs() -> None:
    # Gold 1 2 3 4, model 1 2 4 3: C = 5, D = 1, so C - D = 4.
    assert concordance(np.array([[1, 2, 4, 3]]), Shape((1, 2, 3, 4))).tolist() == [4]


def test_the_study_example_is_a_third_and_minus_one() -> None:
    # Ranks 2 3 4 5 6 1: only the 5 pairs with the last are discordant: (10 - 5) / 15 = 1/3.
    study = Shape((1, 2, 3, 4, 5, 6))
    found = concordance(np.array([[2, 3, 4, 5, 6, 1], [6, 5, 4, 3, 2, 1]]), study)
    assert (found / n_cross_pairs(study)).tolist() == [1 / 3, -1.0]


@pytest.mark.parametrize("levels", [(1, 2, 3, 4, 5, 6), (1, 1, 2, 3, 3), (2, 2, 2, 6)])
def test_equals_counting_pairs_one_by_one(levels: tuple[int, ...]) -> None:
    blocks = np.random.default_rng(1).integers(1, 4, size=(200, len(levels)))
    found = concordance(blocks, Shape(levels))
    pairs = [(i, j) for i, j in combinations(range(len(levels)), 2) if levels[i] != levels[j]]
    counted = [
        sum((row[j] > row[i]) - (row[j] < row[i]) for i, j in pairs) for row in blocks.tolist()
    ]
    assert found.tolist() == counted
    assert n_cross_pairs(Shape(levels)) == len(pairs)


def test_equals_kendalls_tau_where_nothing_ties() -> None:
    from scipy.stats import kendalltau

    gold = np.arange(1, 8)
    rng = np.random.default_rng(2)
    for ranks in (rng.permutation(gold) for _ in range(50)):
        found = concordance(ranks[None, :], Shape(tuple(gold.tolist())))[0] / 21
        assert found == pytest.approx(kendalltau(gold, ranks).statistic, abs=1e-12)


def test_a_constant_model_agrees_in_no_pair_more_than_it_disagrees() -> None:
    assert concordance(np.ones((1, 6), dtype=int), Shape((1, 2, 3, 4, 5, 6))).tolist() == [0]


def test_no_tuples_and_wrong_widths() -> None:
    assert concordance(np.empty((0, 3), dtype=int), Shape((1, 2, 3))).tolist() == []
    with pytest.raises(ValueError, match="2 candidates in a tuple, 3 gold levels"):
        concordance(np.ones((1, 2), dtype=int), Shape((1, 2, 3)))
