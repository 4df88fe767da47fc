"""The hardest, easiest and most disputed tuples, and one tuple whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from patcache.errors import NotThere, PatcacheError
from patcache.queries import tuples as ordering
from patcache.queries.question import Question
from patcache.queries.tuple_view import tuple_view
from patcache.queries.tuples import tuples as hard_tuples
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, Tuples, fill, from_similarities
from tests.queries.test_comparison import SHORT, STRENGTH, drawn, raw
from tests.steps.study_by_hand import add_patents


@pytest.fixture(scope="module")
def tuples() -> Tuples:
    return drawn([STUDY, SHORT], undefined=0.05)


@pytest.fixture(scope="module")
def scored(tuples: Tuples, tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    return fill(tmp_path_factory.mktemp("tuples") / "store", tuples)


@pytest.mark.parametrize("indicator", ["footrule", "concordance"])
@pytest.mark.parametrize("order", ["hardest", "easiest", "disagreement"])
def test_orders_are_those_of_the_raw_values_ties_by_tuple_id(
    scored: StoreFolder, tuples: Tuples, order: str, indicator: str
) -> None:
    values = np.stack([raw(tuples, model, indicator) for model in STRENGTH])
    mean = np.nanmean(values, axis=0)
    spread = np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    key = {"hardest": mean, "easiest": -mean, "disagreement": -spread}[order].round(9)
    wanted = np.lexsort([np.arange(len(key)), key])[:30].tolist()
    question = Question(indicator=indicator)  # type: ignore[arg-type]
    found = hard_tuples(scored, question, order=order, top=30)  # type: ignore[arg-type]
    assert [row.tuple_id for row in found] == wanted
    for row in found:
        one = values[:, row.tuple_id]
        assert row.mean == pytest.approx(np.nanmean(one), abs=1e-9)
        assert (row.lowest, row.highest) == pytest.approx((np.nanmin(one), np.nanmax(one)))
        assert row.difference == pytest.approx(row.highest - row.lowest, abs=1e-9)
        for model, value in zip(STRENGTH, one, strict=True):
            shown = row.values[model]
            assert (shown is None) == bool(np.isnan(value))
            assert shown is None or shown == pytest.approx(value, abs=1e-9)


def test_differences_between_two_models_are_signed(scored: StoreFolder, tuples: Tuples) -> None:
    signed = raw(tuples, "weak") - raw(tuples, "strong")
    key = np.where(np.isnan(signed), 9, -np.abs(signed)).round(9)
    wanted = np.lexsort([np.arange(len(key)), key])[:200].tolist()
    found = hard_tuples(scored, between=("weak", "strong"), top=200)
    assert [row.tuple_id for row in found] == wanted
    for row in found:
        assert row.difference == pytest.approx(signed[row.tuple_id], abs=1e-9)
    assert {-1.0, 1.0} <= {float(np.sign(row.difference or 0)) for row in found}
    assert found.caption[0].endswith("largest difference first: RCI of weak minus that of strong")


def test_windows_of_tuples_change_nothing(
    scored: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = hard_tuples(scored, top=40)
    monkeypatch.setattr(ordering, "WINDOW_TUPLES", 16)
    assert hard_tuples(scored, top=40) == whole


def test_common_and_slices_leave_tuples_out(scored: StoreFolder, tuples: Tuples) -> None:
    values = np.stack([raw(tuples, model) for model in STRENGTH])
    question = Question(is_common=True, years=(2011,), sections=("A", "C"))
    found = hard_tuples(scored, question, top=10_000)
    inside = ~np.isnan(values).any(axis=0)
    inside &= np.isin(tuples.years, [2011]) & np.isin(tuples.sections, ["A", "C"])
    assert sorted(row.tuple_id for row in found) == np.flatnonzero(inside).tolist()


def test_what_cannot_be_ordered_is_refused_in_words(scored: StoreFolder) -> None:
    with pytest.raises(NotThere, match="no scores of best among the models compared"):
        hard_tuples(scored, between=("strong", "best"))
    with pytest.raises(PatcacheError, match="weak does not differ from itself"):
        hard_tuples(scored, between=("weak", "weak"))
    with pytest.raises(ValueError, match="top 0"):
        hard_tuples(scored, top=0)
    with pytest.raises(NotThere, match="no tuple 999 in sample main\nits tuples are .* 0 to 239"):
        tuple_view(scored, 999)


def test_one_tuple_is_shown_with_similarities_ranks_and_patents(tmp_path: Path) -> None:
    similarities = {
        "sharp": [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]],
        "tied": [[0.3, 0.1, 0.1, 0.1, 0.5, 0.6]],
        "none": [[0.3, 0.1, float("nan"), 0.1, 0.5, 0.6]],
    }
    store = fill(tmp_path / "s", from_similarities([STUDY], [2020], ["A"], similarities))
    add_patents(store, [(f"title {i}\x1b[31m\nof it", "abstract") for i in range(7)])
    with store.write() as cursor:
        cursor.execute("UPDATE data.tuples SET target = 6, candidates = [0, 1, 2, 3, 4, 5]")
    listing = tuple_view(store, 0)
    models = [row.model for row in listing[:3]]
    assert models == ["sharp", "tied", "none"]
    assert [(row.level, row.patent) for row in listing[::3]] == [
        (None, "P6"), (6, "P5"), (5, "P4"), (4, "P3"), (3, "P2"), (2, "P1"), (1, "P0"),
    ]  # fmt: skip
    tied = {row.level: row for row in listing if row.model == "tied"}
    assert (tied[2].rank_from, tied[2].rank_to) == (1, 3)
    assert (tied[1].rank_from, tied[1].rank_to) == (4, 4)
    assert tied[6].similarity == pytest.approx(0.6)
    none = [row for row in listing if row.model == "none"]
    assert {(row.similarity, row.rank_from, row.value) for row in none} == {(None, None, None)}
    assert {row.value for row in listing if row.model == "sharp"} == {1.0}
    assert listing[0].title == "title 6\x1b[31m\nof it"  # whole in the record
    assert listing.notes[-1] == "undefined here: none"
