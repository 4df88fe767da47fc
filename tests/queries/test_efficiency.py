"""Efficiency: times by device, the front, sizes, and models without a time in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from patcache.errors import NotThere
from patcache.queries.efficiency import EfficiencyRow, batches, efficiency
from patcache.queries.question import Question
from patcache.report.grids.efficiency import grid_of_efficiency
from patcache.store import StoreFolder
from patcache.store.timings import Timing, add_timings
from tests.queries.fill import STUDY, Tuples, Value, fill

IDENTITY = """
UPDATE data.specs SET identity = '{"embedder": "x", "storage": "float32", "normalize": false,
  "prompts": {"query": "", "document": ""}, "text": {"fields": ["title"], "separator": " "}}'"""
SPEEDS = {"good": 0.5, "bad": 0.001, "slow": 2.0, "twin": 0.5}  # seconds a text


def values(rank: int) -> list[Value | None]:
    return [(60 * rank, 15 - rank)] * 4


@pytest.fixture
def store(tmp_path: Path) -> StoreFolder:
    """Means 8/9 (good, twin), 7/9 (slow) and 4/9 (bad), of six candidates a tuple."""
    models = {"good": values(2), "bad": values(10), "slow": values(4), "twin": values(2)}
    models["none"] = [None] * 4
    store = fill(tmp_path, Tuples([STUDY] * 4, [2020] * 4, ["A"] * 4, models))
    with store.write() as cursor:
        cursor.execute(IDENTITY)
        cursor.execute("UPDATE data.specs SET spec_id = label, vectors_id = label")
        for table in ("scores", "counts", "cell_totals", "distances", "encodings"):
            cursor.execute(f"UPDATE data.{table} SET spec_id = reverse(spec_id)")
        for model, speed in SPEEDS.items():
            cursor.execute(
                "UPDATE data.encodings SET n_texts = 10, elapsed_s = ? WHERE spec_id = ?",
                [10 * speed, model],
            )
    return store


@pytest.fixture(autouse=True)
def plain_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored identities are not hashed: a spec's id is its label here."""
    from patcache.records import Spec

    monkeypatch.setattr(Spec, "spec_id", property(lambda spec: spec.label))
    monkeypatch.setattr(Spec, "vectors_id", property(lambda spec: spec.label))


def rows(store: StoreFolder, **options: object) -> dict[str, EfficiencyRow]:
    found = efficiency(store, Question(), **options)  # type: ignore[arg-type]
    return {row.model: row for row in found}


def test_times_sizes_and_the_front_by_hand(store: StoreFolder) -> None:
    found = rows(store)
    assert list(found) == ["good", "twin", "slow", "bad", "none"]
    good = found["good"]
    assert (good.s_per_text, good.texts_per_s, good.device) == (0.5, 2.0, "cpu")
    assert good.s_per_tuple == pytest.approx(0.5 * 7)  # a target and six candidates
    assert good.mean == pytest.approx(8 / 9)
    assert (good.dim, good.vector_bytes, good.n_timed) == (2, 8.0, 10)
    # Equal ones share the front; slow is slower than good and worse; bad is the fastest.
    assert [row.is_front for row in found.values()] == [True, True, False, True, False]
    assert found["slow"].outcome == "another is as fast and as good"
    assert (found["none"].outcome, found["none"].mean) == ("no defined tuple", None)


def test_every_device_is_a_row_and_said(store: StoreFolder) -> None:
    with store.write() as cursor:
        cursor.execute(
            "INSERT INTO data.encodings VALUES "
            "('good', now(), 100, 0, 1.0, 'cuda:0', '{\"batch_tokens\": 4096}')"
        )
    listing = efficiency(store, Question(models=("good", "slow")))
    assert [(row.model, row.device, row.s_per_text) for row in listing] == [
        ("good", "cpu", 0.5),
        ("good", "cuda:0", 0.01),
        ("slow", "cpu", 2.0),
    ]
    assert [row.is_front for row in listing] == [False, True, False]
    assert any("several devices, a row each: cpu; cuda:0" in note for note in listing.notes)
    cells = grid_of_efficiency(listing, " - ").cells
    assert [row[3] for row in cells] == ["–", "4,096 tokens", "–"]
    assert [row[-1] for row in cells] == ["", "*", ""]


