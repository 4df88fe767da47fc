"""Word2Vec is the same in every process, and a text is the mean of its words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders import word2vec as module
from patcache.embedders.base import Context
from patcache.embedders.means import mean_vectors
from patcache.embedders.word2vec import Word2VecEmbedder
from patcache.errors import ModelRefused
from tests.embedders.tiny import Texts, opened

TEXTS = Texts(
    [f"red wheel {i} turns the green wheel" for i in range(30)]
    + [f"battery {i} cell and lithium cell" for i in range(30)]
)
SMALL = {"segmenter": "regex", "dim": 12, "min_count": 2, "epochs": 2}


def word2vec(texts: Texts = TEXTS, **settings: Any) -> Word2VecEmbedder:
    pytest.importorskip("gensim")
    embedder = opened("word2vec", Context(fit=texts), **{**SMALL, **settings})
    assert isinstance(embedder, Word2VecEmbedder)
    return embedder


def test_means_worked_by_hand() -> None:
    # Words twice and once: (2 * (1, 0) + (0, 3)) / 3 = (2/3, 1); no words: zero.
    sparse = pytest.importorskip("scipy.sparse")
    vectors = np.array([[1, 0], [0, 3]], dtype=np.float32)
    found = mean_vectors(sparse.csr_array(np.array([[2.0, 1.0], [0.0, 0.0]])), vectors)
    assert found.tolist() == [pytest.approx([2 / 3, 1.0]), [0.0, 0.0]]


def test_a_text_is_the_mean_of_its_known_words() -> None:
    embedder = word2vec()
    one, two, both, unknown = embedder.encode(
        ["red", "wheel", "wheel red wheel xyzzy", "xyzzy"], "query"
    ).vectors
    np.testing.assert_allclose(both, (one + 2 * two) / 3, atol=1e-7)
    assert not unknown.any()


def test_the_company_of_a_text_changes_nothing() -> None:
    embedder = word2vec()
    together = embedder.encode(list(TEXTS), "document").vectors
    alone = np.concatenate([embedder.encode([text], "query").vectors for text in TEXTS])
    assert np.array_equal(together, alone)


def test_a_stored_fit_encodes_the_same_bytes(tmp_path: Path) -> None:
    embedder = word2vec()
    embedder.save_fit(tmp_path)
    again = opened("word2vec", Context(fit_path=tmp_path, fit_digest=TEXTS.digest), **SMALL)
    assert again.spec == embedder.spec
    assert np.array_equal(
        again.encode(TEXTS, "query").vectors, embedder.encode(TEXTS, "query").vectors
    )


def test_every_process_trains_the_same_vectors() -> None:
    pytest.importorskip("gensim")
    code = (
        "from tests.embedders.test_word2vec import TEXTS, word2vec\n"
        "print(word2vec(TEXTS).spec.identity['weights'])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {f"{word2vec().spec.identity['weights']}\n"}


def test_settings_are_part_of_the_spec() -> None:
    plain, skip_gram, seeded = word2vec(), word2vec(sg=1), word2vec(seed=7)
    assert len({e.spec.spec_id for e in (plain, skip_gram, seeded)}) == 3
    assert plain.spec.identity["window"] == 5


def test_long_texts_are_read_whole() -> None:
    # gensim drops what is longer than 10,000 words; the last word must still be learnt.
    texts = Texts(["filler " * 10_500 + "last " * 5])
    vectors = word2vec(texts, epochs=1).encode(["last"], "query").vectors
    assert vectors.any()


def test_a_corpus_of_rare_words_is_refused() -> None:
    with pytest.raises(ModelRefused, match="no word 5 times"):
        word2vec(Texts(["one two three"]), min_count=5)


def test_without_gensim_the_refusal_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    monkeypatch.setattr("sys.version_info", (3, 14, 0))
    with pytest.raises(ModelRefused, match="no release for Python 3.14"):
        module._gensim()
