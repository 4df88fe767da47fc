from __future__ import annotations

import numpy as np
import pytest

from patcache.kernels.eligibility import chosen_targets
from patcache.kernels.levels import code_tree
from patcache.kernels.population import available, excluded, population
from tests.kernels.plain_sampling import PlainSampler, Row, arrays_of

ROWS = [
    Row("a", 2001, ("A61B 5/00",), "x", "f"),
    Row("b", 2001, ("A61B 5/00",), "x", "f"),
    Row("c", 2001, ("A61B 5/02",), "x"),
    Row("d", 2001, ("A61B 5/02",), "own d", "f"),
    Row("e", 2001, ("A61K 3/00",), "own e", "f"),
    Row("f", 2001, ("H01L 21/02",), "x"),
    Row("g", 2002, ("A61B 5/00",), "x", "f"),
    Row("h", 2001, ("A62B 5/00",), "own h"),
]


def test_every_level_holds_exactly_the_patents_of_the_definition() -> None:
    rows, patents, _, _ = arrays_of(ROWS)
    plain = PlainSampler(rows, (1, 2, 3, 4, 5, 6), seed=1, strict=False)
    for position, target in enumerate(rows):
        for level in range(1, 7):
            size = int(patents.sizes(level, np.array([position]))[0])
            owners = np.full(size, position)
            found = patents.at(level, owners, np.arange(size))
            assert [rows[i] for i in found] == plain.at_level(target, level)


def test_available_counts_what_is_left_after_text_and_family() -> None:
    rows, patents, _, _ = arrays_of(ROWS)
    plain = PlainSampler(rows, (1, 2, 3, 4, 5, 6), seed=1, strict=False)
    found = available(patents, np.arange(len(rows)), excluded(patents))
    for position, target in enumerate(rows):
        for level in range(1, 7):
            left = [
                row for row in plain.at_level(target, level) if plain.is_allowed(target, level, row)
            ]
            assert found[level - 1, position] == len(left), (target.number, level)


def test_unsorted_patents_are_refused() -> None:
    none = np.zeros(2, dtype=np.int32)
    with pytest.raises(ValueError, match="not sorted"):
        population(
            np.array([2002, 2001], dtype=np.int16),
            none,
            none.astype(np.uint64),
            none,
            none,
            code_tree(["A61B 5/00"]),
        )


def test_targets_are_a_uniform_choice_of_the_quota_in_every_group() -> None:
    from scipy.stats import chisquare

    rows = [Row(f"P{n}", 2001 + n % 2, ("A61B 5/00",), f"text {n}") for n in range(20)]
    _, patents, _, _ = arrays_of(rows)
    positions, groups = np.arange(20), patents.years.astype(np.int64)
    times = np.zeros(20, dtype=int)
    for seed in range(2000):
        chosen = chosen_targets(patents, positions, groups, {2001: 3, 2002: 0}, seed)
        assert len(chosen) == 3
        assert (np.diff(chosen) > 0).all()
        times[chosen] += 1
    assert (times[groups == 2002] == 0).all()
    assert chisquare(times[groups == 2001]).pvalue > 0.001


def test_a_group_smaller_than_its_quota_is_taken_whole() -> None:
    rows = [Row(f"P{n}", 2001, ("A61B 5/00",), f"text {n}") for n in range(5)]
    _, patents, _, _ = arrays_of(rows)
    eligible = np.array([0, 2, 4])
    chosen = chosen_targets(patents, eligible, np.zeros(3, dtype=np.int64), {0: 9}, seed=1)
    assert chosen.tolist() == [0, 2, 4]
