"""Two slices, samples or stores against each other: does a model do better on one of them?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.corrections import adjust
from patcache.kernels.effects import superiority
from patcache.kernels.independent import difference_interval, kendall_tau_b, ranks
from patcache.kernels.outcomes import Outcome
from patcache.kernels.utest import u_test
from patcache.listing import Listing, column, known
from patcache.queries import comparison
from patcache.queries.cautions import data_cautions, few_for_intervals
from patcache.queries.comparison import EQUAL_DIGITS, Comparison
from patcache.queries.counts import IN_SLICE
from patcache.queries.question import Question
from patcache.queries.sides import Side, of_common_models, sides_asked
from patcache.queries.wording import (
    CORRECTION_NAMES,
    INDICATOR_NAMES,
    interval_words,
    named,
)

if TYPE_CHECKING:
    from patcache.kernels.utest import UTest
    from patcache.records import DoubleArray, IntArray
    from patcache.store import StoreFolder

TARGETS = f"""
SELECT DISTINCT p.publication_number
FROM data.tuples t JOIN data.patents p ON p.patent_id = t.target
WHERE t.sample_id = $sample AND {IN_SLICE.format("t")}"""
HIGHER, LOWER, NOT_SEPARABLE = "higher", "lower", "not separable"
NEAR_TIES_NONE = "near-ties 0"


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One model on two sides; the second is compared with the first.

    mean, low, high, n, rank, chance: of each side; a mean is None without a defined tuple.
    difference: second minus first, with its 95 % interval; beyond_chance: the same after each
    side's level of chance is taken off, None where they are equal. superiority: probability that a
    value of the second side is larger, ties half. verdict: "higher" or "lower" where p_adjusted is
    below alpha, "not separable" where it is not, "too few" where there is no test.
    """

    model: str = column("model")
    first: str = column("first")
    second: str = column("second")
    mean_first: float | None = column("mean of first", fmt=".3f")
    low_first: float | None = column("from", fmt=".3f")
    high_first: float | None = column("to", fmt=".3f")
    n_first: int = column("n of first", fmt=",")
    rank_first: int | None = column("rank in first")
    mean_second: float | None = column("mean of second", fmt=".3f")
    low_second: float | None = column("from", fmt=".3f")
    high_second: float | None = column("to", fmt=".3f")
    n_second: int = column("n of second", fmt=",")
    rank_second: int | None = column("rank in second")
    difference: float | None = column("difference", fmt="+.3f")
    low: float | None = column("from", fmt="+.3f")
    high: float | None = column("to", fmt="+.3f")
    beyond_chance: float | None = column("beyond chance", fmt="+.3f")
    superiority: float | None = column("superiority", fmt=".3f")
    statistic: float = column("statistic", fmt=",.1f")
    p: float | None = column("p", fmt=".3g")
    p_adjusted: float | None = column("adjusted p", fmt=".3g")
    verdict: str = column("verdict")
    chance_first: float = column("chance of first", fmt=".3f")
    chance_second: float = column("chance of second", fmt=".3f")
    spec_first: str = column("spec of first", hidden=True)
    spec_second: str = column("spec of second", hidden=True)
    indicator: str = column("indicator", hidden=True)


@dataclass(frozen=True, slots=True)
class _Sides:
    """Both sides compared, models in the same order. Shapes: test and the rest (M,)."""

    asked: tuple[Side, Side]
    found: tuple[Comparison, Comparison]
    test: UTest
    adjusted: DoubleArray

    @property
    def question(self) -> Question:
        return self.asked[0].question

    def mean(self, side: int) -> DoubleArray:
        """Means of one side, rounded so that equal ones are equal."""
        rounded: DoubleArray = self.found[side].means.mean[0].round(EQUAL_DIGITS)
        return rounded

    def chance(self, side: int) -> float:
        return float(self.found[side].counts.chance[0])

    @property
    def chances_differ(self) -> bool:
        return round(self.chance(0), EQUAL_DIGITS) != round(self.chance(1), EQUAL_DIGITS)


