"""Robustness over draws: means and their spread by hand, ranks, W, shared targets, degenerate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from patcache.errors import NotThere
from patcache.queries.question import Question
from patcache.queries.robustness import DrawRow, RobustnessRow, robustness, robustness_draws
from patcache.records import Shape
from patcache.report.grids.robustness import grid_of_draws, grid_of_robustness
from patcache.steps.sample_parameters import SampleParameters
from patcache.store import StoreFolder
from tests.queries.fill import Tuples, Value, fill

SET = "UPDATE data.samples SET kind = 'drawn', parameters = ?, corpus_digest = ? WHERE name = ?"
TARGETS = "UPDATE data.tuples SET target = tuple_id + ? WHERE sample_id = ?"
SMALL = Shape((1, 2, 6))

Distances = Mapping[str, Sequence[int | None]]  # of each model, in ranks; None: undefined


def values(ranks: Sequence[int | None]) -> list[Value | None]:
    return [None if rank is None else (60 * rank, 0) for rank in ranks]


def add_draw(
    path: Path, number: int, parameters: SampleParameters, models: Distances, digest: str = "one"
) -> StoreFolder:
    """A scored sample of these parameters whose targets begin at 10 times its number."""
    n = len(next(iter(models.values())))
    tuples = Tuples(
        [parameters.shape] * n,
        [2020] * n,
        ["A"] * n,
        {model: values(ranks) for model, ranks in models.items()},
    )
    store = fill(path, tuples, f"sample{number}", sample_id=number)
    with store.write() as cursor:
        cursor.execute(SET, [json.dumps(asdict(parameters)), digest, f"sample{number}"])
        cursor.execute(TARGETS, [10 * number, number])
    return store


def seed(number: int) -> SampleParameters:
    return SampleParameters(seed=number)


def by_model(store: StoreFolder, **question: object) -> dict[str, RobustnessRow]:
    found = robustness(store, Question("sample1", **question))  # type: ignore[arg-type]
    return {row.model: row for row in found}


@pytest.fixture
def three(tmp_path: Path) -> StoreFolder:
    """Means 1 - d / 18 of four tuples: a 8/9, 7/9, 8/9; b 7/9, 8/9, 7/9; c 4/9 always."""
    add_draw(tmp_path, 1, seed(1), {"a": [2] * 4, "b": [4] * 4, "c": [10] * 4})
    add_draw(tmp_path, 2, seed(2), {"a": [4] * 4, "b": [2] * 4, "c": [10] * 4})
    return add_draw(tmp_path, 3, seed(3), {"a": [2] * 4, "b": [4] * 4, "c": [10] * 4})


def test_means_spread_and_ranks_by_hand(three: StoreFolder) -> None:
    found = robustness(three, Question("sample1"))
    assert [row.model for row in found] == ["a", "b", "c"]
    first = found[0]
    assert (first.n_draws, first.outcome, first.vary) == (3, "ranked", "seed")
    assert first.mean == pytest.approx((8 + 7 + 8) / 27, abs=1e-12)
    # Around the mean 23/27 lie 1/27, -2/27, 1/27: variance (1 + 4 + 1) / 27^2 / 2 = 3 / 729.
    assert first.variance == pytest.approx(3 / 729, abs=1e-12)
    assert first.deviation == pytest.approx((3 / 729) ** 0.5, abs=1e-12)
    assert first.above_chance == pytest.approx(23 / 27 - 19 / 54, abs=1e-12)
    assert (first.lowest, first.highest) == (pytest.approx(7 / 9), pytest.approx(8 / 9))
    assert (first.mean_rank, first.best_rank, first.worst_rank) == (pytest.approx(4 / 3), 1, 2)
    assert [row.n_first for row in found] == [2, 1, 0]
    # Rank sums 4, 5, 9 about 6: S = 4 + 1 + 9 = 14; W = 12 * 14 / (9 * 24) = 7/9.
    assert "Kendall's W 0.778 over 3 draws of 3 models" in found.notes[0]
    assert "(permutation, exact)" in found.notes[1]


def test_rows_of_draws_have_value_interval_and_rank(three: StoreFolder) -> None:
    found = robustness_draws(three, Question("sample1"), values=[1, 2])
    assert [(row.seed, row.model, row.rank) for row in found] == [
        (1, "a", 1.0),
        (1, "b", 2.0),
        (1, "c", 3.0),
        (2, "a", 2.0),
        (2, "b", 1.0),
        (2, "c", 3.0),
    ]
    assert {row.m for row in found} == {6}
    assert all(row.low == row.mean == row.high for row in found)  # four equal tuples
    assert found[0].chance == pytest.approx(19 / 54)


def test_shared_targets_are_said(tmp_path: Path) -> None:
    # Draws of 12 tuples whose targets begin at 10, 20, 30: two neighbours share 2 of 12; of six
    # ordered pairs of draws four are neighbours: 4 * 2 / (6 * 12) = 11 %.
    for number in (1, 2, 3):
        store = add_draw(tmp_path, number, seed(number), {"a": [2] * 12, "b": [4] * 12})
    notes = robustness(store, Question("sample1")).notes
    assert any("two draws have 11% of their targets in common" in note for note in notes)
    # Half of the slice is not asked for: no tuples of other years there are.
    with pytest.raises(NotThere, match="no draw of sample sample1 has tuples in this slice"):
        robustness(store, Question("sample1", years=(1999,)))


def test_equal_means_share_a_rank_and_all_equal_is_no_ranking(tmp_path: Path) -> None:
    add_draw(tmp_path, 1, seed(1), {"a": [2] * 4, "b": [2] * 4})
    store = add_draw(tmp_path, 2, seed(2), {"a": [4] * 4, "b": [4] * 4})
    found = robustness(store, Question("sample1"))
    assert [(row.mean_rank, row.n_first) for row in found] == [(1.5, 2), (1.5, 2)]
    assert "no ranking, all models are equal in every draw" in found.notes[0]


def test_one_draw_or_one_model_is_too_few_in_words(tmp_path: Path) -> None:
    store = add_draw(tmp_path, 1, seed(1), {"a": [2] * 4, "b": [4] * 4})
    found = robustness(store, Question("sample1"))
    assert (found[0].n_draws, found[0].deviation, found[0].variance) == (1, None, None)
    assert "too few draws" in found.notes[0]
    add_draw(tmp_path, 2, seed(2), {"a": [2] * 4, "b": [4] * 4})
    alone = robustness(store, Question("sample1", models=("a",)))
    assert "too few models" in alone.notes[0]
    assert (alone[0].mean_rank, alone[0].n_first) == (1, 2)


def test_a_model_that_is_not_in_every_draw_is_shown_without_a_rank(tmp_path: Path) -> None:
    add_draw(tmp_path, 1, seed(1), {"a": [2] * 4, "b": [4] * 4, "c": [1] * 4, "d": [None] * 4})
    add_draw(tmp_path, 2, seed(2), {"a": [2] * 4, "b": [4] * 4, "c": [None] * 4, "d": [None] * 4})
    store = add_draw(tmp_path, 3, seed(3), {"a": [2] * 4, "b": [4] * 4})
    rows = by_model(store)
    assert list(rows) == ["a", "b", "c", "d"]
    assert [rows[model].outcome for model in "acd"] == [
        "ranked",
        "not in every draw",
        "no defined tuple",
    ]
    assert (rows["c"].n_draws, rows["c"].mean, rows["c"].mean_rank) == (1, 17 / 18, None)
    assert (rows["d"].n_draws, rows["d"].mean, rows["d"].lowest) == (0, None, None)
    listing = robustness(store, Question("sample1"))
    assert any("not in all 3 draws, and so not ranked: c 1; d 0" in note for note in listing.notes)
    text = " ".join(cell for row in grid_of_robustness(listing).cells for cell in row)
    assert "nan" not in text
    assert "no defined tuple" in text


def test_sizes_of_tuples_have_their_own_chance(tmp_path: Path) -> None:
    add_draw(tmp_path, 1, SampleParameters(), {"a": [2] * 4, "b": [4] * 4})
    store = StoreFolder(tmp_path)
    small = SampleParameters(candidates=3)
    assert small.shape == SMALL
    # The largest distance is 4 ranks of 6 units (lcm of 1..3): 12 units are 2 ranks, half of it.
    with store.write() as cursor:
        cursor.execute("INSERT INTO data.shapes VALUES (2, [1, 2, 6], 6, 4, 3, 1/3)")
        cursor.execute(
            "INSERT INTO data.samples SELECT 2, 'small', kind, seed, ?, corpus_digest, created_at "
            "FROM data.samples",
            [json.dumps(asdict(small))],
        )
        for table, others in (
            ("tuples", ", 2 AS shape_id"),
            ("scores", ""),
            ("cell_totals", ""),
            ("counts", ", 2 AS shape_id, 12 AS value"),
        ):
            cursor.execute(
                f"INSERT INTO data.{table} SELECT * REPLACE (2 AS sample_id{others}) "
                f"FROM data.{table}"
            )
    found = robustness_draws(store, Question("sample1"), "candidates")
    assert [(row.m, row.model, round(row.mean or 0, 6)) for row in found] == [
        (3, "a", 0.5),
        (3, "b", 0.5),
        (6, "a", round(16 / 18, 6)),
        (6, "b", round(14 / 18, 6)),
    ]
    assert found[0].chance == pytest.approx(1 / 3)
    assert found[0].above_chance == pytest.approx(1 / 6)
    assert any("chance depends on m (0.333 at m 3, 0.352 at m 6)" in note for note in found.notes)
    assert grid_of_draws(found).cells[0][:2] == ("3", "small")


def test_draws_of_another_corpus_and_missing_ones_are_named(three: StoreFolder) -> None:
    with three.write() as cursor:
        cursor.execute("UPDATE data.samples SET corpus_digest = 'two' WHERE name = 'sample2'")
    notes = robustness(three, Question("sample1"), values=[1, 2, 5]).notes
    assert any("another state of the corpus" in note and "sample2" in note for note in notes)
    assert not any("one corpus" in note for note in notes)
    assert any("not drawn: seed 5" in note for note in notes)
    with pytest.raises(NotThere, match="is scored for nobody"):
        robustness(three, Question("sample1", models=("nobody",)))


def test_of_two_samples_alike_the_base_is_the_draw(tmp_path: Path) -> None:
    add_draw(tmp_path, 1, seed(1), {"a": [2] * 4, "b": [4] * 4})
    store = add_draw(tmp_path, 2, seed(1), {"a": [8] * 4, "b": [4] * 4})
    for base, mean in (("sample1", 16 / 18), ("sample2", 10 / 18)):
        rows = robustness_draws(store, Question(base))
        assert [row.sample for row in rows] == [base, base]
        means = {row.model: row.mean for row in rows}
        assert means["a"] == pytest.approx(mean)


def test_every_number_is_one_or_none(three: StoreFolder) -> None:
    def check(row: DrawRow | RobustnessRow) -> None:
        for value in asdict(row).values():
            assert value is None or not isinstance(value, float) or np.isfinite(value)

    for row in (
        *robustness(three, Question("sample1")),
        *robustness_draws(three, Question("sample1")),
    ):
        check(row)
