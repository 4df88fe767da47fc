"""Leaderboard, matrix and cells of a store of 10 models, 120 cells, 5,000 tuples a cell.

Run: python -m bench.bench_slices. The store holds what scoring keeps: counts of distances and of
differences. U and signed ranks of one pair are compared with scipy on the distances themselves.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import mannwhitneyu, wilcoxon

from bench.common import interleaved, report, spread
from patcache.kernels.footrule import DEFAULT_TIE_TOLERANCE, score
from patcache.queries.cells import cells
from patcache.queries.leaderboard import leaderboard
from patcache.queries.matrix import matrix
from patcache.queries.question import Question
from patcache.records import SECTIONS, Shape
from patcache.store import StoreFolder
from patcache.store.scores import scoring_id

SEED = 1
N_MODELS, N_TUPLES = 10, 5_000
CELLS = [(2010 + i // 8, SECTIONS[i % 8]) for i in range(120)]
STUDY = Shape((1, 2, 3, 4, 5, 6))
SCORING = scoring_id(DEFAULT_TIE_TOLERANCE)
NOW = "2026-01-01 00:00:00+00"
REPEATS = 9


def distances_of_models() -> Any:
    """Distances (models, cells, tuples) with some ties, in units of 1/60 rank."""
    rng = np.random.default_rng(SEED)
    gold = np.arange(6, dtype=np.float32)
    found = np.empty((N_MODELS, len(CELLS), N_TUPLES), dtype=np.int16)
    for model in range(N_MODELS):
        noise = rng.standard_normal((len(CELLS) * N_TUPLES, 6), dtype=np.float32)
        similarities = np.round(noise + (0.3 + 0.01 * model) * gold, 1)  # a tenth of them tie
        found[model] = score(similarities, STUDY).footrule.reshape(len(CELLS), N_TUPLES)
    return found


def filled(path: Path, distances: Any) -> StoreFolder:
    """A store with the counts of these distances."""
    store = StoreFolder(path)
    ids = [f"{i:016x}" for i in range(N_MODELS)]
    with store.write() as cursor:
        cursor.execute(
            "INSERT INTO data.samples VALUES (1, 'main', 'drawn', 1, '{}', '', now());"
            "INSERT INTO data.shapes VALUES (1, [1, 2, 3, 4, 5, 6], 60, 18, 15, 19 / 54.0);"
            f"INSERT INTO data.tuples SELECT 1, range, 1, 0, [0], 2010, 'A'"
            f" FROM range({len(CELLS) * N_TUPLES})"
        )
        insert(cursor, "specs", [(i, i, "random", 2, False, "{}", NOW, i) for i in ids])
        n_tuples = len(CELLS) * N_TUPLES
        insert(cursor, "scores", [(1, i, SCORING, n_tuples, NOW) for i in ids])
        totals = [(1, i, SCORING, *cell, N_TUPLES, 0, 0) for i in ids for cell in CELLS]
        insert(cursor, "cell_totals", totals)
        counts = [
            (1, ids[model], SCORING, "footrule", *cell, 1, value, n)
            for model in range(N_MODELS)
            for number, cell in enumerate(CELLS)
            for value, n in counted(distances[model, number])
        ]
        insert(cursor, "counts", counts)
        differences = [
            (1, ids[a], ids[b], SCORING, "footrule", *cell, 1, value, n)
            for a, b in combinations(range(N_MODELS), 2)
            for number, cell in enumerate(CELLS)
            for value, n in counted(distances[a, number] - distances[b, number])
        ]
        insert(cursor, "difference_counts", differences)
    return store


def counted(values: Any) -> list[tuple[int, int]]:
    found, n = np.unique(values, return_counts=True)
    return list(zip(found.tolist(), n.tolist(), strict=True))


def insert(cursor: Any, table: str, rows: list[tuple[Any, ...]]) -> None:
    columns = zip(*rows, strict=True)
    cursor.register("rows", pa.table({f"c{i}": list(c) for i, c in enumerate(columns)}))
    cursor.execute(f"INSERT INTO data.{table} SELECT * FROM rows")


def main() -> None:
    distances = distances_of_models()
    with tempfile.TemporaryDirectory() as folder:
        store = filled(Path(folder) / "store", distances)
        some = Question(years=(2012, 2013), sections=("A", "B", "H"))
        paired = Question(test="signed-rank")
        ways = {
            "leaderboard of everything": lambda: leaderboard(store),
            "leaderboard of everything, signed-rank": lambda: leaderboard(store, paired),
            "leaderboard of a slice": lambda: leaderboard(store, some),
            "matrix of everything": lambda: matrix(store),
            "matrix of everything, signed-rank": lambda: matrix(store, paired),
            "matrix of a slice": lambda: matrix(store, some),
            "matrix of a slice, signed-rank": lambda: matrix(
                store, replace(some, test="signed-rank")
            ),
            "cells by year": lambda: cells(store),
            "cells by cell": lambda: cells(store, by="cell"),
        }
        times = interleaved(REPEATS, **ways)
        first, signed = matrix(store)[0], matrix(store, paired)[0]
        a, b = (distances[int(label, 16)].ravel() for label in (first.model, first.other))
        wanted = mannwhitneyu(-a, -b, alternative="greater", method="asymptotic").pvalue
        signed_wanted = wilcoxon(
            b.astype(int) - a, alternative="greater", zero_method="pratt", method="asymptotic"
        ).pvalue
        for case, taken in times.items():
            report(
                case,
                n_models=N_MODELS,
                n_cells=len(CELLS),
                n_tuples=len(CELLS) * N_TUPLES,
                seed=SEED,
                repeats=REPEATS,
                **spread(taken),
                relative_difference=abs((first.p or 0) - wanted) / wanted,
                relative_difference_signed=abs((signed.p or 0) - signed_wanted)
                / max(signed_wanted, 1e-300),
            )


if __name__ == "__main__":
    main()
