"""Nearest vectors: patcache's exact search and its indexes against FAISS and numpy as people use
them. Run: python -m bench.bench_lookup"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from bench.common import interleaved, report, spread
from patcache.records import INDEX_KINDS, Spec
from patcache.vectors.index import VectorIndex, index_paths, ready_index
from patcache.vectors.journal import Run
from patcache.vectors.rows import AnyRows, open_rows
from patcache.vectors.search import exact_search

SEED = 1
DIM, N_CENTRES, NOISE = 384, 2_000, 0.8
N_ROWS, N_INDEXED = 1_000_000, 200_000
N_QUERIES, K = 100, 10
BLOCK = 50_000
NUMPY_BLOCK = 16_384
REPEATS = 5
SAME = 1e-6
IDENTITY = {
    "embedder": "bench",
    "text": {"fields": ["title"], "separator": ". "},
    "prompts": {"query": "", "document": ""},
    "storage": "float32",
    "normalize": True,
}
Way = Callable[[Any], Any]  # queries -> rows (q, K)


def filled(folder: Path, n_rows: int) -> AnyRows:
    """Clustered unit vectors, written as an embedding run writes them."""
    rng = np.random.default_rng(SEED)
    centres = rng.standard_normal((N_CENTRES, DIM), dtype=np.float32)
    rows: Any = open_rows(folder, Spec("bench", IDENTITY, DIM))
    with rows.writing():
        for _ in range(0, n_rows, BLOCK):
            vectors = centres[rng.integers(0, N_CENTRES, BLOCK)]
            vectors = vectors + NOISE * rng.standard_normal((BLOCK, DIM), dtype=np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            keys = rng.integers(0, 256, (BLOCK, 16), dtype=np.uint8)
            rows.append(keys, vectors, Run("2026-01-01T00:00:00+00:00", 1.0, "cpu"))
    found: AnyRows = rows
    return found


def queries_of(rows: AnyRows) -> Any:
    """Stored vectors, each moved a little."""
    rng = np.random.default_rng(SEED + 1)
    stored: Any = rows.gather(rng.integers(0, rows.n_rows, N_QUERIES))
    moved = stored + 0.02 * rng.standard_normal(stored.shape, dtype=np.float32)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def numpy_whole(vectors: Any, queries: Any) -> Any:
    similarities = queries @ vectors.T
    return np.argpartition(similarities, -K, axis=1)[:, -K:]


def numpy_blocks(vectors: Any, queries: Any) -> Any:
    rows = np.empty((len(queries), 0), dtype=np.int64)
    best = np.empty((len(queries), 0), dtype=np.float32)
    for start in range(0, len(vectors), NUMPY_BLOCK):
        similarities = queries @ vectors[start : start + NUMPY_BLOCK].T
        places = np.argpartition(similarities, -K, axis=1)[:, -K:]
        best = np.hstack([best, np.take_along_axis(similarities, places, axis=1)])
        rows = np.hstack([rows, places + start])
        keep = np.argpartition(best, -K, axis=1)[:, -K:]
        best, rows = np.take_along_axis(best, keep, 1), np.take_along_axis(rows, keep, 1)
    return rows


def exact_ways(rows: AnyRows) -> dict[str, Way]:
    vectors = rows.arrays["vectors"]
    flat = faiss.IndexFlatIP(DIM)
    flat.add(vectors)
    inner = faiss.METRIC_INNER_PRODUCT
    return {
        "patcache exact": lambda q: exact_search(rows, q, K).rows,
        "FAISS IndexFlatIP": lambda q: flat.search(q, K)[1],
        "faiss.knn in one call": lambda q: faiss.knn(q, vectors, K, metric=inner)[1],
        "numpy, whole matrix": lambda q: numpy_whole(vectors, q),
        "numpy, blocks of 16k": lambda q: numpy_blocks(vectors, q),
    }


def recall(rows: AnyRows, queries: Any, found: Any, wanted: Any) -> float:
    """Share of the hits that are as near as the last of the right ones."""

    def similarities(places: Any) -> Any:
        vectors: Any = rows.gather(places.ravel())
        return np.vecdot(vectors.reshape(*places.shape, DIM), queries[:, None].astype(np.float64))

    limit = similarities(wanted).min(axis=1, keepdims=True) - SAME
    return float((similarities(found) >= limit).mean())


@contextmanager
def watched_memory(held: dict[str, float]) -> Any:
    """Puts the megabytes of memory of its own that the process came to hold meanwhile."""
    done = threading.Event()
    before = _anonymous_mb()
    peak = [before]

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], _anonymous_mb())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        held["extra_mb"] = round(peak[0] - before)


def _anonymous_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1000
    return 0.0


def bench_exact(rows: AnyRows) -> None:
    queries = queries_of(rows)
    ways = exact_ways(rows)
    wanted = numpy_whole(rows.arrays["vectors"], queries)
    for n_queries in (1, N_QUERIES):
        asked = queries[:n_queries]
        calls = {name: partial(way, asked) for name, way in ways.items()}
        times = interleaved(REPEATS, **calls)
        for name, taken in times.items():
            held: dict[str, float] = {}
            before = time.process_time()
            with watched_memory(held):
                found = ways[name](asked)
            cpu_s = round(time.process_time() - before, 4)
            report(
                name,
                n_rows=rows.n_rows,
                dim=DIM,
                n_queries=n_queries,
                k=K,
                seed=SEED,
                repeats=REPEATS,
                **spread(taken),
                cpu_s=cpu_s,
                **held,
                copy_mb=rows.n_rows * DIM * 4 // 10**6 if "Flat" in name else 0,
                recall=recall(rows, asked, found, wanted[:n_queries]),
            )


def bench_indexes(rows: AnyRows, folder: Path) -> None:
    queries = queries_of(rows)
    wanted = exact_search(rows, queries, K).rows
    for kind in INDEX_KINDS[1:]:
        built = ready_index(folder, rows, kind, rebuild=True)
        start = time.perf_counter()
        index = ready_index(folder, rows, kind)
        opened_s = time.perf_counter() - start
        one, many = _index_times(index, rows, queries)
        report(
            f"{kind} index",
            n_rows=rows.n_rows,
            dim=DIM,
            seed=SEED,
            settings={**built.info.parameters, "width": built.info.width},
            built_s=round(built.info.elapsed_s, 2),
            opened_s=round(opened_s, 4),
            size_mb=round(index_paths(folder, rows.spec.spec_id, kind)[0].stat().st_size / 1e6),
            one_query_s=one,
            hundred_queries_s=many,
            recall_at_build=built.info.recall,
            recall=recall(rows, queries, index.search(queries, K).rows, wanted),
        )


def _index_times(index: VectorIndex, rows: AnyRows, queries: Any) -> list[dict[str, float]]:
    """Medians of the index and of the exact search, for one query and for all."""
    found = []
    for asked in (queries[:1], queries):
        ways = {
            "index": lambda asked=asked: index.search(asked, K),
            "exact": lambda asked=asked: exact_search(rows, asked, K),
        }
        times = interleaved(REPEATS, **ways)
        found.append({name: spread(taken)["median_s"] for name, taken in times.items()})
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        bench_exact(filled(Path(name) / "exact", N_ROWS))
    with tempfile.TemporaryDirectory() as name:
        bench_indexes(filled(Path(name) / "indexed", N_INDEXED), Path(name))


if __name__ == "__main__":
    main()
