"""Every pair of models of one slice: p-values, effects, differences, wins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

from patcache.kernels.effects import cliffs_delta, medians, superiority
from patcache.kernels.outcomes import Outcome
from patcache.kernels.utest import u_test
from patcache.listing import Listing, column, known
from patcache.queries.cautions import cautions
from patcache.queries.comparison import Comparison, compare
from patcache.queries.question import Question
from patcache.queries.wording import interval_words

if TYPE_CHECKING:
    from patcache.records import DoubleArray
    from patcache.store import StoreFolder


@dataclass(frozen=True, slots=True)
class PairRow:
    """One ordered pair: `model` against `other`.

    outcome: "tested", "no difference" (p is 1) or "too few" (no p). p_adjusted is what alpha is
    compared with: below it model beats other; with the alternative "less" other beats model, and
    that is in its row. superiority: probability that a value of model is larger, ties half.
    mean_difference: model minus other over the n_common tuples defined for both, with its 95 %
    interval; median_difference: of the two models' own medians.
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


def matrix(store: StoreFolder, question: Question | None = None) -> Listing[PairRow]:
    """All ordered pairs, models from best to worst.

    Errors: as for the leaderboard.
    """
    comparison = compare(store, question or Question())
    sizes = _effects(comparison)
    rows = tuple(_row(comparison, sizes, i, j) for i, j in permutations(comparison.best_first, 2))
    notes = (*cautions(comparison), interval_words(comparison.question))
    return Listing(PairRow, rows, comparison.caption(), notes)


def _effects(comparison: Comparison) -> _Effects:
    counts = comparison.counts.counts[0]
    u = u_test(counts[:, None], counts[None, :])
    return _Effects(
        superiority(u.u, u.n_a, u.n_b),
        cliffs_delta(u.u, u.n_a, u.n_b),
        medians(counts, comparison.counts.values),
    )


def _row(comparison: Comparison, sizes: _Effects, i: int, j: int) -> PairRow:
    tests, paired, n = comparison.tests, comparison.paired, comparison.counts.n_defined[0]
    return PairRow(
        model=comparison.labels[i],
        other=comparison.labels[j],
        n=int(n[i]),
        n_other=int(n[j]),
        n_common=int(paired.n[0, i, j]),
        outcome=Outcome(int(tests.outcome[0, i, j])).words,
        statistic=float(tests.statistic[0, i, j]),
        p=known(tests.pvalue[0, i, j]),
        p_adjusted=known(comparison.decisions.adjusted[0, i, j]),
        beats=bool(comparison.decisions.beats[0, i, j]),
        superiority=known(sizes.superiority[i, j]),
        cliffs_delta=known(sizes.cliffs_delta[i, j]),
        mean_difference=known(paired.mean[0, i, j]),
        low=known(paired.low[0, i, j]),
        high=known(paired.high[0, i, j]),
        median_difference=known(sizes.median[i] - sizes.median[j]),
    )
