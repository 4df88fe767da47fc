"""Every draw of a sweep with the means of its models: what robustness is made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import NotThere
from patcache.kernels.kendall_w import ranks_of
from patcache.queries.comparison import EQUAL_DIGITS
from patcache.queries.counts import IN_SLICE, ModelCounts, model_counts, shapes
from patcache.queries.intervals import means_of_models
from patcache.queries.question import Question, Subject, subject_of
from patcache.queries.wording import slice_words
from patcache.steps.sweeps import Draw, Sweep

if TYPE_CHECKING:
    import duckdb

    from patcache.records import BoolArray, DoubleArray, IntArray
    from patcache.store import StoreFolder

SCORED = """
SELECT s.sample_id, p.label FROM data.scores s JOIN data.specs p USING (spec_id)
WHERE s.scoring_id = $scoring AND list_contains($samples, s.sample_id)
ORDER BY s.sample_id, p.label"""
# A target of n draws is shared by n (n - 1) ordered pairs of them.
SHARED_TARGETS = f"""
SELECT coalesce(sum(n * (n - 1)), 0)::BIGINT, coalesce(sum(n), 0)::BIGINT
FROM (SELECT t.target, count(DISTINCT t.sample_id) AS n FROM data.tuples t
      WHERE list_contains($samples, t.sample_id) AND {IN_SLICE.format("t")} GROUP BY t.target)"""


@dataclass(frozen=True, slots=True)
class Draws:
    """What D draws of a sweep say of M models, best first.

    Shapes: mean, low, high (D, M), NaN where a model has no defined tuple in a draw or is not
    scored there; n, n_undefined (D, M); n_tuples, chance (D,); ranks (D, C) of the C `ranked`
    models, those with a mean in every draw. left_out: draws without any scored model, or any tuple
    in the slice.
    shared: probability that a target of one draw is one of another; None with a single draw.
    """

    question: Question
    sweep: Sweep
    draws: tuple[Draw, ...]
    labels: tuple[str, ...]
    mean: DoubleArray
    low: DoubleArray
    high: DoubleArray
    n: IntArray
    n_undefined: IntArray
    n_tuples: IntArray
    chance: DoubleArray
    ranked: IntArray
    ranks: DoubleArray
    left_out: tuple[str, ...]
    shared: float | None

    @property
    def above_chance(self) -> DoubleArray:
        """Mean minus the level of chance, which depends on the size of the tuples (D, M)."""
        above: DoubleArray = self.mean - self.chance[:, None]
        return above

    @property
    def is_scored(self) -> BoolArray:
        """Where a model has a mean (D, M)."""
        return ~np.isnan(self.mean)

    def rank(self, draw: int, model: int) -> float | None:
        """A model's rank in a draw; None where it is not ranked."""
        place = np.flatnonzero(self.ranked == model)
        return float(self.ranks[draw, place[0]]) if len(place) else None


def find_draws(store: StoreFolder, question: Question, sweep: Sweep) -> Draws:
    """The drawn and scored samples of a sweep, in one slice.

    Errors: NotThere where there is none, or a model named is scored in none of them.
    """
    with store.read() as cursor:
        scored = _scored(cursor, question, sweep)
        labels = _labels(question, scored, sweep)
        found = {
            draw: counted
            for draw in sweep.drawn
            if set(labels) & set(scored[draw.name])
            and (counted := _counts(cursor, question, draw, labels, scored[draw.name]))
        }
        if not found:
            raise NotThere(
                f"no draw of sample {sweep.base} has tuples in this slice",
                slice_words(question),
                "widen --years or --sections",
            )
        shared = _shared(cursor, question, list(found))
    left_out = tuple(draw.name for draw in sweep.drawn if draw not in found)
    return _arranged(question, sweep, labels, found, left_out, shared)


