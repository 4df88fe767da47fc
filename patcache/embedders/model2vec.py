"""Static token vectors in a model2vec folder; a text is the weighted mean of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.finish import unit_length
from patcache.embedders.hub import locate
from patcache.embedders.installed import versions
from patcache.embedders.means import mean_vectors
from patcache.embedders.model_folder import read_json, tokenizer_digest
from patcache.embedders.tensors import open_tensors
from patcache.embedders.text_lengths import read_tokenizer
from patcache.errors import ModelRefused
from patcache.hashing import file_digest
from patcache.records import Role, Spec

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_MAX_TOKENS = 512  # model2vec's own, where config.json states none
PROBE = "A method for measuring the distance between two texts."


@dataclass(frozen=True, slots=True)
class Table:
    """What is known of each token.

    Shapes: embeddings (rows, dim), as stored; row_of (V,) the row of each token; weight (V,).
    """

    embeddings: NDArray[Any]
    row_of: NDArray[np.int64]
    weight: NDArray[np.float32]


class Tokens:
    """Token ids of texts as model2vec takes them: cut, then without unknown tokens.

    A text is first cut to max_tokens times the median length of a token, in characters.
    """

    def __init__(self, folder: Path, max_tokens: int | None) -> None:
        path = folder / "tokenizer.json"
        self._tokenizer: Any = read_tokenizer(path)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        vocabulary = self._tokenizer.get_vocab()
        model = read_json(path)["model"]
        self.n_tokens = len(vocabulary)
        self._unknown = model.get("unk_id", vocabulary.get(model.get("unk_token")))
        self._max_tokens = max_tokens
        self._max_characters = max_tokens and max_tokens * int(median(map(len, vocabulary)))

    def __call__(self, texts: Sequence[str]) -> tuple[list[list[int]], int]:
        """Ids of each text, and how many texts were cut."""
        short = [text[: self._max_characters] for text in texts]
        found = self._tokenizer.encode_batch_fast(short, add_special_tokens=False)
        ids = [encoding.ids[: self._max_tokens] for encoding in found]
        n_cut = sum(
            len(text) > len(kept) or len(encoding.ids) > len(row)
            for text, kept, encoding, row in zip(texts, short, found, ids, strict=True)
        )
        return [[i for i in row if i != self._unknown] for row in ids], n_cut


class Model2VecEmbedder:
    """Mean of the token vectors times their weights; a text without a known token is zero."""

    def __init__(self, spec: Spec, table: Table, tokens: Tokens) -> None:
        self.spec = spec
        self.device = "cpu"
        self.provenance = versions("numpy", "scipy", "tokenizers")
        self._table = table
        self._tokens = tokens

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]."""
        from scipy.sparse import csr_array

        ids, n_truncated = self._tokens(texts)
        n_tokens = np.array([len(row) for row in ids], dtype=np.int64)
        joined = np.array([i for row in ids for i in row], dtype=np.int64)
        indptr = np.concatenate([[0], np.cumsum(n_tokens)])
        shape = (len(texts), len(self._table.embeddings))
        columns = self._table.row_of[joined]
        weights = csr_array((self._table.weight[joined], columns, indptr), shape=shape)
        means = mean_vectors(weights, self._table.embeddings, n_tokens)
        vectors = unit_length(means) if self.spec.identity["normalize"] else means
        return Encoded(vectors, n_truncated)


def load(resolved: Resolved, context: Context) -> Model2VecEmbedder:
    """The model of a folder or hub name.

    Source: StaticModel of the package model2vec, whose rule for a text this is.
    Errors: ModelRefused where the folder is no whole model, or tokenizers is not installed.
    """
    settings = resolved.settings
    folder = locate(settings["model"], settings["revision"], resolved.label)
    config = read_json(folder / "config.json")
    own = config.get("max_length", DEFAULT_MAX_TOKENS)
    if own is not None and (not isinstance(own, int) or own < 1):
        raise ModelRefused(f"{folder / 'config.json'} is damaged", f"its max_length is {own!r}")
    tokens = _tokens(folder, settings["max_tokens"] or own, resolved.label)
    table = _table(folder / "model.safetensors", tokens.n_tokens, resolved.label)
    normalize = settings["normalize"]
    identity = {
        "embedder": "model2vec",
        "weights": file_digest(folder / "model.safetensors"),
        "tokenizer": tokenizer_digest(folder, tokens([PROBE])[0][0]),
        "max_tokens": settings["max_tokens"] or own,
        "pooling": "weighted mean",
        "unknown_words": "left out",
        "truncate_dim": None,
        "normalize": bool(config.get("normalize", False)) if normalize is None else normalize,
        "prompts": {"query": "", "document": ""},
        "storage": settings["storage"],
        "text": settings["text"],
    }
    return Model2VecEmbedder(
        Spec(resolved.label, identity, table.embeddings.shape[1]), table, tokens
    )


def _tokens(folder: Path, max_tokens: int | None, label: str) -> Tokens:
    if not (folder / "tokenizer.json").is_file():
        raise ModelRefused(f"{label} has no tokenizer.json", f"looked in {folder}")
    try:
        return Tokens(folder, max_tokens)
    except ImportError as error:
        raise ModelRefused(
            f"{label} needs the package tokenizers", str(error), "pip install 'patcache[static]'"
        ) from error


def _table(path: Path, n_tokens: int, label: str) -> Table:
    """The tensors of a model, held against the number of its tokens. Errors: ModelRefused."""
    try:
        tensors = open_tensors(path)
        embeddings = tensors["embeddings"]
    except (OSError, ValueError, KeyError) as error:
        raise ModelRefused(f"{label} is no model2vec model", f"{path}: {error}") from error
    row_of = np.asarray(tensors.get("mapping", np.arange(n_tokens)), dtype=np.int64)
    weight = np.asarray(tensors.get("weights", np.ones(n_tokens)), dtype=np.float32).ravel()
    fits = len(row_of) == len(weight) == n_tokens and embeddings.ndim == 2 and embeddings.size
    if not fits or not 0 <= row_of.min() <= row_of.max() < len(embeddings):
        raise ModelRefused(
            f"the parts of {label} do not belong together",
            f"{n_tokens} tokens, {len(row_of)} of them with a row and {len(weight)} with a weight, "
            f"embeddings {embeddings.shape}",
        )
    return Table(embeddings, row_of, weight)
