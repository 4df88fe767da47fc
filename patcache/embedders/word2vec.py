"""Word2Vec trained on the corpus; a text is the mean of the vectors of its words."""

from __future__ import annotations

import hashlib
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from patcache.embedders.base import Context, Resolved
from patcache.embedders.fits import Fit, read_fit, save_fit, tokens_to_fit
from patcache.embedders.installed import versions
from patcache.embedders.means import WordMeans
from patcache.embedders.token_cache import TokenCache, Tokens
from patcache.errors import ModelRefused
from patcache.records import Spec

MAX_WORDS = 10_000  # gensim drops what is longer: long texts go in as several pieces


class Word2VecEmbedder(WordMeans):
    """Words have the vectors that were trained for them here."""

    def __init__(self, spec: Spec, fit: Fit, cache: TokenCache) -> None:
        super().__init__(spec, fit.words, fit.values, cache, versions("numpy", "scipy", "gensim"))
        self._fit = fit

    def save_fit(self, folder: Path) -> None:
        """Writes the words and their vectors."""
        save_fit(self._fit, folder)


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
    tokens, digest = tokens_to_fit(resolved, context, cache)
    return train(tokens, cache.words, resolved.settings, digest)


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
