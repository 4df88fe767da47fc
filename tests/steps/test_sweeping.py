"""Sweeps: who is a draw of whom, what is missing, and that only new texts are ever encoded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from patcache.api import Store
from patcache.embedders.base import Encoded
from patcache.embedders.random import RandomEmbedder
from patcache.errors import PatcacheError, SampleRefused
from patcache.records import ModelRequest, Progress, Role
from patcache.steps.embedding import EmbedReport
from patcache.steps.sampling import SampleReport
from patcache.steps.sweeping import Failure, NewTexts, Report, fill_sweeps, is_news
from patcache.steps.sweeps import Vary, find_sweep
from patcache.store.samples import remove_sample, sample_names
from tests.corpus import write_patents


@contextmanager
def no_bar(_label: str) -> Iterator[Progress]:
    yield lambda _done, _total: None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweeping")
    store = Store(folder / "store")
    store.import_files(write_patents(folder / "patents.parquet"))
    store.sample("main", targets=3)
    store.add("random")
    return store.path


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Store:
    return Store(shutil.copytree(made, tmp_path / "store"))


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is given to the random embedder from here on."""
    texts: list[str] = []
    encode = RandomEmbedder.encode

    def noted(self: RandomEmbedder, some: Sequence[str], role: Role) -> Encoded:
        texts.extend(some)
        return encode(self, some, role)

    monkeypatch.setattr(RandomEmbedder, "encode", noted)
    return texts


def fill(
    store: Store, vary: Vary, values: Sequence[int], *models: str, base: str = "main"
) -> list[Report]:
    sweep = find_sweep(store, base, vary, values)
    requests = [ModelRequest(name) for name in models or ("random",)]
    return list(fill_sweeps(store, [sweep], requests, bar=no_bar))


def names(store: Store, vary: Vary, values: Sequence[int] | None = None) -> list[tuple[int, str]]:
    found = find_sweep(store, "main", vary, values)
    return [(draw.value, draw.name) for draw in found.draws if draw.is_drawn]


def texts_of(store: Store, *samples: str) -> set[str]:
    """Different texts of samples, counted in SQL: targets and candidates."""
    rows = store.sql(
        "SELECT t.sample, p.title || '. ' || p.abstract FROM tuples t "
        "JOIN patents p ON p.publication_number IN (t.target, t.candidate)"
    )
    return {text for sample, text in rows if sample in samples}


def test_only_the_new_texts_are_encoded_and_a_second_run_does_nothing(
    study: Store, encoded: list[str]
) -> None:
    first = fill(study, "seed", [1, 2, 3])
    assert names(study, "seed") == [(1, "main"), (2, "main-seed2"), (3, "main-seed3")]
    new = texts_of(study, "main-seed2", "main-seed3") - texts_of(study, "main")
    assert len(new) > 0
    assert sorted(encoded) == sorted(new)  # each of them once
    (told,) = [report for report in first if isinstance(report, NewTexts)]
    (embedded,) = [report for report in first if isinstance(report, EmbedReport)]
    assert (told.n_new, embedded.n_encoded) == (len(new), len(new))
    assert first.index(told) < first.index(embedded)
    encoded.clear()
    again = fill(study, "seed", [1, 2, 3])
    assert not any(is_news(report) for report in again)
    assert encoded == []


def test_a_name_says_nothing_about_who_is_a_draw(study: Store) -> None:
    study.sample("main-seed2", targets=3, seed=7)  # the name of another draw, taken
    study.sample("elsewhere", targets=3, seed=3)  # a draw under a name of its own
    study.sample("main-seed4", targets=4, seed=4)  # no draw: other targets
    fill(study, "seed", [1, 2, 3, 4])
    assert names(study, "seed") == [
        (1, "main"),
        (2, "main-seed2-2"),
        (3, "elsewhere"),
        (4, "main-seed4-2"),
        (7, "main-seed2"),
    ]


def test_numbers_of_candidates_are_draws_and_six_of_six_levels_is_the_base(study: Store) -> None:
    fill(study, "candidates", [3, 6, 8])
    assert names(study, "candidates") == [(3, "main-m3"), (6, "main"), (8, "main-m8")]
    with study.read() as cursor:
        stored = dict(
            cursor.execute("SELECT name, parameters->>'candidates' FROM data.samples").fetchall()
        )
    assert stored == {"main": None, "main-m3": "3", "main-m8": "8"}
    assert names(study, "seed") == [(1, "main")]  # those of another size are no draws by seed


