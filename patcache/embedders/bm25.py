"""BM25: how well a candidate answers a target's words, as search engines rank documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Resolved, Scores
from patcache.embedders.fits import Columns, Fit, read_fit, save_fit, tokens_to_fit
from patcache.embedders.installed import versions
from patcache.embedders.tfidf import count_words
from patcache.embedders.token_cache import BLOCK_TEXTS, TokenCache, Tokens
from patcache.records import Spec

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

IDF = "lucene"


class Bm25Scorer:
    """BM25 of a candidate (document) for the words of a target (query), each as often as it says.

    A word that the fit does not know adds nothing, but to the length of its text: without a known
    word in common the score is 0. A text without any word has no score: NaN. The two texts of a
    pair are not equals: exchanged, they have another score.

    Units:  0 and more, without upper bound; compare scores of one target only.
    Source: Robertson & Walker 1994 (the weight of a term), with k1 and b of Robertson et al. 1995
            (Okapi at TREC-3); the idf, ln(1 + (texts - n + 0.5) / (n + 0.5)) for a word of n texts,
            which is never negative, and the weight without the constant factor k1 + 1, which orders
            nothing, are Lucene's (BM25Similarity, from version 8). Lengths are exact here, where
            Lucene rounds them to a byte.
    """

    def __init__(self, spec: Spec, fit: Fit, cache: TokenCache) -> None:
        self.spec = spec
        self.device = "cpu"
        self.provenance: Mapping[str, Any] = versions("numpy", "scipy")
        self._fit = fit
        self._cache = cache
        self._columns = Columns(fit.words)
        n_texts_with, n_uses = fit.values.T
        self._idf = np.log1p((fit.n_texts - n_texts_with + 0.5) / (n_texts_with + 0.5))
        self._mean_length = n_uses.sum() / fit.n_texts

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> Scores:
        """Scores of documents[i] for queries[i]; each distinct text is counted once."""
        query_at, query_tokens = self._distinct(queries)
        document_at, document_tokens = self._distinct(documents)
        asked = self._counts(query_tokens)[query_at]
        weights = self._weights(document_tokens)[document_at]
        sums = np.asarray((asked * weights).sum(axis=1), dtype=np.float64)
        is_empty = _lengths(query_tokens)[query_at] == 0
        is_empty |= _lengths(document_tokens)[document_at] == 0
        return Scores(np.where(is_empty, np.nan, sums).astype(np.float32))

    def save_fit(self, folder: Path) -> None:
        """Writes the words, and for each in how many texts and how often it stands."""
        save_fit(self._fit, folder)

    def _distinct(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], Tokens]:
        """Which of the distinct texts each text is, and the words of those."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        places = np.fromiter((numbers[text] for text in texts), dtype=np.int64, count=len(texts))
        return places, self._cache.tokens(list(numbers))

    def _counts(self, tokens: Tokens) -> csr_array:
        """How often each text has each known word (texts, words)."""
        columns = self._columns.of(self._cache.words)
        return count_words(tokens, columns, len(self._fit.words))

    def _weights(self, documents: Tokens) -> csr_array:
        """What one use of each word in a query is worth to each document (documents, words)."""
        counts = self._counts(documents)
        k1, b = self.spec.identity["k1"], self.spec.identity["b"]
        norms = k1 * (1 - b + b * _lengths(documents) / self._mean_length)
        norm = np.repeat(norms, np.diff(counts.indptr))
        counts.data = self._idf[counts.indices] * counts.data / (counts.data + norm)
        return counts


def _lengths(tokens: Tokens) -> NDArray[np.int64]:
    """Words of each text, unknown ones included."""
    return np.diff(tokens.indptr)


def fit_counts(tokens: Tokens, words: Sequence[str], digest: str) -> Fit:
    """Every word of a corpus in alphabetical order, with its texts and its uses.

    Counted block by block from token ids, so that memory does not grow with the corpus.

    Shapes: values (words, 2): in how many texts a word stands, and how often in all of them.
    """
    n_words = len(words)
    counts = np.zeros((n_words, 2), dtype=np.int64)
    for block in tokens.blocks(BLOCK_TEXTS):
        found = count_words(block, np.arange(n_words), n_words)
        counts[:, 0] += np.bincount(found.indices, minlength=n_words)
        counts[:, 1] += np.bincount(block.ids, minlength=n_words)
    kept = [i for i in sorted(range(n_words), key=words.__getitem__) if counts[i, 1]]
    return Fit(tuple(words[i] for i in kept), counts[kept], digest, len(tokens))


def load(resolved: Resolved, context: Context) -> Bm25Scorer:
    """BM25, read from a stored fit or fitted now.

    Errors: ModelRefused where the corpus has no word.
    """
    settings = resolved.settings
    cache = TokenCache(settings["segmenter"], context.cache_path)
    fit = _fit(resolved, context, cache)
    identity = {
        "embedder": "bm25",
        "pairs": True,
        "segmenter": settings["segmenter"],
        "k1": settings["k1"],
        "b": settings["b"],
        "idf": IDF,
        "fit": fit.texts_digest,
        "prompts": {"query": "", "document": ""},
        "normalize": False,
        "storage": "float32",
        "text": settings["text"],
    }
    return Bm25Scorer(Spec(resolved.label, identity, dim=1), fit, cache)


def _fit(resolved: Resolved, context: Context, cache: TokenCache) -> Fit:
    if context.fit_path is not None:
        return read_fit(context, context.fit_path)
    tokens, digest = tokens_to_fit(resolved, context, cache)
    return fit_counts(tokens, cache.words, digest)
