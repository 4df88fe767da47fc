"""The nearest rows of a spec to some queries, among the patents of a slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, cast

import numpy as np

from patcache.errors import ModelRefused, NotThere
from patcache.queries.question import Question
from patcache.queries.wording import slice_words
from patcache.records import IndexKind, Progress, Runtime, Spec
from patcache.steps.lookup_queries import Query
from patcache.steps.patent_rows import patent_rows
from patcache.steps.rows import spec_rows
from patcache.store.lookups import patents_in
from patcache.vectors.index import IndexInfo, is_narrow, ready_index
from patcache.vectors.rows import AnyRows
from patcache.vectors.search import Hits, exact_search

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patcache.records import BoolArray, FloatArray, IntArray
    from patcache.store import StoreFolder

DEFAULT_K = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """What a look-up is: how many texts, of which patents, found how.

    with_self: the patent asked for, and those that share its text, may be hits too.
    """

    k: int = DEFAULT_K
    years: tuple[int, ...] | None = None
    sections: tuple[str, ...] | None = None
    index: IndexKind = "exact"
    with_self: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """The patents of a slice and the rows of their texts.

    Shapes: patents, rows (n,) int32, -1 without a vector; wanted (n_rows,), which rows may be hits;
    own (q,), the row of each query's own text as a document, -1 for a free text.
    """

    patents: NDArray[np.int32]
    rows: NDArray[np.int32]
    wanted: BoolArray
    own: IntArray

    @property
    def n_texts(self) -> int:
        return int(self.wanted.sum())

    @property
    def n_with_vector(self) -> int:
        return int((self.rows >= 0).sum())

    def patents_at(self, rows: IntArray) -> dict[int, list[int]]:
        """The patents whose text each of some rows holds, in the order of import."""
        places = np.flatnonzero(np.isin(self.rows, rows[rows >= 0]))
        found: dict[int, list[int]] = {}
        pairs = zip(self.rows[places].tolist(), self.patents[places].tolist(), strict=True)
        for row, patent in pairs:
            found.setdefault(row, []).append(patent)
        return found


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of the queries.

    info: of the index that was searched, None where every row was looked at; note: why, where an
    index was asked for.
    """

    hits: Hits
    info: IndexInfo | None = None
    note: str = ""


def searchable_rows(store: StoreFolder, spec: Spec) -> AnyRows:
    """The vectors of a spec. Errors: ModelRefused for a scorer of pairs; NotThere without any."""
    if spec.is_pairs:
        raise ModelRefused(
            f"{spec.label} has no neighbours",
            "it scores pairs of texts, and gives no vectors to search among",
            "look up by a model that has vectors: see `patcache models`",
        )
    rows = spec_rows(store, spec)
    if rows.n_rows == 0:
        raise NotThere(
            f"{spec.label} has no vectors yet",
            "",
            f"run `patcache embed {quote(spec.label)} --all`",
        )
    return rows


def use_threads(runtime: Runtime) -> None:
    """Gives FAISS so many threads as were asked for."""
    if runtime.threads is not None:
        import faiss

        faiss.omp_set_num_threads(runtime.threads)


def find_scope(store: StoreFolder, rows: AnyRows, queries: Sequence[Query], asked: Asked) -> Scope:
    """Where the patents of the slice are. Errors: NotThere where none of them has a vector."""
    with store.read() as cursor:
        patents = patents_in(cursor, asked.years, asked.sections)
    if len(patents) == 0:
        raise NotThere("no patent is in this slice", slice_of(asked), "widen --years or --sections")
    known = patent_rows(store, rows)
    places = known.rows_of(patents)
    wanted = np.zeros(rows.n_rows, dtype=np.bool_)
    wanted[places[places >= 0]] = True
    if not wanted.any():
        raise NotThere(
            f"none of the {len(patents):,} patents of this slice has a vector of {rows.spec.label}",
            slice_of(asked),
            f"widen --years or --sections, or run `patcache embed {quote(rows.spec.label)} --all`",
        )
    own = np.full(len(queries), -1, dtype=np.int64)
    for i, query in enumerate(queries):
        if query.patent_id is not None:
            own[i] = known.rows_of(np.array([query.patent_id], dtype=np.int32))[0]
    return Scope(patents, places, wanted, own)


def nearest(
    store: StoreFolder,
    rows: AnyRows,
    scope: Scope,
    vectors: FloatArray | csr_array,
    asked: Asked,
    progress: Progress | None = None,
) -> Found:
    """The hits of each query; an index is made or brought up to date where one is asked for."""
    excluded = None if asked.with_self else scope.own
    wanted = None if scope.wanted.all() else scope.wanted
    note = ""
    if asked.index != "exact":
        if not is_narrow(rows, scope.n_texts):
            folder, wait_s = store.indexes_path, store.wait_s
            index = ready_index(folder, rows, asked.index, wait_s=wait_s, progress=progress)
            dense = cast("FloatArray", vectors)
            hits = index.search(dense, asked.k, wanted=wanted, own=excluded)
            return Found(hits, index.info)
        note = f"exact: of {rows.n_rows:,} vectors so few are searched that no index is quicker"
    return Found(exact_search(rows, vectors, asked.k, wanted=wanted, own=excluded), note=note)


def slice_of(asked: Asked) -> str:
    """The slice in words."""
    return slice_words(Question(years=asked.years, sections=asked.sections))
