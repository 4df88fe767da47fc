"""Which model ranks a slice best, how sure that is, and which models it beats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.groups import group_label, rank_groups
from patcache.kernels.outcomes import MIN_DEFINED, Outcome
from patcache.kernels.power import smallest_difference
from patcache.listing import Listing, column, known
from patcache.queries.cautions import cautions, few_for_intervals
from patcache.queries.comparison import Comparison, compare
from patcache.queries.power import POWER, strictest_alpha
from patcache.queries.question import Question
from patcache.queries.wording import interval_words, named

if TYPE_CHECKING:
    from patcache.store import StoreFolder


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One model. group: models that share a number could not be told apart, or "too few".

    mean: of the indicator (RCI or Kendall) over n tuples, None without one; low, high: its 95 %
    interval, None with fewer than three. s_per_text: None where nothing was encoded in this store.
    """

    group: str = column("group")
    model: str = column("model")
    mean: float | None = column("mean", fmt=".3f")
    low: float | None = column("from", fmt=".3f")
    high: float | None = column("to", fmt=".3f")
    beats: int = column("beats")
    beaten_by: int = column("beaten by")
    s_per_text: float | None = column("s/text", fmt=".2g")
    n: int = column("n", fmt=",")
    n_undefined: int = column("undefined", fmt=",")
    n_near_ties: int = column("near-ties", fmt=",")
    chance: float = column("chance", fmt=".3f", hidden=True)
    indicator: str = column("indicator", hidden=True)
    spec_id: str = column("spec", hidden=True)


def leaderboard(store: StoreFolder, question: Question | None = None) -> Listing[LeaderboardRow]:
    """The models of a sample from best to worst, in one slice.

    Errors: NotThere for a sample, model or slice that is not there; PatcacheError where no sample
    is named and there are several.
    """
    comparison = compare(store, question or Question())
    groups = _groups(comparison)
    rows = tuple(_row(comparison, model, groups[model]) for model in comparison.best_first)
    notes = (
        *_chance_notes(rows),
        *cautions(comparison),
        *_power_notes(comparison),
        interval_words(comparison.question),
        *few_for_intervals(comparison.counts.n_defined),
    )
    return Listing(LeaderboardRow, rows, comparison.caption(), notes)


def _groups(comparison: Comparison) -> dict[int, str]:
    """The label of each model's rank groups; a model without a test has none."""
    beats, n = comparison.decisions.beats[0], comparison.counts.n_defined[0]
    tested = [model for model in comparison.best_first if n[model] >= MIN_DEFINED]
    numbers = rank_groups((beats | beats.T)[np.ix_(tested, tested)])
    labels = {model: group_label(of) for model, of in zip(tested, numbers, strict=True)}
    return {model: labels.get(model, Outcome.TOO_FEW.words) for model in range(len(n))}


def _row(comparison: Comparison, model: int, group: str) -> LeaderboardRow:
    counts, beats = comparison.counts, comparison.decisions.beats[0]
    scored = comparison.subject.models[model]
    means = comparison.means
    return LeaderboardRow(
        group=group,
        model=scored.label,
        mean=known(means.mean[0, model]),
        low=known(means.low[0, model]),
        high=known(means.high[0, model]),
        beats=int(beats[model].sum()),
        beaten_by=int(beats[:, model].sum()),
        s_per_text=scored.s_per_text,
        n=int(counts.n_defined[0, model]),
        n_undefined=int(counts.n_undefined[0, model]),
        n_near_ties=int(counts.n_near_ties[0, model]),
        chance=float(counts.chance[0]),
        indicator=comparison.question.indicator,
        spec_id=scored.spec_id,
    )


def _power_notes(comparison: Comparison) -> list[str]:
    """How large a difference would have been seen between models that are not told apart."""
    beats, paired = comparison.decisions.beats[0], comparison.paired
    tested = ~np.isnan(comparison.tests.pvalue[0]) & (paired.standard_error[0] > 0)
    level = np.triu(tested & ~(beats | beats.T))
    if not level.any():
        return []
    n = paired.n[0][level]
    deviation = paired.standard_error[0][level] * np.sqrt(n)
    alpha = strictest_alpha(comparison)
    seen = smallest_difference(deviation, n, alpha, POWER)
    low, high = f"{seen.min():.3f}", f"{seen.max():.3f}"
    return [
        f"between models not told apart a difference of {low if low == high else f'{low}-{high}'} "
        f"would be seen by a paired test with power {POWER:g}: patcache power"
    ]


def _chance_notes(rows: tuple[LeaderboardRow, ...]) -> list[str]:
    """Which models cannot be told from one that knows nothing, or are below it."""
    placed = [(r.model, r.low, r.high, r.chance) for r in rows if r.low is not None]
    at = [name for name, low, high, chance in placed if high is not None and low <= chance <= high]
    below = [name for name, _, high, chance in placed if high is not None and high < chance]
    notes = [f"the level of chance is inside the interval of {named(at)}"] if at else []
    return notes + ([f"below the level of chance: {named(below)}"] if below else [])