def _scored(
    cursor: duckdb.DuckDBPyConnection, question: Question, sweep: Sweep
) -> dict[str, list[str]]:
    """The models scored for each draw. Errors: NotThere where no draw has any."""
    names = {draw.sample_id: draw.name for draw in sweep.drawn}
    asked = {"scoring": question.scoring_id, "samples": list(names)}
    found: dict[str, list[str]] = {name: [] for name in names.values()}
    for sample_id, label in cursor.execute(SCORED, asked).fetchall():
        found[names[sample_id]].append(label)
    if not any(found.values()):
        raise NotThere(
            f"no draw of sample {sweep.base} is scored",
            f"drawn: {', '.join(found) or 'none of those asked for'}",
            f"run `patcache add MODEL`, then `patcache robustness {sweep.base} --seeds 1-5`",
        )
    return found


def _labels(question: Question, scored: dict[str, list[str]], sweep: Sweep) -> list[str]:
    known = sorted({label for labels in scored.values() for label in labels})
    asked = list(question.models or known)
    if missing := [label for label in asked if label not in known]:
        raise NotThere(
            f"no draw of sample {sweep.base} is scored for {', '.join(missing)}",
            f"scored: {', '.join(known)}",
            f"run `patcache add {' '.join(missing)}`",
        )
    return asked


@dataclass(frozen=True, slots=True)
class _Counted:
    subject: Subject
    counts: ModelCounts


def _counts(
    cursor: duckdb.DuckDBPyConnection,
    question: Question,
    draw: Draw,
    labels: list[str],
    scored: list[str],
) -> _Counted | None:
    """The counts of one draw; None where it has no tuple in the slice."""
    models = tuple(label for label in labels if label in scored)
    asked = replace(question, sample=draw.name, models=models)
    subject = subject_of(cursor, asked)
    try:
        return _Counted(subject, model_counts(cursor, subject, asked, shapes(cursor)))
    except NotThere:
        return None


def _shared(
    cursor: duckdb.DuckDBPyConnection, question: Question, draws: list[Draw]
) -> float | None:
    if len(draws) < 2:
        return None
    asked = {
        "samples": [draw.sample_id for draw in draws],
        "years": None if question.years is None else list(question.years),
        "sections": None if question.sections is None else list(question.sections),
    }
    pairs, targets = cursor.execute(SHARED_TARGETS, asked).fetchall()[0]
    return float(pairs / (targets * (len(draws) - 1))) if targets else None


def _arranged(
    question: Question,
    sweep: Sweep,
    labels: list[str],
    found: dict[Draw, _Counted],
    left_out: tuple[str, ...],
    shared: float | None,
) -> Draws:
    shape = (len(found), len(labels))
    mean, low, high = (np.full(shape, np.nan) for _ in range(3))
    n, n_undefined = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for d, each in enumerate(found.values()):
        size = means_of_models(each.subject, each.counts, question)
        for i, model in enumerate(each.subject.models):
            m = labels.index(model.label)
            n[d, m] = each.counts.n_defined[0, i]
            n_undefined[d, m] = each.counts.n_undefined[0, i]
            mean[d, m] = size.mean[0, i]
            low[d, m], high[d, m] = size.low[0, i], size.high[0, i]
    chance = np.array([each.counts.chance[0] for each in found.values()])
    order = _best_first(mean - chance[:, None], labels)
    mean, low, high = mean[:, order], low[:, order], high[:, order]
    ranked = np.flatnonzero(~np.isnan(mean).any(axis=0))
    return Draws(
        question,
        sweep,
        tuple(found),
        tuple(labels[i] for i in order),
        mean,
        low,
        high,
        n[:, order],
        n_undefined[:, order],
        np.array([int(each.counts.n_tuples.max()) for each in found.values()]),
        chance,
        ranked,
        ranks_of(mean[:, ranked].round(EQUAL_DIGITS)),
        left_out,
        shared,
    )


def _best_first(above: DoubleArray, labels: list[str]) -> list[int]:
    """Models in every draw by their mean over the draws, then the others; equal ones by name."""
    is_there: BoolArray = ~np.isnan(above)
    total = np.where(is_there, above, 0).sum(axis=0) / np.maximum(1, is_there.sum(axis=0))
    rounded = np.where(is_there.any(axis=0), total.round(EQUAL_DIGITS), -np.inf)
    whole = is_there.sum(axis=0) == len(above)
    return sorted(range(len(labels)), key=lambda i: (not whole[i], -rounded[i], labels[i]))
