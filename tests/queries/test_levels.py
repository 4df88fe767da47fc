"""Confusion and accuracy of levels: equal to counting pairs and ranks one tuple at a time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations, product
from pathlib import Path

import numpy as np
import pytest

from patcache.queries import similarities as reading
from patcache.queries.levels import level_confusion, levels
from patcache.queries.question import Question
from patcache.records import Shape
from patcache.report.grids.levels import grid_of_levels
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, Tuples, fill, from_similarities

UNEVEN = Shape((1, 2, 2, 6))
N = 60


@pytest.fixture(scope="module")
def tuples() -> Tuples:
    rng = np.random.default_rng(9)
    shapes = [UNEVEN if i % 2 else STUDY for i in range(N)]
    similarities = {
        model: [
            (np.round(rng.normal(size=len(s.levels)) * 2 + strength * np.array(s.levels)) / 10)
            .astype(np.float32)
            .tolist()
            for s in shapes
        ]
        for model, strength in (("strong", 1.2), ("weak", 0.1))
    }
    similarities["weak"][0] = [float("nan")] * 6
    return from_similarities(shapes, [2020] * N, ["A"] * N, similarities)


@pytest.fixture(scope="module")
def scored(tuples: Tuples, tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    return fill(tmp_path_factory.mktemp("levels") / "store", tuples)


def in_order(tuples: Tuples, model: str, shallow: int, deep: int) -> np.ndarray:
    """Share of the pairs of these neighbouring levels in gold order, ties half, of each tuple."""
    assert tuples.similarities is not None
    shares = []
    for shape, row in zip(tuples.shapes, tuples.similarities[model], strict=True):
        have = sorted(set(shape.levels))
        if shallow not in have or deep not in have or np.isnan(row).any():
            continue
        if have.index(deep) != have.index(shallow) + 1:
            continue
        of = {
            level: [x for x, at in zip(row, shape.levels, strict=True) if at == level]
            for level in (shallow, deep)
        }
        pairs = list(product(of[shallow], of[deep]))
        shares.append(sum(1.0 if b > a else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs))
    return np.array(shares)


def test_accuracy_is_the_mean_over_targets_of_pairs_in_gold_order(
    scored: StoreFolder, tuples: Tuples
) -> None:
    rows = {(row.model, row.shallow, row.deep): row for row in levels(scored)}
    pairs = [(1, 2), (2, 3), (2, 6), (3, 4), (4, 5), (5, 6)]  # 2 and 6 are neighbours in UNEVEN
    assert list(rows) == [(model, *pair) for model in ("strong", "weak") for pair in pairs]
    for (model, shallow, deep), row in rows.items():
        raw = in_order(tuples, model, shallow, deep)
        assert (row.n, row.chance) == (len(raw), 0.5)
        assert row.accuracy == pytest.approx(raw.mean(), abs=1e-12)
        assert row.low is not None
        assert row.high is not None
        assert 0 <= row.low < raw.mean() < row.high <= 1
        error = raw.std(ddof=1) / np.sqrt(len(raw))
        if raw.mean() < 0.9:  # nearer to 1 the interval bends away from it
            assert row.high - row.low == pytest.approx(2 * 1.96 * error, rel=0.2)


def test_a_table_says_that_pairs_of_levels_have_different_numbers_of_targets(
    scored: StoreFolder, tuples: Tuples
) -> None:
    grid = grid_of_levels(levels(scored))
    pairs = [(1, 2), (2, 3), (2, 6), (3, 4), (4, 5), (5, 6)]
    n = [len(in_order(tuples, "strong", *pair)) for pair in pairs]
    assert min(n) < max(n)
    assert grid.cells[0][:2] == ("strong", f"{min(n)}-{max(n)}")
    few = levels(scored, Question(models=("weak",)))
    alike = replace(few, rows=few.rows[:1])
    assert grid_of_levels(alike).cells[0][1] == str(few[0].n)


def test_shares_of_places_are_the_mean_over_every_way_to_break_ties(
    scored: StoreFolder, tuples: Tuples
) -> None:
    assert tuples.similarities is not None
    wanted: dict[tuple[int, int], float] = {}
    total = dict.fromkeys(range(1, 7), 0)
    for shape, row in zip(tuples.shapes, tuples.similarities["strong"], strict=True):
        orders = [
            order
            for order in permutations(range(len(row)))
            if all(row[a] <= row[b] for a, b in pairwise(order))
        ]
        for level in shape.levels:
            total[level] += 1
        for order in orders:
            for rank, candidate in enumerate(order):
                key = shape.levels[candidate], shape.levels[rank]
                wanted[key] = wanted.get(key, 0.0) + 1 / len(orders)
    rows = {(r.level, r.place): r for r in level_confusion(scored) if r.model == "strong"}
    for (level, place), row in rows.items():
        assert level is not None
        assert place is not None
        assert row.n == total[level]
        assert row.share == pytest.approx(wanted.get((level, place), 0.0) / total[level])
    assert len(rows) == 36
    for level in range(1, 7):
        shares = [row.share for (of, _), row in rows.items() if of == level]
        assert sum(share or 0.0 for share in shares) == pytest.approx(1.0)


def test_a_constant_model_is_at_chance_in_every_cell(tmp_path: Path) -> None:
    shapes = [UNEVEN if i % 2 else STUDY for i in range(8)]
    rows = {"flat": [[0.3] * shape.n_candidates for shape in shapes]}
    store = fill(tmp_path / "s", from_similarities(shapes, [2020] * 8, ["A"] * 8, rows))
    for row in level_confusion(store):
        assert row.share == pytest.approx(row.chance)
    assert {row.accuracy for row in levels(store)} == {0.5}
    assert any("chance is inside the interval of flat 1<2" in note for note in levels(store).notes)


def test_pieces_give_what_the_whole_gives(
    scored: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, places = levels(scored), level_confusion(scored)
    monkeypatch.setattr(reading, "WINDOW_TUPLES", 7)
    assert levels(scored) == whole
    for one, other in zip(level_confusion(scored), places, strict=True):
        assert one.share == pytest.approx(other.share, abs=1e-12)


def test_a_wider_tie_tolerance_is_another_scoring(scored: StoreFolder) -> None:
    from patcache.errors import NotThere

    with pytest.raises(NotThere, match="no model is scored"):
        levels(scored, Question(tie_tolerance=0.5))


def test_a_model_without_a_defined_tuple_has_rows_without_numbers(tmp_path: Path) -> None:
    rows = {"none": [[float("nan")] * 6] * 3, "some": [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]] * 3}
    store = fill(tmp_path / "s", from_similarities([STUDY] * 3, [2020] * 3, ["A"] * 3, rows))
    found = levels(store)
    assert [(r.n, r.accuracy) for r in found if r.model == "none"] == [(0, None)] * 5
    assert [(r.n, r.accuracy) for r in found if r.model == "some"] == [(3, 1.0)] * 5
    assert "undefined tuples left out: none 3" in found.notes
    (alone,) = level_confusion(store, Question(models=("none",)))
    assert (alone.level, alone.n, alone.share) == (None, 0, None)
