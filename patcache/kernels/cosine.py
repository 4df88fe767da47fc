"""Cosine of a target with its candidates, the same for the same two vectors wherever they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patcache.records import BoolArray, FloatArray

SHORTEST, LONGEST = 1e-9, 1e9  # lengths whose squares and products float32 holds


def dense_cosines(vectors: FloatArray) -> FloatArray:
    """Cosine of each candidate with its target; NaN where a vector is zero, infinite or NaN.

    One dot product a pair, not one matrix product a tuple: its blocks would round a candidate's
    sum by where the candidate stands.

    Shapes: vectors (T, 1 + m, dim), the target first -> (T, m).
    Units:  cosine in [-1, 1], computed in float32.
    """
    lengths = _lengths(vectors)
    is_safe = (lengths >= SHORTEST) & (lengths <= LONGEST)
    if not is_safe.all():
        vectors = _scaled(vectors, ~is_safe)
        lengths = _lengths(vectors)
    with np.errstate(all="ignore"):
        dots = np.vecdot(vectors[:, 1:], vectors[:, :1])
    return _divide(dots, lengths[:, 1:], lengths[:, :1])


def sparse_cosines(targets: csr_array, candidates: csr_array) -> FloatArray:
    """The same for CSR rows, summed in float64.

    Shapes: targets (T, dim), candidates (T * m, dim), those of one tuple together -> (T, m).
    """
    targets, candidates = targets.astype(np.float64), candidates.astype(np.float64)
    n_targets = targets.shape[0]
    width = candidates.shape[0] // n_targets
    dots = _row_sums(candidates * targets[np.repeat(np.arange(n_targets), width)])
    lengths = np.sqrt(_row_sums(candidates * candidates))
    target_lengths = np.sqrt(_row_sums(targets * targets))
    shape = (n_targets, width)
    return _divide(dots.reshape(shape), lengths.reshape(shape), target_lengths[:, None])


def _lengths(vectors: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):
        found: FloatArray = np.sqrt(np.vecdot(vectors, vectors))
    return found


def _scaled(vectors: FloatArray, which: BoolArray) -> FloatArray:
    """Vectors, some of them divided by their largest value, unless that is no number or zero."""
    largest = np.abs(vectors).max(axis=-1)
    is_usable = which & np.isfinite(largest) & (largest > 0)
    by: FloatArray = np.where(is_usable, largest, np.float32(1))
    with np.errstate(all="ignore"):
        scaled: FloatArray = vectors / by[..., None]
    return scaled


def _divide(dots: NDArray[Any], lengths: NDArray[Any], target_lengths: NDArray[Any]) -> FloatArray:
    with np.errstate(all="ignore"):
        product = lengths * target_lengths
    cosines: NDArray[Any] = np.full(dots.shape, np.nan, dtype=np.float32)
    is_defined = np.isfinite(dots) & np.isfinite(product) & (product > 0)
    np.divide(dots, product, out=cosines, where=is_defined, casting="same_kind")
    clipped: FloatArray = np.clip(cosines, np.float32(-1), np.float32(1))
    return clipped


def _row_sums(matrix: csr_array) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        return np.asarray(matrix.sum(axis=1), dtype=np.float64)
