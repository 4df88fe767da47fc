"""Similarities, levels and tuples of a study that was embedded and scored, from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import patcache
from tests.corpus import write_patents


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> patcache.Store:
    folder: Path = tmp_path_factory.mktemp("study")
    store = patcache.Store(folder / "study")
    store.import_files(write_patents(folder / "patents.parquet"))
    store.sample("main", targets=9, seed=1)
    store.add("tfidf", tokenizer="regex")
    store.add("random")
    return store


def test_a_model_that_reads_the_codes_words_is_above_chance_on_every_level(
    study: patcache.Store,
) -> None:
    rows = study.levels()
    assert {row.accuracy > 0.5 for row in rows if row.model == "tfidf" and row.accuracy} == {True}
    whole = {row.model: row for row in study.distribution()}
    n = study.leaderboard()[0].n
    assert {row.n for row in whole.values()} == {6 * n}
    by_level = [r.mean or 0 for r in study.distribution(by="level") if r.model == "tfidf"]
    assert by_level == sorted(by_level)  # the deeper the level, the more words are shared
    shares = [r.share for r in study.level_confusion() if r.model == "tfidf" and r.level == r.place]
    assert min(share or 0 for share in shares) > 1 / 6


def test_the_similarities_of_a_tuple_are_those_of_the_vectors(study: patcache.Store) -> None:
    hardest = study.tuples(top=1, models="tfidf")[0]
    shown = [row for row in study.tuple_view(hardest.tuple_id) if row.model == "tfidf"]
    stored = study.sql(
        f"select similarities, rci from rci where model = 'tfidf' and tuple_id = {hardest.tuple_id}"
    ).to_dicts()[0]
    candidates = shown[:0:-1]  # without the target, level 1 first
    assert [row.level for row in candidates] == [1, 2, 3, 4, 5, 6]
    assert [row.similarity for row in candidates] == stored["similarities"]
    assert shown[0].value == pytest.approx(stored["rci"])
    assert hardest.mean == pytest.approx(stored["rci"])
    assert hardest.target == shown[0].patent
    assert hardest.title == shown[0].title
    order = np.argsort(stored["similarities"])
    for rank, place in enumerate(order, start=1):
        row = candidates[place]
        assert row.rank_from is not None
        assert row.rank_to is not None
        assert row.rank_from <= rank <= row.rank_to


def test_agreement_is_that_of_the_public_view(study: patcache.Store) -> None:
    (row,) = study.agreement()
    values = study.sql("select tuple_id, model, rci from rci order by tuple_id").to_dicts()
    of = {
        model: [v["rci"] for v in values if v["model"] == model] for model in (row.model, row.other)
    }
    wanted = np.corrcoef(of[row.model], of[row.other])[0, 1]
    assert row.pearson == pytest.approx(wanted, abs=1e-12)
    assert row.mean_difference == pytest.approx(
        np.abs(np.subtract(of[row.model], of[row.other])).mean()
    )
