"""How a model's similarities, or its RCIs, are distributed: their middle, spread, tails, shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from patcache.errors import Misused
from patcache.kernels.moments import (
    SYMMETRIC,
    Moments,
    bin_counts,
    binned_quantile,
    counted_quantile,
    merged,
    moments,
    standard_difference,
)
from patcache.listing import Listing, column
from patcache.queries.comparison import Comparison, compare
from patcache.queries.question import Question
from patcache.queries.similarities import Block, about, blocks, pair_scorers, undefined_notes
from patcache.queries.wording import INDICATOR_NAMES, named

if TYPE_CHECKING:
    from patcache.records import DoubleArray, IntArray
    from patcache.store import StoreFolder

Of = Literal["similarity", "rci"]
By = Literal["model", "level"]
Edges = tuple[float, float]
Key = tuple[int, int | None]  # a model and a gold level; None: all levels

N_BINS = 40  # of a histogram of similarities
# Of RCIs from 0 to 1 and Kendall's from -1 to 1: as many values of 6 candidates in each bin.
VALUE_BINS = {"footrule": 10, "concordance": 8}
FINE = 1_024  # finer bins in each of them, for quantiles
INTERVAL = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class DistributionRow:
    """One model, or one of its gold levels. What cannot be said of so few values is None.

    kind: "cosine", "score" (of a scorer of pairs), "RCI" or "Kendall". skew: "left-skewed" (the
    long tail is on the low side: skewness below 0), "right-skewed", "about symmetric", "constant"
    or "too few". low, high: the central 95 % of the values. separation: how far the mean is above
    that of the next shallower level, in their pooled standard deviations (Cohen's d). histogram:
    values in each of equal bins from bins_from to bins_to.
    """

    model: str = column("model")
    level: int | None = column("level", fmt="d")
    kind: str = column("kind")
    n: int = column("n", fmt=",")
    n_undefined: int = column("undefined", fmt=",")
    mean: float | None = column("mean", fmt=".3f")
    deviation: float | None = column("sd", fmt=".3f")
    skewness: float | None = column("skewness", fmt="+.2f")
    skew: str = column("skew")
    lowest: float | None = column("lowest", fmt=".3f")
    low: float | None = column("from", fmt=".3f")
    high: float | None = column("to", fmt=".3f")
    highest: float | None = column("highest", fmt=".3f")
    separation: float | None = column("separation", fmt="+.2f")
    histogram: tuple[int, ...] = column("histogram")
    bins_from: float | None = column("bins from", fmt=".3f")
    bins_to: float | None = column("bins to", fmt=".3f")
    chance: float | None = column("chance", fmt=".3f", hidden=True)


def distribution(
    store: StoreFolder,
    question: Question | None = None,
    *,
    of: Of = "similarity",
    by: By = "model",
) -> Listing[DistributionRow]:
    """How the similarities of all pairs of target and candidate, or the RCIs of all tuples, lie.

    by: "level" gives a row for each gold level of the candidates, beside none for all of them.
    Undefined tuples are left out and counted. Errors: as for the leaderboard; Misused for
    levels of RCIs, which are of whole tuples.
    """
    question = question or Question()
    if of == "rci":
        if by == "level":
            raise Misused(
                "RCIs have no level", "an RCI is of a whole tuple", "ask for similarities by level"
            )
        return _of_values(compare(store, question))
    comparison = compare(store, question)
    found = _Similarities(store, comparison, by)
    rows = tuple(_row_of_key(comparison, found, key) for key in found.keys)
    what = "similarities of target and candidate" + (", by gold level" if by == "level" else "")
    notes = (*_notes(rows), *undefined_notes(comparison))
    return Listing(DistributionRow, rows, (f"{about(comparison)} · {what}",), notes)


class _Similarities:
    """Moments and fine counts of every model or level: two readings of the slice, flat memory."""

    def __init__(self, store: StoreFolder, comparison: Comparison, by: By) -> None:
        self._by = by
        subject, question = comparison.subject, comparison.question
        with store.read() as cursor:
            self.pairs = pair_scorers(cursor, subject)
            self.moments = self._moments(blocks(cursor, subject, question))
            self.edges = self._edges()
            self.fine = self._counts(blocks(cursor, subject, question))
        place = {model: i for i, model in enumerate(comparison.best_first)}
        without = {(model, None) for model in place} - {(model, None) for model, _ in self.moments}
        self.moments |= dict.fromkeys(without, Moments())
        self.keys = sorted(self.moments, key=lambda key: (place[key[0]], key[1] or 0))

    def _moments(self, pieces: Iterator[Block]) -> dict[Key, Moments]:
        found: dict[Key, Moments] = {}
        for key, values in self._values(pieces):
            found[key] = merged(found.get(key, Moments()), moments(values))
        return found

    def _edges(self) -> dict[int, Edges]:
        """The range of each model's bins: that of all cosines, or of the pair scorer's own."""
        whole: dict[int, Moments] = {}
        for (model, _), found in self.moments.items():
            whole[model] = merged(whole.get(model, Moments()), found)
        cosines = [found for model, found in whole.items() if model not in self.pairs]
        common = (
            min((found.lowest for found in cosines), default=0.0),
            max((found.highest for found in cosines), default=0.0),
        )
        return {
            model: (found.lowest, found.highest) if model in self.pairs else common
            for model, found in whole.items()
        }

    def _counts(self, pieces: Iterator[Block]) -> dict[Key, IntArray]:
        counts: dict[Key, IntArray] = {}
        for key, values in self._values(pieces):
            fine = bin_counts(values, self.edges[key[0]], N_BINS * FINE)
            counts[key] = counts[key] + fine if key in counts else fine
        return counts

    def _values(self, pieces: Iterator[Block]) -> Iterator[tuple[Key, DoubleArray]]:
        """The similarities of each piece, of all its candidates or of each level's."""
        for block in pieces:
            if self._by == "model":
                yield (block.model, None), block.similarities.ravel().astype(np.float64)
                continue
            levels = np.array(block.shape.levels)
            for level in dict.fromkeys(block.shape.levels):
                values = block.similarities[:, levels == level]
                yield (block.model, level), values.ravel().astype(np.float64)


def _row_of_key(comparison: Comparison, found: _Similarities, key: Key) -> DistributionRow:
    model, level = key
    edges = found.edges.get(model)
    fine = found.fine.get(key, np.zeros(N_BINS * FINE, dtype=np.int64))
    low, high = (None if edges is None else binned_quantile(fine, edges, at) for at in INTERVAL)
    return _row(
        comparison,
        key,
        found.moments[key],
        kind="score" if model in found.pairs else "cosine",
        interval=(low, high),
        separation=_separation(found.moments, model, level),
        histogram=fine.reshape(N_BINS, FINE).sum(axis=1),
        edges=edges,
        chance=None,
    )


def _of_values(comparison: Comparison) -> Listing[DistributionRow]:
    """The distribution of each model's RCIs (or Kendall's), from their counts."""
    counts, indicator = comparison.counts, comparison.question.indicator
    edges = (0.0, 1.0) if indicator == "footrule" else (-1.0, 1.0)
    rows = []
    for model in comparison.best_first:
        of_model = counts.shown_counts[0, model]
        order = np.argsort(counts.shown)
        of_model, values = of_model[order], counts.shown[order]
        low, high = (counted_quantile(of_model, values, at) for at in INTERVAL)
        row = _row(
            comparison,
            (model, None),
            moments(values, of_model),
            kind=INDICATOR_NAMES[indicator],
            interval=(low, high),
            separation=None,
            histogram=_histogram(of_model, values, edges, VALUE_BINS[indicator]),
            edges=edges,
            chance=float(counts.chance[0]),
        )
        rows.append(row)
    listed = tuple(rows)
    notes = (*_notes(listed), *undefined_notes(comparison))
    return Listing(DistributionRow, listed, (comparison.about,), notes)


def _histogram(counts: IntArray, values: DoubleArray, edges: Edges, n_bins: int) -> IntArray:
    """Counts of the values in equal bins; rounding never puts a value below the edge it is at."""
    found = np.zeros(n_bins, dtype=np.int64)
    for n, value in zip(counts.tolist(), values.tolist(), strict=True):
        at = (value - edges[0]) / (edges[1] - edges[0]) * n_bins
        found[min(int(round(at, 9)), n_bins - 1)] += n
    return found


def _row(
    comparison: Comparison,
    key: Key,
    found: Moments,
    *,
    kind: str,
    interval: tuple[float | None, float | None],
    separation: float | None,
    histogram: IntArray,
    edges: Edges | None,
    chance: float | None,
) -> DistributionRow:
    model, level = key
    return DistributionRow(
        model=comparison.labels[model],
        level=level,
        kind=kind,
        n=found.n,
        n_undefined=int(comparison.counts.n_undefined[:, model].sum()),
        mean=found.mean if found.n else None,
        deviation=found.deviation,
        skewness=found.skewness,
        skew=found.skew_words,
        lowest=found.lowest if found.n else None,
        low=interval[0],
        high=interval[1],
        highest=found.highest if found.n else None,
        separation=separation,
        histogram=tuple(histogram.tolist()),
        bins_from=edges[0] if edges else None,
        bins_to=edges[1] if edges else None,
        chance=chance,
    )


def _separation(found: Mapping[Key, Moments], model: int, level: int | None) -> float | None:
    """How far a level's mean is above that of the next shallower one; None for the first."""
    below = [of for key, of in found if key == model and of is not None and level and of < level]
    if level is None or not below:
        return None
    return standard_difference(found[model, level], found[model, max(below)])


def _notes(rows: tuple[DistributionRow, ...]) -> Iterator[str]:
    yield (
        "skewness: below 0 the long tail is on the low side (left-skewed); "
        f"nearer to 0 than {SYMMETRIC:g} is called about symmetric"
    )
    if any(row.separation is not None for row in rows):
        yield "separation: mean above that of the next shallower level, in pooled sd (Cohen's d)"
    scores = dict.fromkeys(row.model for row in rows if row.kind == "score")
    if scores:
        yield (f"scores, no cosines, on a scale and with bins of their own: {named(list(scores))}")
    few = dict.fromkeys(row.model for row in rows if row.skew in ("too few", "constant"))
    if few:
        yield f"constant, or too few values for a skewness: {named(list(few))}"
