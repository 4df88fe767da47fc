"""Mean, deviation and skewness of values that come in pieces, and quantiles of their counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.outcomes import MIN_DEFINED

if TYPE_CHECKING:
    from patcache.records import DoubleArray, IntArray

SYMMETRIC = 0.1  # a skewness nearer to 0 than this is called about symmetric


@dataclass(frozen=True, slots=True)
class Moments:
    """n values: their mean, the sums of their squared and cubed distances from it, their range."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    lowest: float = math.inf
    highest: float = -math.inf

    @property
    def deviation(self) -> float | None:
        """Standard deviation with n - 1; None for fewer than two values."""
        return math.sqrt(self.squares / (self.n - 1)) if self.n > 1 else None

    @property
    def skewness(self) -> float | None:
        """Third standardised moment g1; None where skew_words says why."""
        if self.n < MIN_DEFINED or self.lowest == self.highest:
            return None
        return float((self.cubes / self.n) / (self.squares / self.n) ** 1.5)

    @property
    def skew_words(self) -> str:
        """Which side the long tail is on: "left-skewed" is a negative skewness."""
        if self.n < MIN_DEFINED:
            return "too few"
        if self.skewness is None:
            return "constant"
        if abs(self.skewness) < SYMMETRIC:
            return "about symmetric"
        return "left-skewed" if self.skewness < 0 else "right-skewed"


def moments(values: DoubleArray, counts: IntArray | None = None) -> Moments:
    """The moments of values, each as often as counts say (None: once).

    Shapes: values (n,), counts (n,). Errors: ValueError for a value that is not finite.
    """
    values = np.asarray(values, dtype=np.float64)
    if counts is not None:
        values, counts = values[counts > 0], counts[counts > 0]
    n = len(values) if counts is None else int(counts.sum())
    if n == 0:
        return Moments()
    total = values.sum() if counts is None else counts @ values
    if not np.isfinite(total):
        raise ValueError("values that are not finite have no moments")
    distances = values - total / n
    squares = distances * distances
    weighted = squares if counts is None else counts * squares
    return Moments(
        n,
        float(total / n),
        float(weighted.sum()),
        float(weighted @ distances),
        float(values.min()),
        float(values.max()),
    )


def merged(a: Moments, b: Moments) -> Moments:
    """The moments of the values of both.

    Source: Pébay 2008, equations 1.5 and 1.6: exact but for rounding, without large sums of
            powers that cancel where values lie close together and far from 0.
    """
    if a.n == 0 or b.n == 0:
        return b if a.n == 0 else a
    n, apart = a.n + b.n, b.mean - a.mean
    return Moments(
        n,
        a.mean + apart * b.n / n,
        a.squares + b.squares + apart**2 * a.n * b.n / n,
        a.cubes
        + b.cubes
        + apart**3 * a.n * b.n * (a.n - b.n) / n**2
        + 3 * apart * (a.n * b.squares - b.n * a.squares) / n,
        min(a.lowest, b.lowest),
        max(a.highest, b.highest),
    )


def standard_difference(a: Moments, b: Moments) -> float | None:
    """Mean of a minus mean of b, in pooled standard deviations; None where there is none.

    Source: Cohen 1988 (d, with the pooled deviation of n - 1).
    """
    if a.n < 2 or b.n < 2 or a.squares + b.squares == 0:
        return None
    return (a.mean - b.mean) / math.sqrt((a.squares + b.squares) / (a.n + b.n - 2))


def binned_quantile(counts: IntArray, edges: tuple[float, float], share: float) -> float | None:
    """The value below which a share of the values lies, evenly spread inside their bins.

    Shapes: counts (B,) over bins of equal width between the two edges. None without any value.
    Errors: at most the width of a bin beside the share's own value.
    """
    total = int(counts.sum())
    if total == 0:
        return None
    upto = counts.cumsum()
    wanted = share * total
    place = min(int(np.searchsorted(upto, max(wanted, 1e-9))), len(counts) - 1)
    before = upto[place] - counts[place]
    inside = (wanted - before) / counts[place] if counts[place] else 0.0
    low, high = edges
    return float(low + (high - low) * (place + inside) / len(counts))


def counted_quantile(counts: IntArray, values: DoubleArray, share: float) -> float | None:
    """The least value that at least a share of the values do not exceed; None without any.

    Shapes: counts (V,), values (V,) ascending. Source: Hyndman and Fan 1996, definition 1.
    """
    total = int(counts.sum())
    if total == 0:
        return None
    wanted = max(1, math.ceil(round(share * total, 9)))
    return float(values[int(np.searchsorted(counts.cumsum(), wanted))])


def bin_counts(values: DoubleArray, edges: tuple[float, float], n_bins: int) -> IntArray:
    """How many values lie in each of n_bins equal bins; the last one holds its upper edge.

    Shapes: values (n,), all between the edges -> (n_bins,). One value for both edges is bin 0.
    """
    low, high = edges
    if high <= low:
        counts = np.zeros(n_bins, dtype=np.int64)
        counts[0] = len(values)
        return counts
    place = ((values - low) * (n_bins / (high - low))).astype(np.int64)
    found: IntArray = np.bincount(place, minlength=n_bins + 1)
    found[n_bins - 1] += found[n_bins]
    return found[:n_bins]
