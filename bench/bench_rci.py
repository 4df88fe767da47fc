"""Distances of tuples from their vectors: numpy in chunks against a Python loop per tuple.

Run: python -m bench.bench_rci. Chunks are what the scoring step does: gather, cosines, score().
The loops do the same a tuple at a time, cosines by scikit-learn or by numpy, the rule in plain
Python; every distance and concordance of theirs is compared.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

from bench.common import interleaved, report, spread
from patcache.kernels.cosine import dense_cosines
from patcache.kernels.footrule import DEFAULT_TIE_TOLERANCE, score
from patcache.records import Shape

SEED = 1
STUDY = Shape((1, 2, 3, 4, 5, 6))
UNITS = 60  # lcm(1..6)
CHUNK_BYTES = 8 << 20  # as the scoring step
N_LOOP = 500  # tuples the loops run over
CASES = {384: 20_000, 768: 20_000, 4_096: 4_000}  # dim -> tuples
REPEATS = 5


def plain_rule(similarities: list[float]) -> tuple[int, int]:
    """Footrule distance in units and concordance of one tuple, by the definition."""
    order = sorted(range(len(similarities)), key=similarities.__getitem__)
    blocks = [[order[0]]]
    for previous, candidate in pairwise(order):
        if similarities[candidate] - similarities[previous] <= DEFAULT_TIE_TOLERANCE:
            blocks[-1].append(candidate)
        else:
            blocks.append([candidate])
    distance, rank, block_of = 0, 1, [0] * len(order)
    for number, block in enumerate(blocks):
        for candidate in block:
            block_of[candidate] = number
            costs = sum(abs(r - candidate - 1) for r in range(rank, rank + len(block)))
            distance += costs * UNITS // len(block)
        rank += len(block)
    pairs = combinations(block_of, 2)
    return distance, sum((b > a) - (b < a) for a, b in pairs)


def numpy_loop(vectors: Any, rows: Any) -> list[tuple[int, int]]:
    """A cosine at a time by numpy."""
    found = []
    for target, *others in rows:
        one = vectors[target]
        length = np.linalg.norm(one)
        cosines = [
            float(np.dot(one, vectors[other]) / (length * np.linalg.norm(vectors[other])))
            for other in others
        ]
        found.append(plain_rule(cosines))
    return found


def sklearn_loop(vectors: Any, rows: Any) -> list[tuple[int, int]]:
    """A cosine at a time by scikit-learn, as evaluation scripts do it."""
    found = []
    for target, *others in rows:
        one = vectors[target].reshape(1, -1)
        cosines = [
            float(cosine_similarity(one, vectors[other].reshape(1, -1))[0, 0]) for other in others
        ]
        found.append(plain_rule(cosines))
    return found


def chunked(vectors: Any, rows: Any) -> list[Any]:
    """All tuples: cosines in chunks of a few MB, then the rule for all at once."""
    dim = vectors.shape[1]
    size = max(1, min(256, CHUNK_BYTES // (4 * 7 * dim)))
    parts = (rows[start : start + size] for start in range(0, len(rows), size))
    scores = score(np.concatenate([dense_cosines(vectors[part]) for part in parts]), STUDY)
    return [scores.footrule, scores.concordance]


def main() -> None:
    rng = np.random.default_rng(SEED)
    for dim, n_tuples in CASES.items():
        vectors = rng.standard_normal((n_tuples, dim), dtype=np.float32)
        rows = rng.integers(0, n_tuples, size=(n_tuples, 7))
        few = rows[:N_LOOP].tolist()
        times = interleaved(
            REPEATS,
            sklearn=partial(sklearn_loop, vectors, few),
            numpy=partial(numpy_loop, vectors, few),
            chunked=partial(chunked, vectors, rows),
        )
        us = {name: 1e6 * np.median(t) / N_LOOP for name, t in times.items()}
        us["chunked"] *= N_LOOP / n_tuples
        wanted = np.array(numpy_loop(vectors, few)).T
        equal = np.mean(np.stack(chunked(vectors, rows[:N_LOOP])) == wanted)
        report(
            f"RCI at d = {dim}",
            n_tuples=n_tuples,
            seed=SEED,
            repeats=REPEATS,
            **spread(times["chunked"]),
            us_per_tuple=round(us["chunked"], 2),
            numpy_loop_us_per_tuple=round(us["numpy"], 1),
            sklearn_loop_us_per_tuple=round(us["sklearn"], 1),
            times_numpy_loop=round(us["numpy"] / us["chunked"], 1),
            times_sklearn_loop=round(us["sklearn"] / us["chunked"], 1),
            equal_values=float(equal),
        )


if __name__ == "__main__":
    main()
