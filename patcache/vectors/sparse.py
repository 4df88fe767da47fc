"""Sparse vectors of one spec: CSR rows in three growing arrays, memory-mapped like dense ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.vectors.rows import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patcache.records import IntArray


class SparseRows(Rows["csr_array"]):
    """indices.npy and data.npy (one item a stored number), indptr.npy (n + 1: where rows start)."""

    def gather(self, rows: IntArray | slice) -> csr_array:
        """Vectors (len(rows), dim) as CSR float32; only these rows are read."""
        from scipy.sparse import csr_array

        if isinstance(rows, slice):
            return self._stretch(rows)
        starts = self.arrays["indptr"][rows]
        sizes = self.arrays["indptr"][rows + 1] - starts
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        places = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
        data = self.arrays["data"][places].astype(np.float32, copy=False)
        indices = self.arrays["indices"][places]
        return csr_array((data, indices, indptr), shape=(len(rows), self.spec.dim))

    def _stretch(self, rows: slice) -> csr_array:
        """Consecutive rows; what is stored as float32 is not copied."""
        from scipy.sparse import csr_array

        first, last, _ = rows.indices(self.n_rows)
        starts = self.arrays["indptr"][first : last + 1]
        inside = slice(int(starts[0]), int(starts[-1]))
        data = self.arrays["data"][inside].astype(np.float32, copy=False)
        indptr = (starts - starts[0]).astype(np.int32)
        shape = (len(indptr) - 1, self.spec.dim)
        return csr_array((data, self.arrays["indices"][inside], indptr), shape=shape)

    def _arrays(self, vectors: csr_array) -> dict[str, NDArray[Any]]:
        if vectors.ndim != 2 or vectors.shape[1] != self.spec.dim:
            raise ValueError(f"vectors {vectors.shape} for a spec of dimension {self.spec.dim}")
        if not vectors.has_sorted_indices:
            vectors = vectors.sorted_indices()
        starts = vectors.indptr.astype(np.int64) + self._length("data")
        return {
            "indices": vectors.indices,
            "data": self._stored(vectors.data),
            "indptr": starts if self.n_rows == 0 else starts[1:],
        }

    def _count(self, vectors: csr_array) -> int:
        return int(vectors.shape[0])
