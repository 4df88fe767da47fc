from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patcache.kernels.eligibility import eligibility
from patcache.kernels.plan import Plan
from patcache.kernels.population import excluded
from patcache.kernels.tuples import draw
from tests.kernels.plain_sampling import PlainSampler, Row, arrays_of

CODES = (
    "A61B 5/00", "A61B 5/02", "A61B 50/00", "A61K 3/00", "A61K 31/00",
    "A62B 5/00", "B60R 7/06", "B60R 7/006", "B61B 5/00", "H01L 21/02",
)  # fmt: skip
CODES_AT = {  # a code at each level of A61B 5/00
    1: "H01L 21/02", 2: "A01B 1/00", 3: "A61K 3/00",
    4: "A61B 50/00", 5: "A61B 5/02", 6: "A61B 5/00",
}  # fmt: skip
ALL_LEVELS = (1, 2, 3, 4, 5, 6)


@st.composite
def corpora(draw_from: st.DrawFn) -> list[Row]:
    """Up to 24 patents in two years, with few texts and families, so that nearly all is short."""
    size = draw_from(st.integers(1, 24))
    some = st.sampled_from(CODES[: draw_from(st.integers(1, len(CODES)))])
    return [
        Row(
            f"P{number}",
            draw_from(st.sampled_from([2001, 2001, 2001, 2002])),
            tuple(dict.fromkeys(draw_from(st.lists(some, min_size=1, max_size=3)))),
            draw_from(st.sampled_from(["x", "y", "z", *(f"own {number}" for _ in range(3))])),
            draw_from(st.sampled_from([None, None, None, "f", "g"])),
        )
        for number in range(size)
    ]


plans = st.sampled_from([ALL_LEVELS, (1, 6), (1, 2, 6, 6), (1, 1, 1), (4, 5, 6), (1, 1, 5, 5, 6)])


@settings(max_examples=300, deadline=None)
@given(corpora(), plans, st.integers(0, 2**63 - 1), st.booleans())
def test_draws_and_verdicts_are_those_of_the_definition(
    rows: list[Row], levels: tuple[int, ...], seed: int, strict: bool
) -> None:
    rows, patents, tree, lists = arrays_of(rows)
    plain = PlainSampler(rows, levels, seed, strict)
    plan = Plan(levels, seed, *((tree, lists) if strict else ()))
    positions = np.arange(len(rows))
    verdict = eligibility(patents, excluded(patents), positions, plan)
    drawn = draw(patents, positions, plan)
    for position, target in enumerate(rows):
        expected = plain.draw(target)
        assert (
            drawn.is_complete[position] == verdict.is_eligible[position] == (expected is not None)
        )
        if expected is not None:
            assert [rows[c].number for c in drawn.candidates[position]] == [
                row.number for row in expected
            ]
        for number, level in enumerate(sorted(set(levels))):
            assert verdict.is_short[number, position] == plain.is_short(target, level)


def busy_corpus() -> list[Row]:
    """One target with four patents at each level; two share the target's text, one its family."""
    rows = [Row("T", 2001, ("A61B 5/00", "H01L 21/02"), "target", "f")]
    for level, code in CODES_AT.items():
        rows += [Row(f"{level}-{n}", 2001, (code,), f"{level} {n}") for n in range(4)]
        rows.append(Row(f"{level}-same", 2001, (code,), "target"))
        rows.append(Row(f"{level}-family", 2001, (code,), f"family {level}", "f"))
    return rows


Counts = dict[int, dict[str, int]]


def counts_over_seeds(rows: list[Row], levels: tuple[int, ...], n_seeds: int) -> Counts:
    """How often each patent is drawn for the target T, by column."""
    rows, patents, _, _ = arrays_of(rows)
    position = np.array([next(i for i, row in enumerate(rows) if row.number == "T")])
    found: dict[int, dict[str, int]] = {column: {} for column in range(len(levels))}
    for seed in range(n_seeds):
        drawn = draw(patents, position, Plan(levels, seed))
        for column, candidate in enumerate(drawn.candidates[0]):
            number = rows[candidate].number
            found[column][number] = found[column].get(number, 0) + 1
    return found


def test_every_level_is_uniform_over_what_the_exclusions_leave() -> None:
    from scipy.stats import chisquare

    found = counts_over_seeds(busy_corpus(), ALL_LEVELS, 2000)
    for column, level in enumerate(ALL_LEVELS):
        assert sorted(found[column]) == [f"{level}-{n}" for n in range(4)]
        assert chisquare(list(found[column].values())).pvalue > 0.001


def test_a_level_listed_after_seventeen_misses_is_uniform_too() -> None:
    from scipy.stats import chisquare

    # 120 of 123 patents at level 6 share the target's text: two draws in three end in the list.
    rows = [Row("T", 2001, ("A61B 5/00",), "target")]
    rows += [Row(f"same {n}", 2001, ("A61B 5/00",), "target") for n in range(120)]
    rows += [Row(f"other {n}", 2001, ("A61B 5/00",), f"other {n}") for n in range(3)]
    found = counts_over_seeds(rows, (6,), 1500)[0]
    assert sorted(found) == ["other 0", "other 1", "other 2"]
    assert chisquare(list(found.values())).pvalue > 0.001


def test_two_levels_that_need_the_same_last_text_do_not_take_it_from_each_other() -> None:
    # Level 6 has the texts x and y, level 5 only x: level 6 must always take y.
    rows = [
        Row("T", 2001, ("A61B 5/00",), "target"),
        Row("x6", 2001, ("A61B 5/00",), "x"),
        Row("y6", 2001, ("A61B 5/00",), "y"),
        Row("x5", 2001, ("A61B 5/02",), "x"),
    ]
    found = counts_over_seeds(rows, (5, 6), 50)
    assert found == {0: {"x5": 50}, 1: {"y6": 50}}


def test_other_targets_and_the_order_of_rows_change_no_draw() -> None:
    rows, patents, _, _ = arrays_of(busy_corpus())
    plan = Plan(ALL_LEVELS, seed=3)
    everyone = draw(patents, np.arange(len(rows)), plan)
    backwards = draw(patents, np.arange(len(rows))[::-1], plan)
    assert (everyone.candidates[::-1] == backwards.candidates).all()
    alone = draw(patents, np.array([5]), plan)
    assert (alone.candidates[0] == everyone.candidates[5]).all()


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, patents, tree, lists = arrays_of(busy_corpus())
    plan = Plan((1, 1, 2, 6, 6), 4, tree, lists)
    whole = draw(patents, np.arange(len(rows)), plan)
    monkeypatch.setattr("patcache.kernels.tuples.CHUNK_TARGETS", 3)
    monkeypatch.setattr("patcache.kernels.levels.CHUNK_PAIRS", 2)
    monkeypatch.setattr("patcache.kernels.exact.FIRST_BLOCK", 2)
    parts = draw(patents, np.arange(len(rows)), plan)
    assert (whole.is_complete == parts.is_complete).all()
    assert (whole.candidates == parts.candidates).all()


def test_no_patents_give_no_tuples() -> None:
    _, patents, _, _ = arrays_of([])
    nobody = np.empty(0, dtype=np.int64)
    plan = Plan(ALL_LEVELS, 1)
    assert draw(patents, nobody, plan).candidates.shape == (0, 6)
    assert eligibility(patents, excluded(patents), nobody, plan).is_short.shape == (6, 0)