def compare(
    store: StoreFolder,
    question: Question | None = None,
    *,
    split: int | None = None,
    with_sample: str | None = None,
    with_store: StoreFolder | None = None,
) -> Listing[CompareRow]:
    """Every model on two sides: years before `split` and from it on, or two samples or stores.

    Models are matched by label, and come from best to worst over both sides. The test is U,
    two-sided, for independent samples, whatever the question says; its family is the models.
    Errors: as for the leaderboard; PatcacheError where the sides are none or the same; NotThere
    where a side has no tuples or no model is on both.
    """
    asked = replace(question or Question(), test="u", alternative="two-sided")
    pair = sides_asked(store, asked, split, with_sample, with_store)
    pair, alone = of_common_models(pair)
    sides = _compared(pair)
    order = _best_first(sides)
    rows = tuple(_row(sides, model) for model in order)
    notes = (
        *_ranking(sides, order),
        *_means(rows),
        *_cautions(sides, alone, is_split=split is not None),
        interval_words(sides.question) + "; those of differences: variances add",
        *few_for_intervals(np.array([n for row in rows for n in (row.n_first, row.n_second)])),
    )
    return Listing(CompareRow, rows, _caption(sides), notes)


def _compared(asked: tuple[Side, Side]) -> _Sides:
    first, second = (comparison.compare(side.store, side.question) for side in asked)
    counts_first, counts_second = _on_one_axis(first, second)
    test = u_test(counts_second, counts_first, "two-sided")
    correction = asked[0].question.correction
    adjusted = adjust(test.pvalue, ~np.isnan(test.pvalue), correction)
    return _Sides(asked, (first, second), test, adjusted)


def _on_one_axis(first: Comparison, second: Comparison) -> tuple[IntArray, IntArray]:
    """The counts of both sides (M, V) over the values of either."""
    axes = [side.counts.values.round(EQUAL_DIGITS) for side in (first, second)]
    values = np.union1d(*axes)
    placed = []
    for side, axis in zip((first, second), axes, strict=True):
        counts = np.zeros((len(side.labels), len(values)), dtype=np.int64)
        np.add.at(counts.T, np.searchsorted(values, axis), side.counts.counts[0].T)
        placed.append(counts)
    return placed[0], placed[1]


def _best_first(sides: _Sides) -> list[int]:
    """Models by the mean of their two means, equal ones by name; those that lack one last."""
    both = np.stack([sides.mean(0), sides.mean(1)])
    n_lacking = np.isnan(both).sum(axis=0)
    mean = np.nan_to_num(both).sum(axis=0) / np.maximum(2 - n_lacking, 1)
    labels = sides.found[0].labels
    return sorted(range(len(labels)), key=lambda i: (n_lacking[i], -mean[i], labels[i]))


def _row(sides: _Sides, model: int) -> CompareRow:
    (one, two), test = sides.found, sides.test
    low, high = difference_interval(_ends(one), _ends(two))
    difference = float(two.means.mean[0, model] - one.means.mean[0, model])
    chances = sides.chance(0), sides.chance(1)
    beyond = difference - (chances[1] - chances[0]) if sides.chances_differ else float("nan")
    better = superiority(test.u, test.n_a, test.n_b)
    return CompareRow(
        model=one.labels[model],
        first=sides.asked[0].name,
        second=sides.asked[1].name,
        mean_first=known(one.means.mean[0, model]),
        low_first=known(one.means.low[0, model]),
        high_first=known(one.means.high[0, model]),
        n_first=int(one.counts.n_defined[0, model]),
        rank_first=_rank(sides.mean(0), model),
        mean_second=known(two.means.mean[0, model]),
        low_second=known(two.means.low[0, model]),
        high_second=known(two.means.high[0, model]),
        n_second=int(two.counts.n_defined[0, model]),
        rank_second=_rank(sides.mean(1), model),
        difference=known(difference),
        low=known(low[model]),
        high=known(high[model]),
        beyond_chance=known(beyond),
        superiority=known(better[model]),
        statistic=float(test.u[model]),
        p=known(test.pvalue[model]),
        p_adjusted=known(sides.adjusted[model]),
        verdict=_verdict(sides, model),
        chance_first=chances[0],
        chance_second=chances[1],
        spec_first=one.subject.models[model].spec_id,
        spec_second=two.subject.models[model].spec_id,
        indicator=sides.question.indicator,
    )


def _ends(side: Comparison) -> tuple[DoubleArray, DoubleArray, DoubleArray]:
    return side.means.mean[0], side.means.low[0], side.means.high[0]


def _rank(means: DoubleArray, model: int) -> int | None:
    rank = known(ranks(means)[model])
    return None if rank is None else int(rank)


