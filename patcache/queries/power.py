"""How small a difference these tuples can show, and how many it would take to see a given one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.corrections import strictest_share
from patcache.kernels.outcomes import MIN_DEFINED
from patcache.kernels.power import smallest_difference, tuples_needed
from patcache.listing import Listing, column, known
from patcache.queries.comparison import Comparison, compare
from patcache.queries.question import Question
from patcache.queries.wording import CORRECTION_NAMES, ONE_MODEL

if TYPE_CHECKING:
    from patcache.store import StoreFolder

DIFFERENCE = 0.01
POWER = 0.8


@dataclass(frozen=True, slots=True)
class PowerRow:
    """Two models, each pair once.

    deviation: standard deviation of one tuple's difference, as the sampling cell by cell leaves
    it. smallest: mean difference that n_common tuples show. n_paired: tuples that show the
    difference asked for, both models on the same ones; n_independent: tuples for each model on
    different ones, as the U-test takes them. outcome: "too few" or "no spread" where there is
    nothing to reckon with, else "".
    """

    model: str = column("model")
    other: str = column("other")
    n_common: int = column("n", fmt=",")
    mean_difference: float | None = column("difference", fmt="+.3f")
    deviation: float | None = column("sd", fmt=".3f")
    smallest: float | None = column("seen from", fmt=".4f")
    n_paired: int | None = column("n needed", fmt=",")
    n_independent: int | None = column("unpaired", fmt=",")
    outcome: str = column("note")


def power(
    store: StoreFolder,
    question: Question | None = None,
    *,
    difference: float = DIFFERENCE,
    power: float = POWER,
) -> Listing[PowerRow]:
    """What the tuples of a slice can show of each pair, and what `difference` would take.

    Errors: as for the leaderboard; ValueError for a difference or power that is none.
    """
    comparison = compare(store, question or Question())
    rows = tuple(
        _row(comparison, i, j, difference, power) for i, j in combinations(comparison.best_first, 2)
    )
    asked, alpha = comparison.question, strictest_alpha(comparison)
    name, n_tests = CORRECTION_NAMES[asked.correction], comparison.decisions.n_tests
    strictest = "" if asked.correction == "none" else f" at its strictest of {n_tests:,} tests"
    caption = (
        comparison.about,
        f"tuples to see a difference of {difference:g} with power {power:g} at p < {alpha:.2g} "
        f"({name}{strictest})",
    )
    notes = (
        *(() if rows else (ONE_MODEL,)),
        "reckoned for a test of means; the signed-rank test needs about as many, the U-test about "
        "as many as unpaired, or fewer where models agree on which tuples are easy",
    )
    return Listing(PowerRow, rows, caption, notes)


def strictest_alpha(comparison: Comparison) -> float:
    """What the smallest p of the family must be below, one-sided, where no other test counts."""
    asked = comparison.question
    alpha = asked.alpha / 2 if asked.alternative == "two-sided" else asked.alpha
    return alpha * strictest_share(asked.correction, comparison.decisions.n_tests)


def _row(comparison: Comparison, i: int, j: int, difference: float, power: float) -> PowerRow:
    paired, means, counts = comparison.paired, comparison.means, comparison.counts
    n, alpha = int(paired.n[0, i, j]), strictest_alpha(comparison)
    deviation = paired.standard_error[0, i, j] * np.sqrt(n)
    variances = [means.standard_error[0, k] ** 2 * counts.n_defined[0, k] for k in (i, j)]
    unpaired = np.sqrt(sum(variances))
    is_known = bool(n >= MIN_DEFINED and deviation > 0)
    needed = [
        int(tuples_needed(d, difference, alpha, power)) if is_known and d > 0 else None
        for d in (deviation, unpaired)
    ]
    seen = smallest_difference(deviation, np.array(n), alpha, power)
    return PowerRow(
        model=comparison.labels[i],
        other=comparison.labels[j],
        n_common=n,
        mean_difference=known(paired.mean[0, i, j]),
        deviation=known(deviation),
        smallest=known(float(seen)) if is_known else None,
        n_paired=needed[0],
        n_independent=needed[1],
        outcome="" if is_known else "too few" if n < MIN_DEFINED else "no spread",
    )
