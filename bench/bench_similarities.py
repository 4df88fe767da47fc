"""Distribution, levels, agreement and tuples of a store of 10 models and 560,000 tuples.

Run: python -m bench.bench_similarities. The store is scored as `patcache score` does it. In the
same run each answer is compared with numpy or scipy on all the arrays at once. Another process
fills the store: `peak_mb` is the most memory that all these questions together took in this one,
DuckDB's pages of the file included.
"""

from __future__ import annotations

import resource
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import stats

from bench.common import interleaved, report, spread
from patcache.kernels.footrule import DEFAULT_TIE_TOLERANCE, score
from patcache.queries.agreement import agreement
from patcache.queries.distribution import distribution
from patcache.queries.leaderboard import leaderboard
from patcache.queries.levels import level_confusion, levels
from patcache.queries.tuples import tuples
from patcache.records import Shape
from patcache.store import StoreFolder
from patcache.store.scores import Scored, add_distances, add_scoring, finish_scores, scoring_id

SEED = 1
N_MODELS, N_TUPLES, M = 10, 560_000, 6
STUDY = Shape((1, 2, 3, 4, 5, 6))
SCORING = scoring_id(DEFAULT_TIE_TOLERANCE)
REPEATS = 3
SAMPLE = f"""
INSERT INTO data.samples VALUES (1, 'main', 'drawn', 1, '{{}}', '', now());
INSERT INTO data.shapes VALUES (1, [1, 2, 3, 4, 5, 6], 60, 18, 15, 19 / 54.0);
INSERT INTO data.tuples SELECT 1, range, 1, 0, [0, 0, 0, 0, 0, 0],
  2010 + (range // 5000) // 8, chr(65 + ((range // 5000) % 8)::INTEGER) FROM range({N_TUPLES})"""


def similarities_of(model: int) -> Any:
    """Similarities (T, m), the same at every call: models share how easy a tuple is."""
    shared = np.random.default_rng(SEED).standard_normal((N_TUPLES, 1), dtype=np.float32)
    noise = np.random.default_rng([SEED, model]).standard_normal((N_TUPLES, M), dtype=np.float32)
    gold = (0.3 + 0.05 * model) * (1 + 0.5 * shared) * np.arange(M, dtype=np.float32)
    rounded = np.round(noise + gold, 1 if model == 0 else 6)  # model 0 has ties
    return (0.5 + 0.05 * rounded).astype(np.float32)


def fill(path: Path) -> None:
    """A store with the sample, every model scored."""
    store = StoreFolder(path)
    with store.write() as cursor:
        cursor.execute(SAMPLE)
        add_scoring(cursor, DEFAULT_TIE_TOLERANCE)
    for model in range(N_MODELS):
        similarities = similarities_of(model)
        scores = score(similarities, STUDY)
        offsets = np.arange(0, similarities.size + 1, M, dtype=np.int32)
        columns = {
            "tuple_id": np.arange(N_TUPLES, dtype=np.int32),
            "similarities": pa.ListArray.from_arrays(offsets, similarities.ravel()),
            "footrule": scores.footrule,
            "concordance": scores.concordance,
            "is_near_tie": scores.is_near_tie,
        }
        scored = Scored(1, f"{model:016x}", SCORING)
        with store.write() as cursor:
            cursor.execute(
                "INSERT INTO data.specs VALUES (?, ?, 'random', 2, false, '{}', now(), ?)",
                [scored.spec_id, f"model{model}", scored.spec_id],
            )
            add_distances(cursor, scored, pa.table(columns))
        with store.write() as cursor:
            finish_scores(cursor, scored)


def largest_difference_of_moments(rows: Any) -> float:
    """Of mean, deviation and skewness from numpy's and scipy's on all values, relative."""
    differences = []
    for row in rows:
        values = similarities_of(int(row.model[5:])).ravel().astype(np.float64)
        wanted = values.mean(), values.std(ddof=1), stats.skew(values)
        found = row.mean, row.deviation, row.skewness
        differences += [abs(a - b) / max(abs(b), 1e-3) for a, b in zip(found, wanted, strict=True)]
    return max(differences)


def largest_difference_of_accuracy(rows: Any) -> float:
    """From counting pairs whose ties are within the tolerance of one another."""
    differences = []
    for row in rows:
        values = similarities_of(int(row.model[5:]))
        shallow, deep = values[:, row.shallow - 1], values[:, row.deep - 1]
        gap = deep.astype(np.float64) - shallow
        tied = np.abs(gap) <= DEFAULT_TIE_TOLERANCE
        wanted = np.where(tied, 0.5, gap > 0).mean()
        differences.append(abs(row.accuracy - wanted))
    return float(max(differences))


def largest_difference_of_correlation(rows: Any) -> float:
    """Of Spearman's and Pearson's from scipy's on the raw distances of three pairs."""
    differences = []
    for row in rows[:3]:
        a, b = (
            score(similarities_of(int(model[5:])), STUDY).footrule
            for model in (row.model, row.other)
        )
        differences.append(abs(row.spearman - stats.spearmanr(a, b).statistic))
        differences.append(abs(row.pearson - stats.pearsonr(a, b).statistic))
    return float(max(differences))


def are_the_hardest(rows: Any) -> bool:
    """Whether sorting all tuples by their total distance gives the same ones in the same order."""
    total = np.zeros(N_TUPLES, dtype=np.int64)
    for model in range(N_MODELS):
        total += score(similarities_of(model), STUDY).footrule
    wanted = np.lexsort([np.arange(N_TUPLES), -total])[: len(rows)]
    return [row.tuple_id for row in rows] == wanted.tolist()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            other.submit(fill, path).result()
        store = StoreFolder(path)
        ways = {
            "leaderboard (for comparison)": lambda: leaderboard(store),
            "distribution": lambda: distribution(store),
            "distribution by level": lambda: distribution(store, by="level"),
            "distribution of rcis": lambda: distribution(store, of="rci"),
            "levels": lambda: levels(store),
            "confusion": lambda: level_confusion(store),
            "agreement": lambda: agreement(store),
            "hardest tuples": lambda: tuples(store),
            "disagreement of two": lambda: tuples(store, between=("model9", "model1")),
        }
        times = interleaved(REPEATS, **ways)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        checks = {
            "distribution": {
                "relative_difference": largest_difference_of_moments(distribution(store))
            },
            "levels": {"difference": largest_difference_of_accuracy(levels(store))},
            "agreement": {"difference": largest_difference_of_correlation(agreement(store))},
            "hardest tuples": {"is_equal": are_the_hardest(tuples(store))},
        }
    for case, taken in times.items():
        report(
            case,
            n_models=N_MODELS,
            n_tuples=N_TUPLES,
            seed=SEED,
            repeats=REPEATS,
            **spread(taken),
            peak_mb=round(peak_mb),
            **checks.get(case, {}),
        )


if __name__ == "__main__":
    main()
