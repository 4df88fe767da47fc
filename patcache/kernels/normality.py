"""Whether values could come from a normal distribution; words where no test can say."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from patcache.kernels.outcomes import MIN_DEFINED

if TYPE_CHECKING:
    from patcache.records import DoubleArray

MANY = 5_000  # above it Shapiro-Wilk's p is approximate, and Lilliefors' is not simulated
N_SIMULATED = 999

NormalityOutcome = Literal["tested", "constant", "too few"]


@dataclass(frozen=True, slots=True)
class Normality:
    """Two tests of one sample; None where there is none to report.

    w, w_pvalue: Shapiro-Wilk. d, d_pvalue: Kolmogorov-Smirnov against the normal of the sample's
    own mean and deviation (Lilliefors). is_approximate: more than MANY values.
    """

    outcome: NormalityOutcome
    n: int
    w: float | None = None
    w_pvalue: float | None = None
    d: float | None = None
    d_pvalue: float | None = None
    is_approximate: bool = False


def normality(values: DoubleArray, rng: np.random.Generator) -> Normality:
    """Tests of normality by Shapiro-Wilk and Lilliefors, or why there are none.

    Shapes: values (n,), finite.
    Source: Shapiro and Wilk 1965; Lilliefors 1967, p-values by simulation (scipy's
            goodness_of_fit): those of plain Kolmogorov-Smirnov do not hold for fitted parameters.
    Errors: ValueError for a value that is not finite.
    """
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("values that are not finite have no distribution")
    n = len(values)
    if n < MIN_DEFINED:
        return Normality("too few", n)
    if np.ptp(values) == 0:
        return Normality("constant", n)
    # Both tests are blind to place and scale; on values 1e-9 apart their arithmetic is not.
    standard = (values - values.mean()) / values.std(ddof=1)
    w, w_pvalue = _shapiro_wilk(standard)
    d, d_pvalue = _lilliefors(standard, rng)
    return Normality("tested", n, w, w_pvalue, d, d_pvalue, is_approximate=n > MANY)


def _shapiro_wilk(standard: DoubleArray) -> tuple[float, float]:
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # for many values: is_approximate says it
        found = stats.shapiro(standard)
    return float(found.statistic), float(np.clip(found.pvalue, 0, 1))


def _lilliefors(standard: DoubleArray, rng: np.random.Generator) -> tuple[float, float | None]:
    from scipy import stats

    if len(standard) > MANY:
        return float(stats.kstest(standard, "norm").statistic), None
    found = stats.goodness_of_fit(
        stats.norm, standard, statistic="ks", n_mc_samples=N_SIMULATED, rng=rng
    )
    return float(found.statistic), float(found.pvalue)
