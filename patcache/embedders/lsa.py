"""Latent semantic analysis: TF-IDF vectors along the directions in which a corpus varies most."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.finish import unit_length
from patcache.embedders.fits import Columns, Fit, read_fit, save_fit
from patcache.embedders.installed import versions
from patcache.embedders.tfidf import count_words, fit_words, weigh
from patcache.embedders.token_cache import BLOCK_TEXTS, TokenCache, Tokens
from patcache.errors import VectorsDamaged
from patcache.records import Role, Spec

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patcache.records import DoubleArray

SMALL = 500  # words; so few are decomposed as a whole
TOLERANCE = 1e-7  # of an eigenvalue
NO_VARIANCE = 1e-9  # of the largest: less is rounding, and the corpus has no such direction


class LsaEmbedder:
    """TF-IDF vectors projected on the components, to length 1.

    A text without a known word has the zero vector, and its tuples are undefined.
    """

    def __init__(self, spec: Spec, fit: Fit, cache: TokenCache) -> None:
        self.spec = spec
        self.device = "cpu"
        self.provenance: Mapping[str, Any] = versions("numpy", "scipy", "scikit-learn")
        self._fit = fit
        self._cache = cache
        self._columns = Columns(fit.words)
        self._projection = np.ascontiguousarray(_components(fit).T)

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]."""
        tokens = self._cache.tokens(texts)
        columns = self._columns.of(self._cache.words)
        weights = weigh(count_words(tokens, columns, len(self._fit.words)), self._fit.values)
        return Encoded(unit_length(weights @ self._projection))

    def save_fit(self, folder: Path) -> None:
        """Writes the words, their idf and the components."""
        save_fit(self._fit, folder)


def components_of(
    blocks: Sequence[csr_array], n_words: int, dim: int, seed: int
) -> NDArray[np.float32]:
    """The first right singular vectors of the matrix that blocks of rows make up.

    Fewer where it has fewer; the same seed gives the same; of each the largest entry is positive.

    Shapes: blocks (n, V) of float64 -> (dim, V) float32.
    Source: Lanczos on X'X (ARPACK, Lehoucq and others 1998), which needs it only times a vector.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    def gram(x: DoubleArray) -> DoubleArray:
        total = np.zeros_like(x)
        for block in blocks:
            total += block.T @ (block @ x)
        return total

    if n_words <= max(SMALL, dim + 1):
        values, vectors = np.linalg.eigh(gram(np.eye(n_words)))
    else:
        operator = LinearOperator((n_words, n_words), matvec=gram, matmat=gram, dtype=np.float64)
        start = np.random.Generator(np.random.PCG64(seed)).standard_normal(n_words)
        values, vectors = eigsh(operator, k=dim, which="LA", v0=start, tol=TOLERANCE)
    order = np.argsort(-values, kind="stable")[:dim]
    order = order[values[order] > NO_VARIANCE * values.max()]
    found = vectors[:, order].T
    largest = found[np.arange(len(found)), np.abs(found).argmax(axis=1)]
    components: NDArray[np.float32] = (found * np.sign(largest)[:, None]).astype(np.float32)
    return components


@contextmanager
def rows_on_disk(
    tokens: Tokens, columns: NDArray[np.int64], idf: DoubleArray, folder: Path | None
) -> Iterator[list[csr_array]]:
    """The TF-IDF vectors of a corpus in blocks, memory-mapped from a file that goes away again."""
    from scipy.sparse import csr_array

    blocks = []
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        for block in tokens.blocks(BLOCK_TEXTS):
            rows = weigh(count_words(block, columns, len(idf)), idf)
            if rows.nnz:
                data = _on_disk(file, rows.data.astype(np.float64))
                indices = _on_disk(file, rows.indices)
                blocks.append(csr_array((data, indices, rows.indptr), shape=rows.shape))
        yield blocks


def _on_disk(file: IO[bytes], array: NDArray[Any]) -> NDArray[Any]:
    """The array, from the end of the file instead of from memory."""
    start = file.seek(0, 2)
    file.write(array.tobytes())
    file.flush()
    mapped: NDArray[Any] = np.memmap(
        file, dtype=array.dtype, mode="r", offset=start, shape=array.shape
    )
    return mapped


def load(resolved: Resolved, context: Context) -> LsaEmbedder:
    """LSA, read from a stored fit or fitted now.

    The digest of the components is part of the identity: another machine may round differently.
    Errors: ModelRefused where the corpus has no word.
    """
    settings = resolved.settings
    cache = TokenCache(settings["segmenter"], context.cache_path)
    fit = _fit(resolved, context, cache)
    components = _components(fit)
    fitting = ("segmenter", "max_features", "dim", "seed")
    identity = {
        "embedder": "lsa",
        **{name: settings[name] for name in fitting},
        "idf": "smooth",
        "fit": fit.texts_digest,
        "weights": hashlib.sha256(np.ascontiguousarray(components).tobytes()).hexdigest(),
        "truncate_dim": None,
        "normalize": True,
        "prompts": {"query": "", "document": ""},
        "storage": settings["storage"],
        "text": settings["text"],
    }
    return LsaEmbedder(Spec(resolved.label, identity, len(components)), fit, cache)


def _fit(resolved: Resolved, context: Context, cache: TokenCache) -> Fit:
    if context.fit_path is not None:
        return read_fit(context, context.fit_path)
    settings = resolved.settings
    tokens, fit = fit_words(resolved, context, cache)
    columns = Columns(fit.words).of(cache.words)
    with rows_on_disk(tokens, columns, fit.values, context.cache_path) as blocks:
        components = components_of(blocks, len(fit.words), settings["dim"], settings["seed"])
    return Fit(fit.words, fit.values, fit.texts_digest, fit.n_texts, components)


def _components(fit: Fit) -> NDArray[np.float32]:
    found = fit.components
    if found is None or found.ndim != 2 or found.shape[1] != len(fit.words):
        raise VectorsDamaged(
            "the stored fit of an lsa model is damaged",
            f"components.npy does not hold a column for each of its {len(fit.words)} words",
            "fit the model again (--refit)",
        )
    return found
