"""Means with their intervals: of each model, and of the difference of every two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.hashing import settings_digest
from patcache.kernels.bootstrap import (
    CONFIDENCE,
    MeanSpread,
    mean_spread,
    power_sums,
    resampled_means,
)
from patcache.kernels.outcomes import MIN_DEFINED
from patcache.queries.testing import pair_rng

if TYPE_CHECKING:
    from patcache.queries.counts import ModelCounts
    from patcache.queries.differences import Differences
    from patcache.queries.question import Question, Subject
    from patcache.records import BoolArray, DoubleArray, IntArray


@dataclass(frozen=True, slots=True)
class Means:
    """Means of the models as shown, with 95 % intervals.

    Shapes: all (P, M); mean is NaN without a defined tuple, standard_error with fewer than two,
    low and high with fewer than MIN_DEFINED.
    """

    mean: DoubleArray
    low: DoubleArray
    high: DoubleArray
    standard_error: DoubleArray


@dataclass(frozen=True, slots=True)
class PairedMeans:
    """Mean differences over common tuples, with 95 % intervals, in the units of the tests.

    Shapes: all (P, M, M); [p, i, j] is i minus j; NaN as for Means, and on the diagonal.
    """

    n: IntArray
    mean: DoubleArray
    low: DoubleArray
    high: DoubleArray
    standard_error: DoubleArray

    @property
    def is_above_zero(self) -> BoolArray:
        """Where even the lower end of the interval is above 0."""
        above: BoolArray = np.nan_to_num(self.low, nan=-1.0) > 0
        return above


def means_of_models(subject: Subject, counts: ModelCounts, question: Question) -> Means:
    """Mean of every model in every part, by the question's way to an interval."""
    shape = counts.n_defined.shape
    found = Means(*(np.full(shape, np.nan) for _ in range(4)))
    sums = power_sums(counts.cell_counts, counts.shown)  # (C, M, 5)
    for part in range(shape[0]):
        cells = counts.parts.cells_of(part)
        spread = mean_spread(np.moveaxis(sums[cells], 0, -2))
        found.mean[part], found.standard_error[part] = spread.mean, spread.standard_error
        occurs = counts.shown_counts[part] > 0
        found.low[part], found.high[part] = _ends(
            spread,
            np.where(occurs, counts.shown, np.inf).min(axis=-1, initial=np.inf),
            np.where(occurs, counts.shown, -np.inf).max(axis=-1, initial=-np.inf),
        )
        for model in range(shape[1]) if question.n_resamples else ():
            number = int(counts.parts.numbers[part])
            entropy = {"seed": question.seed, "of": [subject.models[model].spec_id, number]}
            rng = np.random.default_rng(int(settings_digest(entropy), 16))
            one = counts.cell_counts[cells, model]
            interval = _simulated(one, counts.shown, rng, question.n_resamples)
            found.low[part, model], found.high[part, model] = interval
    return found


def means_of_pairs(subject: Subject, differences: Differences, question: Question) -> PairedMeans:
    """Mean difference of every pair in every part, by the question's way to an interval."""
    n_models, parts = len(subject.models), differences.parts
    shape = (len(parts), n_models, n_models)
    found = PairedMeans(
        np.zeros(shape, dtype=np.int64), *(np.full(shape, np.nan) for _ in range(4))
    )
    i, j = differences.pairs.T
    widest = 1.0 if question.indicator == "footrule" else 2.0
    sums = differences.power_sums()  # (K, C, 5)
    for part in range(shape[0]):
        spread = mean_spread(sums[:, parts.cells_of(part)])
        low, high = _ends(spread, -widest, widest)
        for pair in range(len(i)) if question.n_resamples else ():
            rng, sign = pair_rng(subject, differences, pair, part, question.seed)
            counts = differences.of_cells(pair, part)[:, ::sign]
            ends = _simulated(counts, differences.values, rng, question.n_resamples)
            low[pair], high[pair] = ends if sign > 0 else (-ends[1], -ends[0])
        found.n[part, i, j] = found.n[part, j, i] = spread.n
        found.mean[part, i, j], found.mean[part, j, i] = spread.mean, 0.0 - spread.mean
        found.low[part, i, j], found.low[part, j, i] = low, 0.0 - high
        found.high[part, i, j], found.high[part, j, i] = high, 0.0 - low
        found.standard_error[part, i, j] = spread.standard_error
        found.standard_error[part, j, i] = spread.standard_error
    return found


def _ends(
    spread: MeanSpread, least: DoubleArray | float, largest: DoubleArray | float
) -> tuple[DoubleArray, DoubleArray]:
    """The intervals, within the values there can be, which a mean cannot leave."""
    low, high = spread.interval()
    is_known = spread.n >= MIN_DEFINED
    return (
        np.where(is_known, np.maximum(low, least), np.nan),
        np.where(is_known, np.minimum(high, largest), np.nan),
    )


def _simulated(
    counts: IntArray, values: DoubleArray, rng: np.random.Generator, n_resamples: int | None
) -> tuple[float, float]:
    """The interval from resamples; NaN with too few tuples."""
    if counts.sum() < MIN_DEFINED or n_resamples is None:
        return float("nan"), float("nan")
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(resampled_means(counts, values, rng, n_resamples), [tail, 1 - tail])
    return float(low), float(high)