def test_a_model_without_a_time_is_named(store: StoreFolder) -> None:
    with store.write() as cursor:
        cursor.execute("DELETE FROM data.encodings WHERE spec_id = 'slow'")
        cursor.execute("UPDATE data.encodings SET elapsed_s = 0 WHERE spec_id = 'twin'")
    listing = efficiency(store, Question())
    by_model = {row.model: row for row in listing}
    assert (by_model["slow"].outcome, by_model["slow"].device) == ("no time", None)
    assert (by_model["twin"].outcome, by_model["twin"].s_per_text) == ("no time", None)
    assert any("no time: twin; slow" in note for note in listing.notes)
    text = " ".join(cell for row in grid_of_efficiency(listing, " - ").cells for cell in row)
    assert "nan" not in text


def test_measured_times_are_those_of_the_fastest_batch(store: StoreFolder) -> None:
    timings = [
        Timing("good", "cpu", batch, 70, 10, 3, seconds, 0.07, {})
        for batch, seconds in ((1, 7.0), (8, 0.7), (64, 1.4))
    ]
    with store.write() as cursor:
        add_timings(cursor, timings)
    found = rows(store, times="measured")
    good = found["good"]
    assert (good.batch, good.s_per_text, good.n_timed) == (8, pytest.approx(0.01), 70)
    assert good.s_per_tuple == pytest.approx(0.07)
    assert found["bad"].outcome == "no time"
    by_batch = batches(store, Question())
    assert [(row.model, row.batch, row.s_per_text) for row in by_batch] == [
        ("good", 1, pytest.approx(0.1)),
        ("good", 8, pytest.approx(0.01)),
        ("good", 64, pytest.approx(0.02)),
    ]
    assert by_batch[1].spread == pytest.approx(0.1)
    assert not any("busy" in note for note in by_batch.notes)
    with store.write() as cursor:
        add_timings(cursor, [Timing("good", "cpu", 8, 70, 10, 3, 0.7, 0.42, {})])
    notes = batches(store, Question()).notes
    assert "repeats differ by up to 60% of their median: a busy machine" in notes
    assert any("not measured: twin; slow; bad; none" in note for note in by_batch.notes)


def test_nothing_measured_says_how(store: StoreFolder) -> None:
    with pytest.raises(NotThere, match="no speed was measured"):
        batches(store, Question())
    with pytest.raises(ValueError, match="'guessed' is none of"):
        efficiency(store, Question(), "guessed")  # type: ignore[arg-type]


def test_a_scorer_of_pairs_is_compared_by_the_tuple(store: StoreFolder) -> None:
    # 0.5 s a text are 3.5 s a tuple of seven texts; 0.55 s a pair are 3.3 s of its six pairs.
    with store.write() as cursor:
        cursor.execute(
            "UPDATE data.specs SET identity = json_merge_patch(identity, '{\"pairs\": true}') "
            "WHERE label = 'twin'"
        )
        cursor.execute("UPDATE data.encodings SET elapsed_s = 5.5 WHERE spec_id = 'twin'")
    found = rows(store)
    twin = found["twin"]
    assert (twin.dim, twin.vector_bytes, twin.unit) == (None, None, "pairs")
    assert twin.s_per_tuple == pytest.approx(3.3)
    assert (found["good"].is_front, twin.is_front) == (False, True)
    assert any("scorers of pairs" in note for note in efficiency(store, Question()).notes)


def test_a_figure_without_any_time_is_refused_in_words(store: StoreFolder) -> None:
    pytest.importorskip("matplotlib")
    from patcache.report.figures.efficiency import draw

    with pytest.raises(NotThere, match="no model has both a time and a mean"):
        draw(efficiency(store, Question(), "measured"))


def test_the_caption_counts_the_tuples_of_the_slice(store: StoreFolder) -> None:
    with store.write() as cursor:  # one of the four tuples is of another year
        cursor.execute("UPDATE data.tuples SET year = 2021 WHERE tuple_id = 0")
        cursor.execute("UPDATE data.cell_totals SET year = 2021, n_tuples = 1")
    caption = efficiency(store, Question(years=(2021,))).caption[0]
    assert caption.startswith("sample main · 1 tuples · 2021 · ")
