"""patcache from Python: records, Arrow or a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import patcache
from patcache.embedders.python import from_object
from patcache.errors import PatcacheError
from tests.corpus import write_patents


@pytest.fixture
def study(tmp_path: Path) -> patcache.Store:
    store = patcache.Store(tmp_path / "study")
    store.import_files(write_patents(tmp_path / "patents.parquet"))
    store.sample("main", targets=9, seed=1)
    store.add("tfidf", tokenizer="regex")
    store.add("random")
    return store


def test_a_study_in_seven_lines(study: patcache.Store) -> None:
    board = study.leaderboard()
    assert [row.model for row in board] == ["tfidf", "random"]
    assert board[0].mean > 0.9
    assert board[0].beats == 1
    assert [(pair.model, pair.beats) for pair in study.matrix("main")] == [
        ("tfidf", True),
        ("random", False),
    ]
    assert {row.year for row in study.cells(by="year")} == {2019, 2020}
    assert [row.sample for row in study.samples()] == ["main"]
    assert [row.label for row in study.models()] == ["tfidf", "random"]


def test_listings_become_arrow_and_data_frames(study: patcache.Store) -> None:
    board = study.leaderboard(test="signed-rank")
    assert board.to_arrow()["model"].to_pylist() == ["tfidf", "random"]
    assert board.to_pandas()["beats"].tolist() == [1, 0]
    assert board.to_dicts()[1]["model"] == "random"
    rows = study.sql("SELECT model, count(*) AS n FROM rci GROUP BY model ORDER BY model")
    assert rows.to_dicts() == [{"model": "random", "n": 18}, {"model": "tfidf", "n": 18}]
    assert rows.to_pandas()["n"].tolist() == [18, 18]


def test_a_slice_is_one_value_or_any_of_them(study: patcache.Store) -> None:
    whole = study.leaderboard(years=range(2000, 2030), sections="A", models=["random", "tfidf"])
    assert [(row.model, row.n) for row in whole] == [("tfidf", 18), ("random", 18)]
    assert [row.n for row in study.leaderboard(years=2020, models="random")] == [9]


class Counting:
    """Vectors by the letters of a text; counts the texts it is given."""

    def __init__(self) -> None:
        self.n_encoded = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.n_encoded += len(texts)
        return np.array([[text.count(letter) for letter in "abcdefghijk"] for text in texts])


def test_any_object_with_encode_is_a_model_and_encodes_each_text_once(
    study: patcache.Store,
) -> None:
    model = Counting()
    embedder = from_object(model, "letters", "version 1")
    n_probed = model.n_encoded
    report = study.add(embedder)
    assert model.n_encoded - n_probed == report.n_encoded == report.n_texts
    study.sample("again", targets=9, seed=1)
    study.add(embedder)
    assert model.n_encoded - n_probed == report.n_encoded  # the same texts
    assert "letters" in [row.model for row in study.leaderboard("again")]


def test_a_label_that_no_list_could_name_is_refused(study: patcache.Store) -> None:
    with pytest.raises(PatcacheError, match="the label 'a,b' holds a comma"):
        study.add("random", label="a,b", seed=9)


def test_names_that_are_not_public_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        patcache.nothing  # noqa: B018
