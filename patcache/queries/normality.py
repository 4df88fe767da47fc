"""Whether a model's RCIs could be normal: why the tests here go by rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.moments import moments
from patcache.kernels.normality import MANY, N_SIMULATED, normality
from patcache.listing import Listing, column
from patcache.queries.comparison import compare
from patcache.queries.question import Question

if TYPE_CHECKING:
    from patcache.store import StoreFolder

SEED = 1
FEW_VALUES = "values take few steps, which alone keeps them from being normal where there are many"


@dataclass(frozen=True, slots=True)
class NormalityRow:
    """One model. outcome: "tested", "constant" or "too few"; the numbers are None without a test.

    skewness: below 0 the long tail is on the low side. w: Shapiro-Wilk; d: Kolmogorov-Smirnov
    with estimated mean and deviation (Lilliefors). is_approximate: w_pvalue is, and d_pvalue is not
    simulated, since there are more than MANY values.
    """

    model: str = column("model")
    n: int = column("n", fmt=",")
    outcome: str = column("outcome")
    skewness: float | None = column("skewness", fmt="+.2f")
    w: float | None = column("W", fmt=".4f")
    w_pvalue: float | None = column("p (Shapiro-Wilk)", fmt=".3g")
    d: float | None = column("D", fmt=".4f")
    d_pvalue: float | None = column("p (Lilliefors)", fmt=".3g")
    is_approximate: bool = column("approximate", hidden=True)


def normality_of_models(
    store: StoreFolder, question: Question | None = None
) -> Listing[NormalityRow]:
    """Tests of normality of each model's values in a slice, best model first.

    Errors: as for the leaderboard.
    """
    comparison = compare(store, question or Question())
    counts = comparison.counts
    rows = []
    for model in comparison.best_first:
        of_model = counts.shown_counts[0, model]
        values = np.repeat(counts.shown, of_model)
        found = normality(values, np.random.default_rng(SEED))
        rows.append(
            NormalityRow(
                comparison.labels[model],
                found.n,
                found.outcome,
                moments(counts.shown, of_model).skewness,
                found.w,
                found.w_pvalue,
                found.d,
                found.d_pvalue,
                found.is_approximate,
            )
        )
    notes = [
        FEW_VALUES,
        f"Lilliefors' p: {N_SIMULATED} simulated samples, seed {SEED}; its least is 0.001",
    ]
    if any(row.n > MANY for row in rows):
        notes.append(
            f"above {MANY:,} tuples Shapiro-Wilk's p is approximate, and Lilliefors' not simulated"
        )
    return Listing(NormalityRow, tuple(rows), (comparison.about,), tuple(notes))
