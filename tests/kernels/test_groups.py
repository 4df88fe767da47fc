"""Rank groups: two models share one exactly where no test told them apart."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from patcache.kernels.groups import group_label, rank_groups

if TYPE_CHECKING:
    from patcache.records import BoolArray


def apart(size: int, *pairs: tuple[int, int]) -> BoolArray:
    found = np.zeros((size, size), dtype=bool)
    for i, j in pairs:
        found[i, j] = found[j, i] = True
    return found


def test_a_model_between_two_that_are_apart_is_in_the_groups_of_both() -> None:
    # 0 and 2 are apart, 1 is apart from neither: {0, 1} and {1, 2}.
    assert rank_groups(apart(3, (0, 2))) == [(1,), (1, 2), (2,)]


def test_all_apart_is_a_group_each_and_none_apart_is_one_group() -> None:
    everyone = list(combinations(range(4), 2))
    assert rank_groups(apart(4, *everyone)) == [(1,), (2,), (3,), (4,)]
    assert rank_groups(apart(4)) == [(1,)] * 4


def test_groups_are_exactly_the_largest_sets_that_nothing_tells_apart() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 5, 7):
        for _ in range(60):
            pairs = [p for p in combinations(range(size), 2) if rng.random() < 0.5]
            is_apart = apart(size, *pairs)
            alike = [
                set(members)
                for n in range(1, size + 1)
                for members in combinations(range(size), n)
                if not any(is_apart[i, j] for i, j in combinations(members, 2))
            ]
            largest = [one for one in alike if not any(one < other for other in alike)]
            found = rank_groups(is_apart)
            numbers = sorted({number for groups in found for number in groups})
            assert numbers == list(range(1, len(largest) + 1))
            members = [{m for m in range(size) if number in found[m]} for number in numbers]
            assert sorted(map(sorted, members)) == sorted(map(sorted, largest))


@pytest.mark.parametrize(
    ("numbers", "label"), [((1,), "1"), ((1, 2, 3), "1-3"), ((1, 3), "1, 3"), ((), "")]
)
def test_labels_read_as_spans(numbers: tuple[int, ...], label: str) -> None:
    assert group_label(numbers) == label


def test_no_models_have_no_groups() -> None:
    assert rank_groups(np.zeros((0, 0), dtype=bool)) == []
