"""Word vectors of a file; a text is the mean of the vectors of its words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from patcache.embedders.base import Context, Resolved
from patcache.embedders.installed import versions
from patcache.embedders.means import WordMeans
from patcache.embedders.token_cache import TokenCache
from patcache.embedders.word_files import read_words
from patcache.errors import ModelRefused
from patcache.hashing import file_digest
from patcache.records import Spec

SUPERSEDED = ""  # no segmenter gives the empty word


def load(resolved: Resolved, context: Context) -> WordMeans:
    """The vectors of a file. Errors: ModelRefused where it cannot be read.

    Segmenters give words in lower case. With case "fold" a word that the file has in other case
    only ("NASA") is found by its lower case; with "exact" it never is.
    """
    settings = resolved.settings
    path = Path(settings["model"])
    if not path.is_file():
        why = "it is a folder; they are in one file" if path.is_dir() else "it is not there"
        raise ModelRefused(f"{path} holds no word vectors", why)
    words = Path(settings["words"]) if settings["words"] else None
    digest = file_digest(path)
    rows = read_words(path, words, digest, context.cache_path)
    identity = {
        "embedder": "static",
        "weights": digest,
        "words": words and file_digest(words),
        "segmenter": settings["segmenter"],
        "case": settings["case"],
        "unknown_words": "left out",
        "pooling": "mean",
        "truncate_dim": None,
        "normalize": settings["normalize"],
        "prompts": {"query": "", "document": ""},
        "storage": settings["storage"],
        "text": settings["text"],
    }
    spec = Spec(resolved.label, identity, rows.values.shape[1])
    known = searched_words(rows.names, settings["case"])
    cache = TokenCache(settings["segmenter"], context.cache_path)
    return WordMeans(spec, known, rows.values, cache, versions("numpy", "scipy"))


def searched_words(words: Sequence[str], case: str) -> list[str]:
    """The word that each row is found by: of rows that share one, only the first keeps it.

    A word in lower case in the file comes before one that is folded to it.
    """
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        first.setdefault(word, row)
    if case == "fold":
        for row, word in enumerate(words):
            first.setdefault(word.lower(), row)
    found = [SUPERSEDED] * len(words)
    for word, row in first.items():
        if case == "exact" or word == word.lower():
            found[row] = word
    return found
