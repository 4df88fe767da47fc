"""What the demo runs: the models that are here, the others named, each step once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from patcache.demo import run
from patcache.errors import StoreRefused
from patcache.queries.leaderboard import leaderboard
from patcache.queries.question import Question
from patcache.records import ModelRequest, Progress
from patcache.steps.study import is_news


@contextmanager
def no_bar(_label: str) -> Iterator[Progress]:
    yield lambda _done, _total: None


def test_models_that_are_not_installed_are_named_with_what_would_help(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "find_spec", lambda _name: None)
    requests, skipped = run.demo_models()
    assert [request.name for request in requests] == ["tfidf"]
    assert [model.model for model in skipped] == ["word2vec", "use", "minilm"]
    assert "patcache[demo]" in skipped[1].reason
    assert "patcache[torch]" in skipped[2].reason


def test_minilm_without_its_folder_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "find_spec", lambda name: name)
    monkeypatch.setattr(run, "minilm_folder", lambda: None)
    requests, skipped = run.demo_models()
    assert [request.name for request in requests] == ["tfidf", "word2vec", "use"]
    assert [model.model for model in skipped] == ["minilm"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("x", encoding="utf-8")
    with pytest.raises(StoreRefused, match="is a file"):
        run.prepare(tmp_path / "demo")


def test_an_empty_folder_will_do_and_a_half_written_corpus_counts_as_none(tmp_path: Path) -> None:
    run.prepare(tmp_path)
    assert (tmp_path / run.CORPUS_NAME).stat().st_size > 100_000
    assert not list(tmp_path.glob("*.part"))


def test_tfidf_lies_between_chance_and_perfect_and_a_second_run_has_nothing_to_do(
    tmp_path: Path,
) -> None:
    store = run.prepare(tmp_path / "demo")
    requests = [ModelRequest("tfidf")]
    reports = list(run.run_demo(store, requests, no_bar))
    assert all(map(is_news, reports))
    sampled = reports[1]
    assert 1_100 <= sampled.n_texts <= 1_300  # type: ignore[union-attr]
    assert sampled.n_cells == sampled.n_cells_seen == 32  # type: ignore[union-attr]

    (row,) = leaderboard(store, Question(run.SAMPLE_NAME))
    assert row.mean is not None
    assert 19 / 54 + 0.10 < row.mean < 0.90

    again = run.prepare(tmp_path / "demo")
    assert not any(map(is_news, run.run_demo(again, requests, no_bar)))
