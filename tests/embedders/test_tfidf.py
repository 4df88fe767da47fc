"""TF-IDF is scikit-learn's, with the tie at the cut settled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders.base import Context, Embedder
from patcache.embedders.tfidf import TfidfEmbedder
from patcache.embedders.words import segmenter
from patcache.errors import ModelRefused, VectorsDamaged
from tests.embedders.tiny import Texts, opened

TEXTS = Texts(["red wheel red", "red battery", "battery cell", "green wheel", "the the the seat"])


def tfidf(texts: Texts, tmp_path: Path | None = None, **settings: Any) -> TfidfEmbedder:
    context = Context(fit=texts, cache_path=tmp_path)
    embedder = opened("tfidf", context, **{"segmenter": "regex", **settings})
    assert isinstance(embedder, TfidfEmbedder)
    return embedder


def rows(embedder: Embedder, texts: Sequence[str]) -> Any:
    return embedder.encode(texts, "query").vectors


def test_a_vector_worked_by_hand() -> None:
    # 5 texts; red in 2, battery in 2: idf = ln(6/3) + 1 = 1.6931 each.
    # "red red battery": (2, 1) * 1.6931 to length 1 = (2, 1) / sqrt 5.
    embedder = tfidf(TEXTS)
    row = rows(embedder, ["red red battery"]).toarray()[0]
    words = ["battery", "cell", "green", "red", "seat", "the", "wheel"]
    assert embedder.spec.dim == len(words)
    assert row[[words.index("red"), words.index("battery")]] == pytest.approx(
        [2 / 5**0.5, 1 / 5**0.5]
    )
    assert np.count_nonzero(row) == 2


def test_a_text_without_a_known_word_has_the_zero_vector() -> None:
    vectors = rows(tfidf(TEXTS), ["unheard of", "", "red"])
    assert np.diff(vectors.indptr).tolist() == [0, 0, 1]
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("name", ["regex", "jieba"])
def test_real_patents_have_scikit_learns_vectors(shared: Path, name: str) -> None:
    text_module = pytest.importorskip("sklearn.feature_extraction.text")
    texts = real_texts(shared, 400)
    cut = segmenter({"name": name, "version": ""})
    # All words, so that no tie at the cut can be settled in another way.
    theirs = text_module.TfidfVectorizer(analyzer=cut).fit_transform(texts)
    ours = rows(tfidf(texts, segmenter=name), texts)
    assert ours.shape == theirs.shape
    assert abs(ours - theirs).max() < 1e-7


def test_the_most_frequent_words_are_scikit_learns(shared: Path) -> None:
    text_module = pytest.importorskip("sklearn.feature_extraction.text")
    texts = real_texts(shared, 400)
    counts = text_module.CountVectorizer().fit_transform(texts).sum(axis=0)
    ordered = np.sort(np.asarray(counts).ravel())[::-1]
    cut = next(k for k in range(300, len(ordered)) if ordered[k] < ordered[k - 1])  # no tie there
    theirs = text_module.TfidfVectorizer(max_features=cut).fit_transform(texts)
    ours = rows(tfidf(texts, max_features=cut), texts)
    assert abs(ours - theirs).max() < 1e-7


def test_a_tie_at_the_cut_goes_by_the_alphabet() -> None:
    embedder = tfidf(Texts(["zebra yak", "yak zebra", "ant ant ant"]), max_features=2)
    found = rows(embedder, ["ant", "yak", "zebra"])
    assert np.diff(found.indptr).tolist() == [1, 1, 0]


def test_the_order_and_company_of_texts_change_nothing(tmp_path: Path) -> None:
    one, other = tfidf(TEXTS), tfidf(Texts(list(TEXTS)[::-1]), tmp_path)
    assert one.spec == other.spec
    together = rows(one, TEXTS).toarray()
    alone = [rows(other, [text]).toarray()[0] for text in TEXTS]
    assert np.array_equal(together, np.array(alone))


def test_a_stored_fit_encodes_the_same_bytes(tmp_path: Path) -> None:
    embedder = tfidf(TEXTS)
    embedder.save_fit(tmp_path / "fit")
    again = opened(
        "tfidf", Context(fit_path=tmp_path / "fit", fit_digest=TEXTS.digest), segmenter="regex"
    )
    assert again.spec == embedder.spec
    assert (rows(again, TEXTS) != rows(embedder, TEXTS)).nnz == 0
    assert {path.suffix for path in (tmp_path / "fit").iterdir()} == {".npy", ".txt", ".json"}


def test_other_texts_and_other_settings_are_other_specs() -> None:
    ids = {
        tfidf(TEXTS).spec.spec_id,
        tfidf(Texts([*TEXTS, "one more"])).spec.spec_id,
        tfidf(TEXTS, max_features=3).spec.spec_id,
        tfidf(TEXTS, segmenter="jieba").spec.spec_id,
        tfidf(TEXTS, text="abstract").spec.spec_id,
    }
    assert len(ids) == 5


def test_a_corpus_without_words_is_refused() -> None:
    with pytest.raises(ModelRefused, match="no word"):
        tfidf(Texts(["", "- -"]))


def test_a_damaged_fit_is_named(tmp_path: Path) -> None:
    tfidf(TEXTS).save_fit(tmp_path)
    (tmp_path / "words.txt").write_text("red\n")
    with pytest.raises(VectorsDamaged, match="1 words and 7 values"):
        opened("tfidf", Context(fit_path=tmp_path), segmenter="regex")


def real_texts(shared: Path, n: int) -> Texts:
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(shared / "data" / "patents_en.parquet", columns=["title", "abstract"])
    return Texts([f"{row['title']}. {row['abstract']}" for row in table.to_pylist()[:n]])