def test_without_a_name_the_oldest_is_the_base_of_its_draws_only(study: Store) -> None:
    fill(study, "seed", [2])
    fill(study, "candidates", [4])
    assert find_sweep(study, None, "seed").base == "main"
    study.sample("other", targets=1)
    with pytest.raises(PatcacheError, match="which sample"):
        find_sweep(study, None, "seed")


def test_an_imported_sample_has_no_draws(study: Store, tmp_path: Path) -> None:
    from patcache.steps.tuple_files import export_sample, import_sample

    export_sample(study, "main", tmp_path / "main.csv")
    import_sample(study, "given", tmp_path / "main.csv")
    with pytest.raises(SampleRefused, match="was imported"):
        find_sweep(study, "given", "seed")


def test_an_interrupted_sweep_goes_on_from_there(
    study: Store, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from patcache.steps import encoding

    monkeypatch.setattr(encoding, "FAST_BLOCK_TEXTS", 2)
    encode, calls = RandomEmbedder.encode, []

    def interrupted(self: RandomEmbedder, some: Sequence[str], role: Role) -> Encoded:
        calls.append(len(some))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(self, some, role)

    with monkeypatch.context() as patch:
        patch.setattr(RandomEmbedder, "encode", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fill(study, "seed", [1, 2, 3])
    done = list(encoded)
    assert 0 < len(done) <= 4
    encoded.clear()
    fill(study, "seed", [1, 2, 3])
    new = texts_of(study, "main-seed2", "main-seed3") - texts_of(study, "main")
    assert sorted(done + encoded) == sorted(new)


def test_a_model_that_fails_is_told_and_the_others_are_done(study: Store) -> None:
    import patcache.embedders.random as module

    study.add("random", label="second", seed=2)
    load = module.load

    def refuse(resolved: Any, context: Any) -> Any:
        if resolved.settings["seed"] == 2:
            raise SampleRefused("the weights are gone")
        return load(resolved, context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load", refuse)
        reports = fill(study, "seed", [1, 2], "second", "random")
    (failure,) = [report for report in reports if isinstance(report, Failure)]
    assert (failure.subject, failure.error.what) == ("second", "the weights are gone")
    scored = dict(
        study.sql("SELECT sample, count(*) FROM scores WHERE model = 'random' GROUP BY 1")
    )
    assert set(scored) == {"main", "main-seed2"}
    # Where nothing is missing, nothing is loaded, and so nothing fails.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load", refuse)
        assert not any(is_news(report) for report in fill(study, "seed", [1], "second"))


def test_a_draw_that_cannot_be_is_told_and_the_others_are_done(study: Store) -> None:
    reports = fill(study, "candidates", [3, 20])  # nobody has that many neighbours here
    (failure,) = [report for report in reports if isinstance(report, Failure)]
    assert failure.subject == "sample main-m20"
    assert [r.name for r in reports if isinstance(r, SampleReport)] == ["main-m3"]
    assert names(study, "candidates") == [(3, "main-m3"), (6, "main")]


def test_texts_stored_already_are_noted_so(study: Store, encoded: list[str]) -> None:
    fill(study, "seed", [2])
    remove_sample(study, "main-seed2")
    encoded.clear()
    reports = fill(study, "seed", [2])
    assert encoded == []
    assert not any(isinstance(report, NewTexts) for report in reports)
    with study.read() as cursor:
        assert sample_names(cursor) == ["main", "main-seed2"]
        noted = cursor.execute("SELECT count(*) FROM data.embedded").fetchone()
    assert noted == (2,)


def test_a_model_whose_file_is_gone_is_told_in_words(study: Store, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("garden 0.1 0.2\nkettle 0.3 -0.1\n")
    study.add(str(file), label="words", tokenizer="regex")
    file.unlink()
    reports = fill(study, "seed", [2], "words", "random")
    (failure,) = [report for report in reports if isinstance(report, Failure)]
    assert (failure.subject, failure.error.why) == ("words", "it is not there")
    assert any(isinstance(report, EmbedReport) and report.n_encoded for report in reports)


def test_python_sweeps_measures_and_raises_what_failed_after_the_rest(study: Store) -> None:
    study.sweep("main", seeds=[1, 2], candidates=[3])
    assert [row.n_draws for row in study.robustness("main")] == [2]
    assert {row.m for row in study.robustness_draws("main", vary="candidates")} == {3, 6}
    assert [row.batch for row in study.measure("main", batches=(1, 2), n_tuples=1)] == [1, 2]
    (row,) = study.efficiency("main", times="measured")
    assert (row.model, row.is_front, row.n_timed) == ("random", True, 7)
    with pytest.raises(SampleRefused, match="no patent has candidates at every level"):
        study.sweep("main", candidates=[20, 4], models="random")
    assert (4, "main-m4") in names(study, "candidates")
