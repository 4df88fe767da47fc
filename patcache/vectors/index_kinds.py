"""The kinds of FAISS index: how each is made, and how widely it is searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patcache.records import IndexKind
from patcache.vectors.rows import AnyRows
from patcache.vectors.search import defined_blocks, unit_rows

if TYPE_CHECKING:
    from patcache.records import FloatArray

HNSW_LINKS, HNSW_CONSTRUCTION = 32, 80
HNSW_WIDTHS = (64, 1024)
IVF_ROWS = 64  # that a list learns its centre from
IVF_WIDTH = 8
SEED = 1

Parameters = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of index.

    build: an empty index, trained, and how it was made. widths: the least and the largest that a
    search takes, efSearch or nprobe; (0, 0) where every row is looked at. parameters: of a search
    of so much width for k rows, among the rows of a selector (None: all).
    """

    build: Callable[[AnyRows], tuple[Any, Parameters]]
    widths: Callable[[Parameters], tuple[int, int]]
    parameters: Callable[[int, int, Any], Any]


def _build_fp16(rows: AnyRows) -> tuple[Any, Parameters]:
    import faiss

    half = faiss.ScalarQuantizer.QT_fp16
    index = faiss.IndexScalarQuantizer(rows.spec.dim, half, faiss.METRIC_INNER_PRODUCT)
    index.train(np.zeros((1, rows.spec.dim), dtype=np.float32))  # there is nothing to learn
    return index, {}


def _build_hnsw(rows: AnyRows) -> tuple[Any, Parameters]:
    import faiss

    index = faiss.IndexHNSWFlat(rows.spec.dim, HNSW_LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = HNSW_CONSTRUCTION
    return index, {"links": HNSW_LINKS, "ef_construction": HNSW_CONSTRUCTION}


def _build_ivf(rows: AnyRows) -> tuple[Any, Parameters]:
    import faiss

    directed = np.concatenate([numbers for numbers, _ in defined_blocks(rows)])
    n_lists = max(1, min(int(4 * np.sqrt(len(directed))), len(directed) // IVF_ROWS))
    n_learnt = min(len(directed), IVF_ROWS * n_lists)
    learnt = np.random.default_rng(SEED).choice(directed, n_learnt, replace=False)
    unit, _ = unit_rows(cast("FloatArray", rows.gather(np.sort(learnt))))
    centres = faiss.IndexFlatIP(rows.spec.dim)
    index = faiss.IndexIVFFlat(centres, rows.spec.dim, n_lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1  # few rows are no fault
    index.cp.max_points_per_centroid = IVF_ROWS
    index.train(np.ascontiguousarray(unit))
    return index, {"lists": n_lists}


def _plain(width: int, k: int, chosen: Any) -> Any:
    import faiss

    return None if chosen is None else faiss.SearchParameters(sel=chosen)


def _graph(width: int, k: int, chosen: Any) -> Any:
    import faiss

    return faiss.SearchParametersHNSW(efSearch=max(width, k), **_selecting(chosen))


def _lists(width: int, k: int, chosen: Any) -> Any:
    import faiss

    return faiss.SearchParametersIVF(nprobe=width, **_selecting(chosen))


def _selecting(chosen: Any) -> dict[str, Any]:
    return {} if chosen is None else {"sel": chosen}


KINDS: Mapping[IndexKind, Kind] = {
    "fp16": Kind(_build_fp16, lambda made: (0, 0), _plain),
    "hnsw": Kind(_build_hnsw, lambda made: HNSW_WIDTHS, _graph),
    "ivf": Kind(_build_ivf, lambda made: (min(IVF_WIDTH, made["lists"]), made["lists"]), _lists),
}
