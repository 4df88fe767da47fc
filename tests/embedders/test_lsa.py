"""LSA is the truncated singular value decomposition of TF-IDF, the same in every run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders.base import Context
from patcache.embedders.lsa import LsaEmbedder
from patcache.embedders.presets import resolve
from patcache.errors import ModelRefused, VectorsDamaged
from patcache.records import ModelRequest
from tests.embedders.test_tfidf import real_texts, tfidf
from tests.embedders.tiny import Texts, opened

TEXTS = Texts(
    [f"red wheel {i} turns the green wheel" for i in range(30)]
    + [f"battery {i} cell and lithium cell" for i in range(30)]
)


def lsa(texts: Texts = TEXTS, cache: Path | None = None, **settings: Any) -> LsaEmbedder:
    context = Context(fit=texts, cache_path=cache)
    embedder = opened("lsa", context, **{"segmenter": "regex", "dim": 4, **settings})
    assert isinstance(embedder, LsaEmbedder)
    return embedder


def test_two_topics_without_a_word_in_common_are_two_directions() -> None:
    # Texts "a", "a", "a b", "c": TF-IDF of {a, b} and {c} do not overlap, so that the components
    # are one in each block; the block of c has the single direction c.
    embedder = lsa(Texts(["aa", "aa bb", "aa aa", "cc"]), dim=3)
    vectors = embedder.encode(["cc", "aa", "cc aa", "unheard"], "query").vectors
    assert abs(vectors[0] @ vectors[1]) < 1e-6
    assert np.abs(vectors[0]).max() == pytest.approx(1, abs=1e-6)
    assert not vectors[3].any()


def test_real_patents_have_the_singular_vectors_of_their_tfidf(shared: Path) -> None:
    svds = pytest.importorskip("scipy.sparse.linalg").svds
    texts = real_texts(shared, 400)
    matrix = tfidf(texts).encode(texts, "query").vectors.astype(np.float64)
    _, values, theirs = svds(matrix, k=20, v0=np.ones(min(matrix.shape)), tol=1e-10)
    theirs = theirs[np.argsort(-values)]
    embedder = lsa(texts, dim=20)
    ours = embedder._fit.components
    assert ours is not None
    signs = np.sign((ours * theirs).sum(axis=1))[:, None]
    np.testing.assert_allclose(ours, signs * theirs, atol=1e-3)
    assert (ours[np.arange(20), np.abs(ours).argmax(axis=1)] > 0).all()
    plain = matrix @ theirs.T
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    found = embedder.encode(texts, "query").vectors
    np.testing.assert_allclose(found @ found.T, plain @ plain.T, atol=2e-3)


def test_a_corpus_has_no_more_directions_than_it_varies_in() -> None:
    embedder = lsa(Texts(["red wheel", "battery cell", "battery cell red wheel"]), dim=300)
    assert embedder.spec.dim == 2  # red and wheel never part, nor do battery and cell
    assert embedder.spec.identity["dim"] == 300


def test_the_company_of_a_text_changes_nothing(tmp_path: Path) -> None:
    embedder, other = lsa(), lsa(Texts(list(TEXTS)[::-1]), tmp_path)
    assert embedder.spec == other.spec
    together = embedder.encode(list(TEXTS), "document").vectors
    alone = np.concatenate([other.encode([text], "query").vectors for text in TEXTS])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_a_stored_fit_encodes_the_same_bytes(tmp_path: Path) -> None:
    embedder = lsa()
    embedder.save_fit(tmp_path)
    stored = Context(fit_path=tmp_path, fit_digest=TEXTS.digest)
    again = opened("lsa", stored, segmenter="regex", dim=4)
    assert again.spec == embedder.spec
    np.testing.assert_array_equal(
        again.encode(TEXTS, "query").vectors, embedder.encode(TEXTS, "query").vectors
    )
    (tmp_path / "components.npy").unlink()
    with pytest.raises(VectorsDamaged, match="fit of an lsa model is damaged"):
        opened("lsa", stored, segmenter="regex", dim=4)


def test_settings_are_part_of_the_spec_and_it_is_fitted() -> None:
    ids = {
        lsa().spec.spec_id,
        lsa(dim=3).spec.spec_id,
        lsa(seed=2).spec.spec_id,
        lsa(max_features=5).spec.spec_id,
    }
    assert len(ids) == 4
    assert resolve(ModelRequest("lsa")).is_fitted
    assert resolve(ModelRequest("lsa")).settings["dim"] == 300


def test_a_corpus_without_words_is_refused() -> None:
    with pytest.raises(ModelRefused, match="no word"):
        lsa(Texts(["", "- -"]))
