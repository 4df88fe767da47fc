"""Word2Vec trained on the corpus; a text is the mean of the vectors of its words."""

from __future__ import annotations

import hashlib
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.fits import Columns, Fit, read_fit, save_fit
from patcache.embedders.installed import versions
from patcache.embedders.tfidf import count_words
from patcache.embedders.token_cache import TokenCache, Tokens
from patcache.errors import ModelRefused
from patcache.records import Role, Spec

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from patcache.records import FloatArray

MAX_WORDS = 10_000  # gensim drops what is longer: long texts go in as several pieces


class Word2VecEmbedder:
    """The mean of the vectors of a text's known words, each as often as it stands there.

    A text without a known word has the zero vector, and its tuples are undefined.
    """

    def __init__(self, spec: Spec, fit: Fit, cache: TokenCache) -> None:
        self.spec = spec
        self.device = "cpu"
        self.provenance: Mapping[str, Any] = versions("numpy", "scipy", "gensim")
        self._fit = fit
        self._cache = cache
        self._columns = Columns(fit.words)

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]."""
        tokens = self._cache.tokens(texts)
        counts = count_words(tokens, self._columns.of(self._cache.words), len(self._fit.words))
        return Encoded(mean_vectors(counts, self._fit.values))

    def save_fit(self, folder: Path) -> None:
        """Writes the words and their vectors."""
        save_fit(self._fit, folder)


def mean_vectors(counts: csr_array, vectors: FloatArray) -> FloatArray:
    """The mean vector of each text's words, zero where it has none.

    Shapes: counts (n, V), vectors (V, dim) -> (n, dim) float32.
    """
    n_known = np.asarray(counts.sum(axis=1)).reshape(-1, 1)
    sums = counts.astype(np.float32) @ vectors
    means: FloatArray = (sums / np.maximum(n_known, 1)).astype(np.float32)
    return means


class Sentences:
    """A corpus as gensim reads it, once an epoch: lists of words, from numbers on disk."""

    def __init__(self, tokens: Tokens, words: Sequence[str]) -> None:
        self._tokens = tokens
        self._words = words

    def __iter__(self) -> Iterator[list[str]]:
        starts = self._tokens.indptr.tolist()
        for start, stop in pairwise(starts):
            for first in range(start, stop, MAX_WORDS):
                ids = self._tokens.ids[first : min(first + MAX_WORDS, stop)].tolist()
                yield [self._words[i] for i in ids]


def stable_hash(word: str) -> int:
    """The same number in every process, unlike Python's own hash."""
    return zlib.crc32(word.encode())


def train(tokens: Tokens, words: Sequence[str], settings: Mapping[str, Any], digest: str) -> Fit:
    """Vectors of the words that occur min_count times or more, most frequent first.

    One thread and a fixed seed: the same corpus and gensim give the same bytes.
    Errors: ModelRefused where gensim is missing, or no word is frequent enough.
    """
    model_class = _gensim()
    model = model_class(
        vector_size=settings["dim"],
        sg=settings["sg"],
        window=settings["window"],
        min_count=settings["min_count"],
        epochs=settings["epochs"],
        negative=settings["negative"],
        seed=settings["seed"],
        workers=1,
        hashfxn=stable_hash,
    )
    sentences = Sentences(tokens, words)
    model.build_vocab(sentences)
    if not model.wv.index_to_key:
        raise ModelRefused(
            f"word2vec finds no word {settings['min_count']} times",
            f"in the {len(tokens)} texts to train it on",
            "give more texts, or the setting min_count=1",
        )
    model.train(sentences, total_examples=model.corpus_count, epochs=model.epochs)
    return Fit(tuple(model.wv.index_to_key), model.wv.vectors, digest, len(tokens))


def load(resolved: Resolved, context: Context) -> Word2VecEmbedder:
    """Word2Vec, read from a stored fit or trained now.

    The digest of the trained vectors is part of the identity: another machine or version of
    gensim may round differently, and then it is another spec.
    """
    settings = resolved.settings
    cache = TokenCache(settings["segmenter"], context.cache_path)
    fit = _fit(resolved, context, cache)
    training = ("segmenter", "dim", "sg", "window", "min_count", "epochs", "negative", "seed")
    identity = {
        "embedder": "word2vec",
        **{name: settings[name] for name in training},
        "fit": fit.texts_digest,
        "weights": hashlib.sha256(np.ascontiguousarray(fit.values).tobytes()).hexdigest(),
        "pooling": "mean",
        "prompts": {"query": "", "document": ""},
        "normalize": False,
        "storage": settings["storage"],
        "text": settings["text"],
    }
    return Word2VecEmbedder(Spec(resolved.label, identity, settings["dim"]), fit, cache)


def _fit(resolved: Resolved, context: Context, cache: TokenCache) -> Fit:
    if context.fit_path is not None:
        return read_fit(context, context.fit_path)
    if context.fit is None:
        raise ValueError("word2vec needs the texts to train on, or a stored fit")
    tokens = cache.collect(context.fit)
    return train(tokens, cache.words, resolved.settings, context.fit.digest)


def _gensim() -> Any:
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        is_new = sys.version_info >= (3, 14)
        why = "gensim has no release for Python 3.14 and later" if is_new else str(error)
        raise ModelRefused(
            "word2vec cannot be trained without gensim",
            why,
            "use Python 3.11 to 3.13" if is_new else "pip install gensim",
        ) from error
    return Word2Vec
