from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patcache.ipc import parse, shared_level
from patcache.kernels.levels import CodeLists, code_tree, deepest_levels, spread

CODES = sorted(
    f"{section}{number}{letter} {group}/{subgroup}"
    for section in "AH"
    for number in ("01", "61")
    for letter in "BK"
    for group in (3, 31, 300)
    for subgroup in ("00", "02", "006")
)


def lists_of(patents: list[list[int]]) -> CodeLists:
    offsets = np.array([0, *np.cumsum([len(codes) for codes in patents])], dtype=np.int64)
    return CodeLists(offsets, np.array(list(itertools.chain(*patents)), dtype=np.int32))


def test_every_pair_of_codes_gets_the_level_the_parser_gives() -> None:
    tree = code_tree(CODES)
    single = lists_of([[number] for number in range(len(CODES))])
    a, b = np.divmod(np.arange(len(CODES) ** 2), len(CODES))
    found = deepest_levels(tree, single, a, b)
    expected = [shared_level(parse(CODES[i]), parse(CODES[j])) for i, j in zip(a, b, strict=True)]
    assert found.tolist() == expected


@given(st.lists(st.lists(st.sampled_from(range(len(CODES))), min_size=1, max_size=4), min_size=2))
def test_the_deepest_level_of_two_patents_is_that_of_any_pair_of_codes(
    patents: list[list[int]],
) -> None:
    a, b = np.divmod(np.arange(len(patents) ** 2), len(patents))
    found = deepest_levels(code_tree(CODES), lists_of(patents), a, b)
    for i, j, level in zip(a, b, found, strict=True):
        pairs = itertools.product(patents[i], patents[j])
        assert level == max(shared_level(parse(CODES[x]), parse(CODES[y])) for x, y in pairs)


def test_groups_are_numbered_in_order_within_every_depth() -> None:
    tree = code_tree(["A01B 1/00", "A01B 1/02", "A01B 10/00", "A61B 1/00", "B61B 1/00"])
    assert tree.groups.tolist() == [
        [0, 0, 0, 0, 1],  # A B
        [0, 0, 0, 1, 2],  # A01 A61 B61
        [0, 0, 0, 1, 2],
        [0, 0, 1, 2, 3],  # A01B 1, A01B 10, ...
        [0, 1, 2, 3, 4],
    ]


def test_codes_out_of_order_or_twice_are_refused() -> None:
    for codes in (["B01B 1/00", "A01B 1/00"], ["A01B 1/00", "A01B 1/00"]):
        with pytest.raises(ValueError, match="ascending"):
            code_tree(codes)


def test_spread_counts_inside_each_row() -> None:
    rows, inside = spread(np.array([2, 0, 3]))
    assert rows.tolist() == [0, 0, 2, 2, 2]
    assert inside.tolist() == [0, 1, 0, 1, 2]
