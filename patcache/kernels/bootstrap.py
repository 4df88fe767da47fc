"""How far a mean could have come out elsewhere: bootstrap over targets, cell by cell.

A sample has a fixed number of targets in each cell, so targets are drawn anew within their cell:
n - 1 of its n (Rao and Wu 1988), for n of n would make small cells look surer than they are. A
cell of one target says nothing of its own spread: such cells are pooled into one stratum, and a
single such cell joins the smallest other one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.outcomes import MIN_DEFINED, Outcome, Resampled

if TYPE_CHECKING:
    from patcache.records import DoubleArray, IntArray

CONFIDENCE = 0.95
N_POWERS = 5  # sums of value ** 0 .. value ** 4
ROUNDING = 1e-9  # a standard error below it is that of a constant


@dataclass(frozen=True, slots=True)
class MeanSpread:
    """The mean of each row, and what the bootstrap says of it.

    Shapes: all alike. standard_error, skewness and excess (kurtosis) are those of the bootstrap
    distribution of the mean; NaN with fewer than two values, the mean without any.
    """

    n: IntArray
    mean: DoubleArray
    standard_error: DoubleArray
    skewness: DoubleArray
    excess: DoubleArray

    def quantile(self, probability: float) -> DoubleArray:
        """The value below which the mean of this share of all resamples lies.

        Source: Cornish and Fisher 1938, to the fourth cumulant: the limit of infinitely many
                resamples (Hall 1992, section 2.5), without simulating any.
        """
        z = normal_quantile(probability)
        step = (
            z
            + (z**2 - 1) / 6 * self.skewness
            + (z**3 - 3 * z) / 24 * self.excess
            - (2 * z**3 - 5 * z) / 36 * self.skewness**2
        )
        return self.mean + self.standard_error * step

    def interval(self, confidence: float = CONFIDENCE) -> tuple[DoubleArray, DoubleArray]:
        """The percentile interval of the mean: lower ends and upper ends."""
        tail = (1 - confidence) / 2
        return self.quantile(tail), self.quantile(1 - tail)


def normal_quantile(probability: float) -> float:
    """The z that a standard normal is below with this probability."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def power_sums(counts: IntArray, values: DoubleArray) -> DoubleArray:
    """Sums of the values' powers 0 to 4: additive over cells, and all that mean_spread needs.

    Shapes: counts (..., V), values (V,) -> (..., 5).
    """
    sums: DoubleArray = counts @ (values[:, None] ** np.arange(N_POWERS))
    return sums


def mean_spread(sums: DoubleArray) -> MeanSpread:
    """Mean and bootstrap spread of the values of several cells together.

    Shapes: sums (..., C, 5), the power sums of each cell -> (...).
    Source: variance, skewness and kurtosis of the sum of independent means, one of each stratum.
    """
    strata = pooled(sums, sums[..., 0])
    n = strata[..., 0]
    total = n.sum(axis=-1)
    cumulants = _cumulants(strata)
    draws = np.maximum(n - 1, 1)
    weight = n / np.maximum(total, 1)[..., None]
    of_mean = [
        (weight**order * cumulants[order - 2] / draws ** (order - 1)).sum(axis=-1)
        for order in (2, 3, 4)
    ]
    error = np.sqrt(np.maximum(of_mean[0], 0))
    error = np.where(error < ROUNDING, 0.0, error)
    scale = np.where(error > 0, error, 1)
    is_known = (total >= 2) & ~(n == 1).any(axis=-1)
    return MeanSpread(
        total.astype(np.int64),
        np.where(total > 0, strata[..., 1].sum(axis=-1) / np.maximum(total, 1), np.nan),
        np.where(is_known, error, np.nan),
        np.where(error > 0, of_mean[1] / scale**3, 0),
        np.where(error > 0, of_mean[2] / scale**4, 0),
    )


def resampled_means(
    counts: IntArray, values: DoubleArray, rng: np.random.Generator, n_resamples: int
) -> DoubleArray:
    """Means of resamples, by simulation: what mean_spread gives the limit of.

    Drawing targets anew is one multinomial draw over the V counts of a cell.

    Shapes: counts (C, V), one row a cell, values (V,) -> (n_resamples,).
    Source: Efron 1979; n - 1 of n in each stratum: Rao and Wu 1988.
    """
    strata = pooled(counts, counts.sum(axis=-1))
    n = strata.sum(axis=-1)
    occurs = strata.any(axis=0)
    means = np.zeros(n_resamples)
    for row, size in zip(strata[n > 0][:, occurs], n[n > 0].tolist(), strict=True):
        draws = max(size - 1, 1)
        resampled = rng.multinomial(draws, row / size, size=n_resamples)
        means += size / n.sum() * (resampled @ values[occurs]) / draws
    return means


def bootstrap_test(
    counts: IntArray, values: DoubleArray, rng: np.random.Generator, n_resamples: int
) -> Resampled:
    """Whether a mean difference is 0: resamples shifted to a mean of 0 against the mean found.

    Shapes: counts (C, V) of paired differences, one row a cell, values (V,).
    Source: Efron and Tibshirani 1993, section 16.4; (hits + 1) / (n_resamples + 1).
    """
    total = counts.sum(axis=0)
    if total.sum() < MIN_DEFINED:
        return Resampled.without(Outcome.TOO_FEW)
    if not total[values != 0].any():
        return Resampled.without(Outcome.NO_DIFFERENCE)
    found = float(total @ values / total.sum())
    around = resampled_means(counts, values, rng, n_resamples) - found
    return Resampled.of(around, found, slack=ROUNDING)


def pooled(rows: IntArray | DoubleArray, n: IntArray | DoubleArray) -> DoubleArray:
    """Additive rows of cells with those of single targets pooled, as this module says.

    Shapes: rows (..., C, K), n (..., C) -> (..., C, K); pooled cells are left with zeros.
    """
    is_single = n == 1
    if not is_single.any():
        return np.asarray(rows, dtype=np.result_type(rows))
    larger = np.where(n >= 2, n, np.inf)
    is_several = is_single.sum(axis=-1) >= 2
    host = np.where(is_several, is_single.argmax(axis=-1), larger.argmin(axis=-1))
    host = np.where(is_several | (n >= 2).any(axis=-1), host, is_single.argmax(axis=-1))
    moved = np.where(is_single[..., None], rows, 0).sum(axis=-2, keepdims=True)
    kept = np.where(is_single[..., None], 0, rows)
    place = np.broadcast_to(host[..., None, None], moved.shape)
    np.put_along_axis(kept, place, np.take_along_axis(kept, place, axis=-2) + moved, axis=-2)
    return kept


def _cumulants(sums: DoubleArray) -> tuple[DoubleArray, DoubleArray, DoubleArray]:
    """Second to fourth cumulant of the values of each cell; 0 for an empty one."""
    raw = sums[..., 1:] / np.maximum(sums[..., :1], 1)
    first, second, third, fourth = np.moveaxis(raw, -1, 0)
    variance = np.maximum(second - first**2, 0)
    skew = third - 3 * first * second + 2 * first**3
    tails = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    return variance, skew, tails - 3 * variance**2
