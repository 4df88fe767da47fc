"""TF-IDF over the most frequent words, as scikit-learn defines it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.fits import Columns, Fit, read_fit, save_fit, tokens_to_fit
from patcache.embedders.installed import versions
from patcache.embedders.token_cache import BLOCK_TEXTS, TokenCache, Tokens
from patcache.records import Role, Spec

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array


class TfidfEmbedder:
    """Sparse vectors: counts of known words, times their idf, to length 1.

    A text without a known word has the zero vector, and its tuples are undefined.
    """

    def __init__(self, spec: Spec, fit: Fit, cache: TokenCache) -> None:
        self.spec = spec
        self.device = "cpu"
        self.provenance: Mapping[str, Any] = versions("numpy", "scipy", "scikit-learn")
        self._fit = fit
        self._cache = cache
        self._columns = Columns(fit.words)

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i], CSR."""
        tokens = self._cache.tokens(texts)
        counts = count_words(tokens, self._columns.of(self._cache.words), self.spec.dim)
        return Encoded(weigh(counts, self._fit.values))

    def save_fit(self, folder: Path) -> None:
        """Writes the words and their idf."""
        save_fit(self._fit, folder)


def count_words(tokens: Tokens, columns: NDArray[np.int64], n_columns: int) -> csr_array:
    """How often each text has each word.

    Shapes: columns (words,) the column of each word number, -1 for none -> (texts, n_columns).
    """
    from scipy.sparse import csr_array

    found = columns[tokens.ids]
    is_known = found >= 0
    indptr = np.concatenate([[0], np.cumsum(is_known)])[tokens.indptr]
    ones = np.ones(int(indptr[-1]))
    counts = csr_array((ones, found[is_known], indptr), shape=(len(tokens), n_columns))
    counts.sum_duplicates()
    return counts


def weigh(counts: csr_array, idf: NDArray[np.float64]) -> csr_array:
    """Counts times idf, each row to Euclidean length 1, in float32; a zero row stays zero."""
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfTransformer

    transformer = TfidfTransformer()
    transformer.idf_ = idf
    return csr_array(transformer.transform(counts).astype(np.float32))


def fit_idf(tokens: Tokens, words: Sequence[str], max_features: int, digest: str) -> Fit:
    """The most frequent words of a corpus in alphabetical order, and their smooth idf.

    Counted here, block by block from token ids, so that memory does not grow with the corpus.

    Units:  idf = ln((1 + texts) / (1 + texts with the word)) + 1.
    Source: TfidfVectorizer of scikit-learn. Among words equally frequent at the cut it keeps
            whichever its sort leaves first; here the first by alphabet.
    """
    n_words = len(words)
    n_uses = np.zeros(n_words, dtype=np.int64)
    n_texts_with = np.zeros(n_words, dtype=np.int64)
    for block in tokens.blocks(BLOCK_TEXTS):
        counts = count_words(block, np.arange(n_words), n_words)
        n_uses += np.bincount(block.ids, minlength=n_words)
        n_texts_with += np.bincount(counts.indices, minlength=n_words)
    used = [i for i in sorted(range(n_words), key=words.__getitem__) if n_uses[i]]
    by_use = np.argsort(-n_uses[used], kind="stable")[:max_features]
    kept = np.array(used, dtype=np.int64)[np.sort(by_use)]
    idf = np.log((1 + len(tokens)) / (1 + n_texts_with[kept])) + 1
    return Fit(tuple(words[i] for i in kept), idf, digest, len(tokens))


def load(resolved: Resolved, context: Context) -> TfidfEmbedder:
    """TF-IDF, read from a stored fit or fitted now.

    Errors: ModelRefused where the corpus has no word.
    """
    settings = resolved.settings
    cache = TokenCache(settings["segmenter"], context.cache_path)
    fit = _fit(resolved, context, cache)
    identity = {
        "embedder": "tfidf",
        "segmenter": settings["segmenter"],
        "max_features": settings["max_features"],
        "idf": "smooth",
        "fit": fit.texts_digest,
        "prompts": {"query": "", "document": ""},
        "normalize": True,
        "storage": "float32",
        "text": settings["text"],
    }
    spec = Spec(resolved.label, identity, len(fit.words), sparse=True)
    return TfidfEmbedder(spec, fit, cache)


def fit_words(resolved: Resolved, context: Context, cache: TokenCache) -> tuple[Tokens, Fit]:
    """The words of the texts to fit on, and the most frequent of them with their idf.

    Errors: ModelRefused where the corpus has no word.
    """
    tokens, digest = tokens_to_fit(resolved, context, cache)
    n_words = resolved.settings["max_features"]
    return tokens, fit_idf(tokens, cache.words, n_words, digest)


def _fit(resolved: Resolved, context: Context, cache: TokenCache) -> Fit:
    if context.fit_path is not None:
        return read_fit(context, context.fit_path)
    return fit_words(resolved, context, cache)[1]
