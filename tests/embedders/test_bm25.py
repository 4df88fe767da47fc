"""BM25 is the formula, worked by hand and in plain Python, whatever else stands in a block."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders.base import Context
from patcache.embedders.bm25 import Bm25Scorer
from patcache.embedders.presets import resolve
from patcache.errors import ModelRefused
from patcache.records import ModelRequest
from tests.embedders.test_tfidf import real_texts
from tests.embedders.tiny import Texts, opened

# 9 words in 3 texts: the mean length is 3. red and battery stand in 2 texts, the others in 1.
TEXTS = Texts(["red wheel red", "red battery", "battery cell long pack"])
IDF_TWO = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))  # ln 1.6
IDF_ONE = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))  # ln 8/3


def bm25(texts: Texts, tmp_path: Path | None = None, **settings: Any) -> Bm25Scorer:
    context = Context(fit=texts, cache_path=tmp_path)
    scorer: Any = opened("bm25", context, **{"segmenter": "regex", **settings})
    assert isinstance(scorer, Bm25Scorer)
    return scorer


def one(scorer: Bm25Scorer, query: str, document: str) -> float:
    return float(scorer.score([query], [document]).values[0])


def test_scores_worked_by_hand() -> None:
    scorer = bm25(TEXTS)
    # As long as the mean: norm = 1.2. red stands in it twice: 2 / (2 + 1.2); wheel once: 1 / 2.2.
    found = one(scorer, "red wheel", "red wheel red")
    assert found == pytest.approx(IDF_TWO * 2 / 3.2 + IDF_ONE / 2.2)
    # Length 2: norm = 1.2 * (0.25 + 0.75 * 2 / 3) = 0.9. red counts twice, as the query says.
    found = one(scorer, "red red battery", "red battery")
    assert found == pytest.approx(3 * IDF_TWO / 1.9)
    # Length 4, one of them unknown: norm = 1.2 * (0.25 + 0.75 * 4 / 3) = 1.5.
    found = one(scorer, "cell", "battery cell long unheard")
    assert found == pytest.approx(IDF_ONE / 2.5)


def test_k1_and_b_are_settings_and_part_of_the_spec() -> None:
    # k1 0: presence only. b 0: length does not matter, norm = k1.
    assert one(bm25(TEXTS, k1=0), "red wheel", "red wheel red") == pytest.approx(IDF_TWO + IDF_ONE)
    assert one(bm25(TEXTS, b="0", k1="2"), "red", "red battery") == pytest.approx(IDF_TWO / 3)
    ids = {s.spec.spec_id for s in (bm25(TEXTS), bm25(TEXTS, k1=2), bm25(TEXTS, b=0))}
    assert len(ids) == 3
    for wrong in ({"k1": -1}, {"b": 1.5}, {"k1": "nan"}, {"b": "much"}):
        with pytest.raises(ModelRefused, match="a number from 0"):
            resolve(ModelRequest("bm25", None, wrong))


def test_no_known_word_in_common_scores_0_and_no_word_at_all_has_no_score() -> None:
    scorer = bm25(TEXTS)
    queries = ["unheard", "red", "red", "", "red", "- -"]
    documents = ["red battery", "unheard", "cell", "red", "...", "red"]
    found = scorer.score(queries, documents).values
    assert found[:3].tolist() == [0, 0, 0]
    assert np.isnan(found[3:]).all()
    assert scorer.score([], []).values.shape == (0,)


def test_target_and_candidate_are_not_equals() -> None:
    scorer = bm25(TEXTS)
    assert one(scorer, "red", "red red red") > one(scorer, "red", "red")
    assert one(scorer, "red red red", "red") == pytest.approx(3 * one(scorer, "red", "red"))
    assert one(scorer, "red red red", "red") > one(scorer, "red", "red red red")


def plain_bm25(corpus: Sequence[str], query: str, document: str, k1: float, b: float) -> float:
    """The formula word by word, without arrays."""
    texts = [text.split() for text in corpus]
    mean = sum(map(len, texts)) / len(texts)
    words, counts = document.split(), Counter(document.split())
    total = 0.0
    for word in query.split():
        n_with = sum(word in text for text in texts)
        if n_with and word in counts:
            idf = math.log(1 + (len(texts) - n_with + 0.5) / (n_with + 0.5))
            saturated = counts[word] / (counts[word] + k1 * (1 - b + b * len(words) / mean))
            total += idf * saturated
    return total


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.5, 1.0), (2.0, 0.0)])
def test_random_word_lists_have_the_scores_of_plain_python(k1: float, b: float) -> None:
    rng = np.random.default_rng(8)
    vocabulary = [f"w{i}" for i in range(40)]

    def text(words: Sequence[str]) -> str:
        return " ".join(rng.choice(words, rng.integers(1, 30)))

    corpus = Texts([text(vocabulary[:30]) for _ in range(50)])
    queries = [text(vocabulary) for _ in range(8)]
    documents = [text(vocabulary) for _ in range(12)]
    pairs = [(query, document) for query in queries for document in documents]
    found = bm25(corpus, k1=k1, b=b).score([q for q, _ in pairs], [d for _, d in pairs]).values
    expected = [plain_bm25(corpus, query, document, k1, b) for query, document in pairs]
    assert found == pytest.approx(expected, rel=1e-6)


def test_the_order_and_company_of_pairs_change_no_bit(shared: Path, tmp_path: Path) -> None:
    texts = real_texts(shared, 60)
    one_way, other = bm25(texts), bm25(Texts(list(texts)[::-1]), tmp_path)
    assert one_way.spec == other.spec
    queries, documents = texts[:10] * 3, texts[10:40]
    together = one_way.score(queries, documents).values
    alone = [one(other, *pair) for pair in zip(queries[::-1], documents[::-1], strict=True)]
    assert together.tolist() == alone[::-1]
    assert (together > 0).all()


def test_a_stored_fit_gives_the_same_bytes(tmp_path: Path) -> None:
    scorer = bm25(TEXTS)
    scorer.save_fit(tmp_path / "fit")
    context = Context(fit_path=tmp_path / "fit", fit_digest=TEXTS.digest)
    again: Any = opened("bm25", context, segmenter="regex")
    assert again.spec == scorer.spec
    pairs = [TEXTS, list(TEXTS)[::-1]]
    assert again.score(*pairs).values.tobytes() == scorer.score(*pairs).values.tobytes()
    assert {path.suffix for path in (tmp_path / "fit").iterdir()} == {".npy", ".txt", ".json"}


def test_the_spec_says_that_it_scores_pairs_and_what_it_was_fitted_on() -> None:
    spec = bm25(TEXTS).spec
    assert (spec.is_pairs, spec.dim, spec.sparse, spec.storage) == (True, 1, False, "float32")
    assert spec.identity["fit"] == TEXTS.digest
    assert bm25(Texts([*TEXTS, "one more"])).spec.spec_id != spec.spec_id


def test_a_corpus_without_words_is_refused() -> None:
    with pytest.raises(ModelRefused, match="no word"):
        bm25(Texts(["- -"]))
