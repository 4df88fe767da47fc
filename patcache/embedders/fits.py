"""What a fitted model keeps on disk: arrays, words and a few facts; no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Resolved
from patcache.embedders.token_cache import TokenCache, Tokens
from patcache.errors import ModelRefused, VectorsDamaged

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Fit:
    """What a model learnt from a corpus: one value or vector for each word.

    Shapes: words (V,); values (V,) or (V, dim); components (dim, V), of a model that has them.
    texts_digest: of the texts fitted on.
    """

    words: tuple[str, ...]
    values: NDArray[Any]
    texts_digest: str
    n_texts: int
    components: NDArray[np.float32] | None = None


def tokens_to_fit(resolved: Resolved, context: Context, cache: TokenCache) -> tuple[Tokens, str]:
    """The words of the texts that a model is to be made from, and the digest of these texts.

    Errors: ModelRefused where they hold no word.
    """
    if context.fit is None:
        raise ValueError(f"{resolved.kind} needs the texts to fit on, or a stored fit")
    tokens = cache.collect(context.fit)
    if not len(tokens.ids):
        raise ModelRefused(
            f"{resolved.label} finds no word", f"in the {len(tokens)} texts to fit it on"
        )
    return tokens, context.fit.digest


def save_fit(fit: Fit, folder: Path) -> None:
    """Writes the arrays and words.txt, then fit.json, without which there is no fit."""
    folder.mkdir(parents=True, exist_ok=True)
    if fit.components is not None:
        np.save(folder / "components.npy", fit.components, allow_pickle=False)
    np.save(folder / "values.npy", fit.values, allow_pickle=False)
    (folder / "words.txt").write_bytes("".join(f"{word}\n" for word in fit.words).encode())
    facts = {"texts_digest": fit.texts_digest, "n_texts": fit.n_texts, "n_words": len(fit.words)}
    (folder / "fit.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")


def read_fit(context: Context, folder: Path) -> Fit:
    """The fit of a folder. Errors: VectorsDamaged if its files are not one fit, or another's."""
    try:
        facts: Mapping[str, Any] = json.loads((folder / "fit.json").read_text(encoding="utf-8"))
        values = np.load(folder / "values.npy", allow_pickle=False)
        parts = folder / "components.npy"
        components = np.load(parts, allow_pickle=False) if parts.exists() else None
        words = tuple((folder / "words.txt").read_bytes().decode().split("\n")[:-1])
    except (OSError, ValueError, EOFError) as error:
        raise VectorsDamaged(
            f"the fit in {folder} cannot be read", str(error), "fit the model again (--refit)"
        ) from error
    if not len(words) == len(values) == facts["n_words"]:
        raise VectorsDamaged(
            f"the fit in {folder} is damaged",
            f"{len(words)} words and {len(values)} values, where {facts['n_words']} were written",
        )
    if context.fit_digest not in (None, facts["texts_digest"]):
        raise VectorsDamaged(
            f"the fit in {folder} was made from other texts than the spec says",
            f"{facts['texts_digest'][:16]}, not {str(context.fit_digest)[:16]}",
        )
    return Fit(words, values, facts["texts_digest"], facts["n_texts"], components)


class Columns:
    """Which column of a fitted model each word of a growing token cache has; -1 for none."""

    def __init__(self, words: Sequence[str]) -> None:
        self._column_of = {word: column for column, word in enumerate(words)}
        self._known = np.empty(0, dtype=np.int64)

    def of(self, words: Sequence[str]) -> NDArray[np.int64]:
        """(len(words),) columns; only words that are new since the last call are looked up."""
        new = words[len(self._known) :]
        if new:
            found = np.fromiter((self._column_of.get(word, -1) for word in new), dtype=np.int64)
            self._known = np.concatenate([self._known, found])
        return self._known
