"""Where the similarities of tuples come from: cosines of stored vectors, or scores of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from patcache.kernels.cosine import dense_cosines, sparse_cosines
from patcache.records import TupleSet
from patcache.steps.needed import by_role
from patcache.steps.pairs import pending_pairs
from patcache.store.scores import SampleSize, Scored, n_tuple_ids, pending_patents, refuse_removed
from patcache.store.texts import text_keys_of
from patcache.vectors.keys import first_of_each
from patcache.vectors.rows import AnyRows

if TYPE_CHECKING:
    from patcache.records import FloatArray, IntArray
    from patcache.store import StoreFolder

CHUNK_TUPLES = 256
CHUNK_BYTES = 8 << 20  # about what the caches hold
SPARSE_CHUNK_TUPLES = 2048
NO_VECTOR = -1
NO_TEXT = -2  # nothing to encode: the tuple is undefined


class Pending(Protocol):
    """Where the similarities of the tuples still to score come from.

    n_missing: what has no row yet; n_wanted: how many rows will be read. n_tuple_ids: the tuples
    have ids below it; a sample may grow meanwhile.
    """

    @property
    def n_missing(self) -> int: ...

    @property
    def n_wanted(self) -> int: ...

    @property
    def n_tuple_ids(self) -> int: ...

    def similarities(self, tuples: TupleSet) -> Iterator[FloatArray]:
        """Of each candidate to its target (chunk, m), a chunk of tuples at a time."""


@dataclass(frozen=True, slots=True)
class PendingTexts:
    """Which row holds the text of a patent, as target and as candidate.

    Shapes: both (largest patent_id + 1,); NO_VECTOR, NO_TEXT.
    """

    rows: AnyRows
    as_target: IntArray
    as_candidate: IntArray
    n_missing: int
    n_wanted: int
    n_tuple_ids: int

    def similarities(self, tuples: TupleSet) -> Iterator[FloatArray]:
        """Cosines (chunk, m); only the rows of the tuples are read."""
        targets = self.as_target[tuples.targets]
        candidates = self.as_candidate[tuples.candidates]
        width = tuples.shape.n_candidates + 1
        size = max(1, min(CHUNK_TUPLES, CHUNK_BYTES // (4 * width * self.rows.spec.dim)))
        size = SPARSE_CHUNK_TUPLES if self.rows.spec.sparse else size
        for start in range(0, len(targets), size):
            part = slice(start, start + size)
            wanted = np.column_stack([targets[part], candidates[part]])
            cosines = _cosines(self.rows, np.maximum(wanted, 0))
            is_absent = wanted == NO_TEXT
            cosines[is_absent[:, 1:] | is_absent[:, :1]] = np.nan
            yield cosines


def find_pending(store: StoreFolder, size: SampleSize, scored: Scored, rows: AnyRows) -> Pending:
    """What is still to score of a sample, and what is missing for it."""
    find = pending_pairs if rows.spec.is_pairs else pending_texts
    return find(store, size, scored, rows)


def pending_texts(
    store: StoreFolder, size: SampleSize, scored: Scored, rows: AnyRows
) -> PendingTexts:
    """Where the texts of the tuples still to score are."""
    spec = rows.spec
    with store.read() as cursor:
        refuse_removed(cursor, size)
        n_ids = n_tuple_ids(cursor, scored.sample_id)
        patents, is_target = pending_patents(cursor, scored)
    width = int(patents.max(initial=-1)) + 1
    found = {role: np.full(width, NO_VECTOR, dtype=np.int64) for role in ("query", "document")}
    if spec.prompt("query") == spec.prompt("document"):
        patents, is_target = np.unique(patents), np.zeros(len(np.unique(patents)), dtype=np.bool_)
        found["query"] = found["document"]
    n_missing = 0
    for role, mine in by_role(is_target):
        with store.read() as cursor:
            keys, has_text = text_keys_of(cursor, spec.text_view, spec.prompt(role), patents[mine])
        at = np.where(has_text, rows.rows_of(keys), NO_TEXT)
        found[role][patents[mine]] = at
        n_missing += len(first_of_each(keys[at == NO_VECTOR]))
    return PendingTexts(rows, found["query"], found["document"], n_missing, len(patents), n_ids)


def _cosines(rows: AnyRows, wanted: IntArray) -> FloatArray:
    """Shapes: wanted (T, 1 + m) rows, the target's first -> (T, m)."""
    if rows.n_rows == 0:  # not one of the texts has a word to encode
        return np.full((len(wanted), wanted.shape[1] - 1), np.nan, dtype=np.float32)
    if rows.spec.sparse:
        targets: Any = rows.gather(wanted[:, 0])
        candidates: Any = rows.gather(wanted[:, 1:].ravel())
        return sparse_cosines(targets, candidates)
    vectors = cast("FloatArray", rows.gather(wanted.ravel()))
    return dense_cosines(vectors.reshape(*wanted.shape, rows.spec.dim))