def _verdict(sides: _Sides, model: int) -> str:
    test = sides.test
    if test.outcome[model] == Outcome.TOO_FEW:
        return Outcome.TOO_FEW.words
    if test.outcome[model] != Outcome.TESTED or sides.adjusted[model] >= sides.question.alpha:
        return NOT_SEPARABLE
    return HIGHER if 2 * test.u[model] > test.n_a[model] * test.n_b[model] else LOWER


def _caption(sides: _Sides) -> tuple[str, ...]:
    abouts = [
        f"{side.name}: {found.about}" for side, found in zip(sides.asked, sides.found, strict=True)
    ]
    n_tests = int(np.count_nonzero(~np.isnan(sides.test.pvalue)))
    correction = CORRECTION_NAMES[sides.question.correction]
    over = "" if sides.question.correction == "none" else " over"
    tests = f"{n_tests:,} test{'s' * (n_tests != 1)}"
    test = f"U-test (two-sided, independent samples), {correction}{over} {tests}"
    return (*abouts, test)


def _ranking(sides: _Sides, order: list[int]) -> list[str]:
    """Whether the models rank alike on both sides."""
    is_there = ~np.isnan(sides.mean(0)) & ~np.isnan(sides.mean(1))
    tau = kendall_tau_b(sides.mean(0)[is_there], sides.mean(1)[is_there])
    if np.isnan(tau):
        return ["ranking: fewer than two models whose means differ on both sides"]
    labels = sides.found[0].labels
    ranks_of = [(_rank(sides.mean(0), model), _rank(sides.mean(1), model)) for model in order]
    moved = [
        f"{labels[model]} {one} -> {two}"
        for model, (one, two) in zip(order, ranks_of, strict=True)
        if one != two and one is not None and two is not None
    ]
    changed = f"ranks that change: {named(moved)}" if moved else "no rank changes"
    return [f"ranking: Kendall's tau-b {tau:.3f} between the sides; {changed}"]


def _means(rows: tuple[CompareRow, ...]) -> list[str]:
    """Where a verdict by rank lacks a difference of means to show for it."""
    odd = [
        row.model
        for row in rows
        if (row.verdict == HIGHER and (row.low is None or row.low <= 0))
        or (row.verdict == LOWER and (row.high is None or row.high >= 0))
    ]
    if not odd:
        return []
    return [
        "higher or lower by U-test, though the 95 % interval of the difference is not on that side "
        f"of 0: {named(odd)}"
    ]


def _cautions(sides: _Sides, alone: tuple[list[str], list[str]], *, is_split: bool) -> list[str]:
    """What a reader must know: each side's mix, chance, specs, shared targets, ties."""
    return [
        "each mean is over its own side's mix of years and sections",
        *_chances(sides),
        *_specs(sides),
        *([] if is_split else _shared_targets(sides)),
        *(
            f"only in {side.name}: {named(labels)}"
            for side, labels in zip(sides.asked, alone, strict=True)
            if labels
        ),
        *(
            f"{side.name}: {caution}"
            for side, found in zip(sides.asked, sides.found, strict=True)
            for caution in data_cautions(found)
            if caution != NEAR_TIES_NONE
        ),
    ]


def _chances(sides: _Sides) -> list[str]:
    if not sides.chances_differ:
        return []
    name = INDICATOR_NAMES[sides.question.indicator]
    return [
        f"levels of chance differ ({sides.chance(0):.3f} and {sides.chance(1):.3f}): the tuples "
        f"have other shapes, so a difference of {name}, and its test, is of the tuples as much as "
        "of the model; beyond chance makes the lower ends alike, and nothing else"
    ]


def _specs(sides: _Sides) -> list[str]:
    pairs = zip(sides.found[0].subject.models, sides.found[1].subject.models, strict=True)
    other = [one.label for one, two in pairs if one.spec_id != two.spec_id]
    return [f"one label, two specs: {named(other)} is not the same model on both"] if other else []


def _shared_targets(sides: _Sides) -> list[str]:
    """Targets of both sides: the samples are not independent then."""
    targets = []
    for side, found in zip(sides.asked, sides.found, strict=True):
        asked = {
            "sample": found.subject.sample_id,
            "years": side.question.years,
            "sections": side.question.sections,
        }
        with side.store.read() as cursor:
            targets.append({number for (number,) in cursor.execute(TARGETS, asked).fetchall()})
    shared = len(targets[0] & targets[1])
    if not shared:
        return []
    sizes = f"{len(targets[0]):,} and {len(targets[1]):,}"
    return [
        f"{shared:,} of the {sizes} targets are the same patents: the sides are not independent, "
        "and p is too large where a model ranks these alike"
    ]
