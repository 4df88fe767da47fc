"""Every pair of models of one slice: p-values, effects, differences, wins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.effects import (
    N_RESAMPLES,
    bootstrap_interval,
    cliffs_delta,
    medians,
    superiority,
)
from patcache.kernels.outcomes import Outcome
from patcache.kernels.utest import u_test
from patcache.listing import Listing, column
from patcache.queries.cautions import cautions
from patcache.queries.comparison import Comparison, compare
from patcache.queries.leaderboard import SEED
from patcache.queries.question import Question

if TYPE_CHECKING:
    from patcache.queries.differences import PairDifferences
    from patcache.records import DoubleArray
    from patcache.store import StoreFolder


@dataclass(frozen=True, slots=True)
class PairRow:
    """One ordered pair: `model` against `other`.

    outcome: "tested", "no difference" (p is 1) or "too few" (no p). p_adjusted is what alpha is
    compared with. superiority: probability that a value of model is larger, ties half.
    mean_difference: model minus other over the n_common tuples defined for both, with its 95 %
    interval where one was asked for; median_difference: of the two models' own medians.
    """

    model: str = column("model")
    other: str = column("other")
    n: int = column("n", fmt=",")
    n_other: int = column("n other", fmt=",")
    n_common: int = column("n common", fmt=",")
    outcome: str = column("outcome")
    statistic: float = column("statistic", fmt=",.1f")
    p: float | None = column("p", fmt=".3g")
    p_adjusted: float | None = column("adjusted p", fmt=".3g")
    beats: bool = column("beats")
    superiority: float | None = column("superiority", fmt=".3f")
    cliffs_delta: float | None = column("Cliff's delta", fmt="+.3f")
    mean_difference: float | None = column("mean difference", fmt="+.3f")
    low: float | None = column("from", fmt="+.3f")
    high: float | None = column("to", fmt="+.3f")
    median_difference: float | None = column("median difference", fmt="+.3f")


@dataclass(frozen=True, slots=True)
class _Effects:
    """Effects of all pairs. Shapes: superiority, cliffs_delta (M, M); median (M,)."""

    superiority: DoubleArray
    cliffs_delta: DoubleArray
    median: DoubleArray


def matrix(
    store: StoreFolder, question: Question | None = None, *, n_resamples: int = N_RESAMPLES
) -> Listing[PairRow]:
    """All ordered pairs, models from best to worst; n_resamples = 0 leaves intervals out.

    Errors: as for the leaderboard.
    """
    comparison = compare(store, question or Question())
    sizes = _effects(comparison)
    intervals = _intervals(comparison.differences.of_part(0), n_resamples)
    rows = tuple(
        _row(comparison, sizes, i, j, intervals.get((i, j), (None, None)))
        for i, j in permutations(comparison.best_first, 2)
    )
    return Listing(PairRow, rows, comparison.caption(), cautions(comparison))


def _effects(comparison: Comparison) -> _Effects:
    counts = comparison.counts.counts[0]
    u = u_test(counts[:, None], counts[None, :])
    return _Effects(
        superiority(u.u, u.n_a, u.n_b),
        cliffs_delta(u.u, u.n_a, u.n_b),
        medians(counts, comparison.counts.values),
    )


def _row(
    comparison: Comparison,
    sizes: _Effects,
    i: int,
    j: int,
    interval: tuple[float | None, float | None],
) -> PairRow:
    tests, paired, n = comparison.tests, comparison.paired, comparison.counts.n_defined[0]
    return PairRow(
        model=comparison.labels[i],
        other=comparison.labels[j],
        n=int(n[i]),
        n_other=int(n[j]),
        n_common=int(paired.n[0, i, j]),
        outcome=Outcome(int(tests.outcome[0, i, j])).words,
        statistic=float(tests.statistic[0, i, j]),
        p=_known(tests.pvalue[0, i, j]),
        p_adjusted=_known(comparison.decisions.adjusted[0, i, j]),
        beats=bool(comparison.decisions.beats[0, i, j]),
        superiority=_known(sizes.superiority[i, j]),
        cliffs_delta=_known(sizes.cliffs_delta[i, j]),
        mean_difference=_known(paired.mean[0, i, j]),
        low=interval[0],
        high=interval[1],
        median_difference=_known(sizes.median[i] - sizes.median[j]),
    )


def _intervals(
    pairs: PairDifferences, n_resamples: int
) -> dict[tuple[int, int], tuple[float, float]]:
    """Interval of the mean difference of each ordered pair; the reverse pair's is its mirror."""
    found = {}
    for i, j in combinations(range(len(pairs.counts)), 2) if n_resamples else ():
        if pairs.counts[i, j].any():
            rng = np.random.default_rng(SEED)
            low, high = bootstrap_interval(pairs.counts[i, j], pairs.values, rng, n_resamples)
            found[i, j], found[j, i] = (low, high), (-high, -low)
    return found


def _known(value: float) -> float | None:
    """The number; None for NaN."""
    return None if np.isnan(value) else float(value)
