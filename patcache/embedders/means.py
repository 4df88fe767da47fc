"""A text as the mean of the vectors of its words, or of its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Encoded
from patcache.embedders.finish import unit_length
from patcache.embedders.fits import Columns
from patcache.embedders.tfidf import count_words
from patcache.embedders.token_cache import TokenCache
from patcache.records import Role, Spec

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patcache.records import FloatArray


class WordMeans:
    """The mean of the vectors of a text's known words, each as often as it stands there.

    A text without a known word has the zero vector, and its tuples are undefined.
    """

    def __init__(
        self,
        spec: Spec,
        words: Sequence[str],
        vectors: NDArray[Any],
        cache: TokenCache,
        provenance: Mapping[str, Any],
    ) -> None:
        self.spec = spec
        self.device = "cpu"
        self.provenance = provenance
        self._vectors = vectors
        self._cache = cache
        self._columns = Columns(words)

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]."""
        tokens = self._cache.tokens(texts)
        counts = count_words(tokens, self._columns.of(self._cache.words), len(self._vectors))
        means = mean_vectors(counts, self._vectors)
        return Encoded(unit_length(means) if self.spec.identity["normalize"] else means)


def mean_vectors(
    weights: csr_array, vectors: NDArray[Any], n_words: NDArray[np.int64] | None = None
) -> FloatArray:
    """The mean vector of each text's words, zero where it has none.

    Only the rows of words that occur are read of `vectors`, which may lie on disk. n_words: to
    divide by, where the weights are not counts.

    Shapes: weights (n, V), vectors (V, dim), n_words (n,) -> (n, dim) float32.
    """
    from scipy.sparse import csr_array

    used, columns = np.unique(weights.indices, return_inverse=True)
    shape = (weights.shape[0], len(used))
    local = csr_array((weights.data.astype(np.float32), columns, weights.indptr), shape=shape)
    sums = local @ vectors[used].astype(np.float32)
    if n_words is None:
        n_words = np.asarray(weights.sum(axis=1))
    means: FloatArray = (sums / np.maximum(n_words.reshape(-1, 1), 1)).astype(np.float32)
    return means
