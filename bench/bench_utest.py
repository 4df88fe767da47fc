"""U-tests of 10 models in 120 cells of 5,000 tuples: scipy in a loop, scipy by axis, by counts.

Run: python -m bench.bench_utest. Every p-value of the faster ways is compared with the loop's.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy.stats import mannwhitneyu

from bench.common import interleaved, report, spread
from patcache.kernels.footrule import score
from patcache.kernels.utest import u_test
from patcache.records import Shape

SEED = 1
N_MODELS, N_CELLS, N_TUPLES = 10, 120, 5_000
N_LOOP_CELLS = 4  # scipy is run on these and scaled to all
REPEATS = 5
STUDY = Shape((1, 2, 3, 4, 5, 6))


def codes_of_models() -> np.ndarray:
    """Agreement (models, cells, tuples) as small codes, larger is better: 10 distinct values."""
    rng = np.random.default_rng(SEED)
    gold = np.arange(6, dtype=np.float32)
    codes = np.empty((N_MODELS, N_CELLS, N_TUPLES), dtype=np.int16)
    for model in range(N_MODELS):
        strength = 0.3 + 0.01 * model  # from a hair's breadth to far apart
        noise = rng.standard_normal((N_CELLS * N_TUPLES, 6), dtype=np.float32)
        distance = score(noise + strength * gold, STUDY).footrule
        codes[model] = (9 - distance // 120).reshape(N_CELLS, N_TUPLES)
    return codes


def counts_of(codes: np.ndarray) -> np.ndarray:
    """Counts (cells, models, 10 values) by one bincount."""
    n_models, n_cells, _ = codes.shape
    row = np.arange(n_cells)[None, :, None] * n_models + np.arange(n_models)[:, None, None]
    flat = np.bincount((row * 10 + codes).ravel(), minlength=n_cells * n_models * 10)
    return flat.reshape(n_cells, n_models, 10)


def by_counts(counts: np.ndarray) -> np.ndarray:
    """p-values (cells, models, models): one call."""
    return u_test(counts[:, :, None], counts[:, None, :]).pvalue


def by_loop(codes: np.ndarray) -> np.ndarray:
    """The same for the first few cells, a test at a time."""
    pvalues = np.full((N_LOOP_CELLS, N_MODELS, N_MODELS), np.nan)
    for cell in range(N_LOOP_CELLS):
        for i, j in permutations(range(N_MODELS), 2):
            a, b = codes[i, cell], codes[j, cell]
            pvalues[cell, i, j] = mannwhitneyu(
                a, b, alternative="greater", method="asymptotic"
            ).pvalue
    return pvalues


def by_axis(codes: np.ndarray) -> np.ndarray:
    """The same, all pairs of a cell in one call of scipy."""
    pvalues = np.full((N_LOOP_CELLS, N_MODELS, N_MODELS), np.nan)
    first, second = np.array(list(permutations(range(N_MODELS), 2))).T
    for cell in range(N_LOOP_CELLS):
        a, b = codes[first, cell], codes[second, cell]
        found = mannwhitneyu(a, b, alternative="greater", method="asymptotic", axis=1)
        pvalues[cell, first, second] = found.pvalue
    return pvalues


def main() -> None:
    codes = codes_of_models()
    counts = counts_of(codes)
    slow = interleaved(1, loop=lambda: by_loop(codes), axis=lambda: by_axis(codes))
    fast = interleaved(
        REPEATS, codes=lambda: by_counts(counts_of(codes)), counts=lambda: by_counts(counts)
    )
    wanted = by_loop(codes)
    off_diagonal = ~np.isnan(wanted)
    found = by_counts(counts)[:N_LOOP_CELLS]
    difference = np.abs(found - wanted)[off_diagonal]
    relative = (difference / wanted[off_diagonal]).max()
    scaled = {name: [t * N_CELLS / N_LOOP_CELLS for t in times] for name, times in slow.items()}
    for name, times in (scaled | fast).items():
        report(
            f"u-test by {name}",
            n_tests=N_CELLS * N_MODELS * (N_MODELS - 1),
            n_tuples=N_TUPLES,
            seed=SEED,
            repeats=len(times),
            is_scaled=name in slow,
            **spread(times),
            times_scipy_loop=round(np.median(scaled["loop"]) / np.median(times), 1),
            largest_difference=float(difference.max()),
            largest_relative_difference=float(relative),
            smallest_p=float(wanted[off_diagonal].min()),
        )


if __name__ == "__main__":
    main()
