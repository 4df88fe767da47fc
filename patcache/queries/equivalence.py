"""Is a cheaper model good enough: at most a margin worse than another, on the same tuples?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import PatcacheError
from patcache.kernels.corrections import adjust
from patcache.kernels.equivalence import equivalence as test
from patcache.kernels.outcomes import MIN_DEFINED, Outcome
from patcache.listing import Listing, column, known
from patcache.queries.comparison import Comparison, compare
from patcache.queries.question import Question
from patcache.queries.wording import CORRECTION_NAMES, ONE_MODEL

if TYPE_CHECKING:
    from patcache.queries.question import ScoredModel
    from patcache.records import DoubleArray
    from patcache.store import StoreFolder

MARGIN = 0.02
MOST_ALPHA = 0.5


@dataclass(frozen=True, slots=True)
class EquivalenceRow:
    """One ordered pair: is `model` at most the margin worse than `other`?

    verdict: "equivalent" (within the margin either way), "not worse" (at most the margin worse),
    "worse" (by more than the margin), "not shown", or "too few". low, high: the interval of
    mean_difference (model minus other) that goes with the tests, 90 % for an alpha of 0.05.
    p_not_worse, p_equivalent, p_worse: corrected. times_faster: seconds per text of other over
    those of model, None where they cannot be compared.
    """

    model: str = column("model")
    other: str = column("other")
    n_common: int = column("n", fmt=",")
    mean_difference: float | None = column("difference", fmt="+.3f")
    low: float | None = column("from", fmt="+.3f")
    high: float | None = column("to", fmt="+.3f")
    p_not_worse: float | None = column("p not worse", fmt="p")
    p_equivalent: float | None = column("p equivalent", fmt="p")
    p_worse: float | None = column("p worse", fmt="p", hidden=True)
    verdict: str = column("verdict")
    times_faster: float | None = column("speed", fmt="rate")


def equivalence(
    store: StoreFolder, question: Question | None = None, *, margin: float = MARGIN
) -> Listing[EquivalenceRow]:
    """Two one-sided paired tests of every ordered pair of a slice, best model first.

    margin: in the units of the indicator (RCI). The question's test and alternative play no part.
    Errors: as for the leaderboard; ValueError for a margin that is not above 0; PatcacheError for
    an alpha of 0.5 or more.
    """
    asked = question or Question()
    if asked.alpha >= MOST_ALPHA:
        raise PatcacheError(
            f"alpha {asked.alpha:g} is too large here",
            "two one-sided tests go with an interval of confidence 1 - 2 alpha",
            f"an alpha below {MOST_ALPHA:g}, such as --alpha 0.05",
        )
    comparison = compare(store, asked)
    paired = comparison.paired
    found = test(paired.n[0], paired.mean[0], paired.standard_error[0], margin)
    is_tested = ~np.isnan(found.not_worse)
    corrected = [
        adjust(p, is_tested, asked.correction)
        for p in (found.not_worse, found.equivalent, found.worse)
    ]
    rows = tuple(
        _row(comparison, corrected, i, j) for i, j in permutations(comparison.best_first, 2)
    )
    n_tests = int(is_tested.sum())
    over = "" if asked.correction == "none" else f" over {n_tests:,} ordered pairs"
    name = CORRECTION_NAMES[asked.correction]
    caption = (
        comparison.about,
        f"at most {margin:g} worse? paired one-sided t-tests, alpha {asked.alpha:g}, {name}{over}",
    )
    return Listing(EquivalenceRow, rows, caption, _notes(asked, margin, bool(rows)))


def _row(comparison: Comparison, corrected: list[DoubleArray], i: int, j: int) -> EquivalenceRow:
    paired, asked = comparison.paired, comparison.question
    n, mean = int(paired.n[0, i, j]), paired.mean[0, i, j]
    low, high = _interval(mean, paired.standard_error[0, i, j], n, asked.alpha)
    p_not_worse, p_equivalent, p_worse = (known(p[i, j]) for p in corrected)
    return EquivalenceRow(
        model=comparison.labels[i],
        other=comparison.labels[j],
        n_common=n,
        mean_difference=known(mean),
        low=known(low),
        high=known(high),
        p_not_worse=p_not_worse,
        p_equivalent=p_equivalent,
        p_worse=p_worse,
        verdict=_verdict(p_not_worse, p_equivalent, p_worse, asked.alpha),
        times_faster=_times_faster(comparison.subject.models[i], comparison.subject.models[j]),
    )


def _interval(mean: float, error: float, n: int, alpha: float) -> tuple[float, float]:
    """Where the difference lies with confidence 1 - 2 alpha, by Student's t."""
    from scipy.special import stdtrit

    if n < MIN_DEFINED or np.isnan(error):
        return np.nan, np.nan
    half = error * float(stdtrit(n - 1, 1 - alpha))
    return mean - half, mean + half


def _verdict(
    p_not_worse: float | None, p_equivalent: float | None, p_worse: float | None, alpha: float
) -> str:
    if p_not_worse is None or p_equivalent is None or p_worse is None:
        return Outcome.TOO_FEW.words
    if p_equivalent < alpha:
        return "equivalent"
    if p_worse < alpha:
        return "worse"
    return "not worse" if p_not_worse < alpha else "not shown"


def _times_faster(model: ScoredModel, other: ScoredModel) -> float | None:
    """None where nothing was encoded here, or one of the two takes pairs of texts."""
    if model.is_pairs or other.is_pairs or not model.s_per_text or not other.s_per_text:
        return None
    return other.s_per_text / model.s_per_text


def _notes(question: Question, margin: float, has_pairs: bool) -> tuple[str, ...]:
    confidence = f"{100 * (1 - 2 * question.alpha):g} %"
    return (
        *(() if has_pairs else (ONE_MODEL,)),
        f"equivalent: within {margin:g} either way; not worse: at most {margin:g} worse; worse: by "
        f"more than {margin:g}; not shown: the tuples do not tell",
        "speed: how many times as many texts a second as the other encodes",
        f"{confidence} intervals of single pairs, uncorrected; standard errors cell by cell",
    )
