"""Would another draw say the same, and does the size of tuples matter?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.kendall_w import N_RESAMPLES as N_ORDERS
from patcache.kernels.kendall_w import concordance
from patcache.listing import Listing, column
from patcache.queries.draws import Draws, find_draws
from patcache.queries.question import Question
from patcache.queries.wording import indicator_words, interval_words, named, slice_words, year_spans
from patcache.steps.sweeps import Vary, find_sweep

if TYPE_CHECKING:
    from patcache.records import DoubleArray
    from patcache.store import StoreFolder

SEED = 1  # of the permutations
VALUE_WORDS: dict[Vary, str] = {"seed": "seed", "candidates": "m"}
RANKED, NOT_EVERYWHERE, UNDEFINED = "ranked", "not in every draw", "no defined tuple"


@dataclass(frozen=True, slots=True)
class RobustnessRow:
    """One model over the draws of a sweep; None where there is no number.

    n_draws: those with a mean of it. mean: of those means; above_chance: of each minus the level
    of chance of its draw. deviation, variance: between draws (n - 1), from two on. Ranks are among
    the models with a mean in every draw, 1 is best, equal means share a rank; n_first: draws in
    which none of them has a higher mean. outcome: "ranked", "not in every draw" or "no defined
    tuple".
    """

    model: str = column("model")
    n_draws: int = column("draws")
    mean: float | None = column("mean", fmt=".3f")
    above_chance: float | None = column("above chance", fmt=".3f")
    deviation: float | None = column("sd", fmt=".4f")
    variance: float | None = column("variance", fmt=".1e")
    lowest: float | None = column("lowest", fmt=".3f")
    highest: float | None = column("highest", fmt=".3f")
    mean_rank: float | None = column("mean rank", fmt=".3g")
    best_rank: float | None = column("best", fmt="g")
    worst_rank: float | None = column("worst", fmt="g")
    n_first: int | None = column("first")
    outcome: str = column("outcome", hidden=True)
    vary: str = column("vary", hidden=True)
    indicator: str = column("indicator", hidden=True)


@dataclass(frozen=True, slots=True)
class DrawRow:
    """One model in one draw; mean, low and high (its 95 % interval) are None without any tuple.

    seed, m: of the sample, m candidates a tuple. rank: as of RobustnessRow.
    """

    sample: str = column("sample")
    seed: int = column("seed", fmt="d")
    m: int = column("m")
    model: str = column("model")
    n: int = column("n", fmt=",")
    n_undefined: int = column("undefined", fmt=",")
    mean: float | None = column("mean", fmt=".3f")
    low: float | None = column("from", fmt=".3f")
    high: float | None = column("to", fmt=".3f")
    chance: float = column("chance", fmt=".3f")
    above_chance: float | None = column("above chance", fmt=".3f")
    rank: float | None = column("rank", fmt="g")
    vary: str = column("vary", hidden=True)
    indicator: str = column("indicator", hidden=True)


def robustness(
    store: StoreFolder,
    question: Question | None = None,
    vary: Vary = "seed",
    values: Sequence[int] | None = None,
) -> Listing[RobustnessRow]:
    """Each model over the draws of a sample by seed or by candidates a tuple, best first.

    question.sample: the base, whose stored parameters say which samples are its draws. values: of
    the seed or the number of candidates; None: all that were drawn. No test is made.
    Errors: NotThere for a sample, model, slice or sweep that is not there; SampleRefused for an
    imported sample; PatcacheError where no sample is named and there are several.
    """
    draws = _asked(store, question, vary, values)
    rows = tuple(_row(draws, model) for model in range(len(draws.labels)))
    return Listing(RobustnessRow, rows, (_caption(draws),), _notes(draws))


def robustness_draws(
    store: StoreFolder,
    question: Question | None = None,
    vary: Vary = "seed",
    values: Sequence[int] | None = None,
) -> Listing[DrawRow]:
    """Each model in each draw of a sweep, draw after draw, models from best to worst overall.

    Arguments and errors: as of robustness.
    """
    found = _asked(store, question, vary, values)
    rows = tuple(
        _draw_row(found, draw, model)
        for draw in range(len(found.draws))
        for model in range(len(found.labels))
        if found.n[draw, model] + found.n_undefined[draw, model]
    )
    return Listing(DrawRow, rows, (_caption(found),), _notes(found))


def _asked(
    store: StoreFolder, question: Question | None, vary: Vary, values: Sequence[int] | None
) -> Draws:
    question = question or Question()
    return find_draws(store, question, find_sweep(store, question.sample, vary, values))


def _row(draws: Draws, model: int) -> RobustnessRow:
    is_there = draws.is_scored[:, model]
    mean = draws.mean[is_there, model]
    place = np.flatnonzero(draws.ranked == model)
    ranks = draws.ranks[:, place[0]] if len(place) else None
    first = draws.ranks.min(axis=1, initial=np.inf)
    variance = float(mean.var(ddof=1)) if len(mean) > 1 else None
    return RobustnessRow(
        model=draws.labels[model],
        n_draws=len(mean),
        mean=float(mean.mean()) if len(mean) else None,
        above_chance=float(draws.above_chance[is_there, model].mean()) if len(mean) else None,
        deviation=None if variance is None else variance**0.5,
        variance=variance,
        lowest=float(mean.min()) if len(mean) else None,
        highest=float(mean.max()) if len(mean) else None,
        mean_rank=None if ranks is None else float(ranks.mean()),
        best_rank=None if ranks is None else float(ranks.min()),
        worst_rank=None if ranks is None else float(ranks.max()),
        n_first=None if ranks is None else int(np.count_nonzero(ranks == first)),
        outcome=RANKED if ranks is not None else NOT_EVERYWHERE if len(mean) else UNDEFINED,
        vary=draws.sweep.vary,
        indicator=draws.question.indicator,
    )


def _draw_row(draws: Draws, draw: int, model: int) -> DrawRow:
    one = draws.draws[draw]

    def number(values: DoubleArray) -> float | None:
        return None if np.isnan(values[draw, model]) else float(values[draw, model])

    return DrawRow(
        sample=one.name,
        seed=one.parameters.seed,
        m=one.parameters.shape.n_candidates,
        model=draws.labels[model],
        n=int(draws.n[draw, model]),
        n_undefined=int(draws.n_undefined[draw, model]),
        mean=number(draws.mean),
        low=number(draws.low),
        high=number(draws.high),
        chance=float(draws.chance[draw]),
        above_chance=number(draws.above_chance),
        rank=draws.rank(draw, model),
        vary=draws.sweep.vary,
        indicator=draws.question.indicator,
    )


def _caption(draws: Draws) -> str:
    """What this is of: the base, its draws, tuples, slice and indicator."""
    low, high = int(draws.n_tuples.min()), int(draws.n_tuples.max())
    values = year_spans([draw.value for draw in draws.draws])
    n_draws = len(draws.draws)
    of = f"sample {draws.sweep.base}, {n_draws} draw{'s' * (n_draws != 1)}"
    words = (
        f"{of} ({VALUE_WORDS[draws.sweep.vary]} {values})",
        f"{low:,} tuples" if low == high else f"{low:,}-{high:,} tuples",
        slice_words(draws.question),
        indicator_words(draws.question, draws.chance.tolist()),
    )
    return " · ".join(words)


def _notes(draws: Draws) -> tuple[str, ...]:
    return (
        *_agreement(draws),
        *_shared(draws),
        *_sizes(draws),
        *_incomplete(draws),
        *_corpora(draws),
        interval_words(draws.question),
    )


def _agreement(draws: Draws) -> list[str]:
    n_draws, n_models = draws.ranks.shape
    found = concordance(draws.ranks, np.random.default_rng(SEED))
    if found is None:
        if n_draws < 2:
            return ["Kendall's W: too few draws, rankings are compared from two on"]
        if n_models < 2:
            return ["Kendall's W: too few models with a mean in every draw, a ranking has two"]
        return ["Kendall's W: no ranking, all models are equal in every draw"]
    p = "p < 0.001" if found.pvalue < 0.001 else f"p {found.pvalue:.3f}"
    orders = "exact" if found.is_exact else f"{N_ORDERS:,} orders, seed {SEED}"
    return [
        f"Kendall's W {found.w:.3f} over {n_draws} draws of {n_models} models "
        "(1: one ranking in all draws, 0: no agreement)",
        f"{p} that random rankings agree so well (permutation, {orders}), were draws independent",
    ]


def _shared(draws: Draws) -> list[str]:
    if draws.shared is None:
        return []
    is_one_corpus = len({draw.corpus_digest for draw in draws.draws}) == 1
    of = "all are of one corpus" if is_one_corpus else "all are of one store"
    return [
        f"two draws have {draws.shared:.0%} of their targets in common, and {of}: "
        "they are not independent"
    ]


def _sizes(draws: Draws) -> list[str]:
    """What changes with m besides m."""
    if draws.sweep.vary != "candidates" or len(draws.draws) < 2:
        return []
    first, last = draws.draws[0], draws.draws[-1]
    notes = []
    if draws.question.indicator == "footrule":
        notes.append(
            f"chance depends on m ({draws.chance[0]:.3f} at m {first.value}, "
            f"{draws.chance[-1]:.3f} at m {last.value}): compare what is above it"
        )
    if draws.n_tuples.min() != draws.n_tuples.max():
        notes.append(
            f"tuples {draws.n_tuples[0]:,} at m {first.value}, {draws.n_tuples[-1]:,} at m "
            f"{last.value}: larger ones need more candidates at a level, which fewer patents have"
        )
    return notes


def _incomplete(draws: Draws) -> list[str]:
    notes = ["common tuples only, of each draw"] if draws.question.is_common else []
    if n_undefined := int(draws.n_undefined.sum()):
        notes.append(f"undefined tuples {n_undefined:,}: models of a draw differ in their tuples")
    total = len(draws.draws)
    partly = [
        f"{label} {n}"
        for label, n in zip(draws.labels, draws.is_scored.sum(axis=0).tolist(), strict=True)
        if n < total
    ]
    if partly:
        notes.append(f"not in all {total} draws, and so not ranked: {named(partly)}")
    if draws.left_out:
        notes.append(f"drawn, but not scored or without a tuple here: {named(draws.left_out)}")
    if draws.sweep.missing:
        values = year_spans([draw.value for draw in draws.sweep.missing])
        notes.append(f"not drawn: {VALUE_WORDS[draws.sweep.vary]} {values}")
    return notes


def _corpora(draws: Draws) -> list[str]:
    """Draws made before or after the corpus changed differ in more than the seed."""
    digests = {draw.corpus_digest for draw in draws.draws}
    if len(digests) < 2:
        return []
    by_name = {draw.name: draw.corpus_digest for draw in draws.draws}
    base = by_name.get(draws.sweep.base, draws.draws[0].corpus_digest)
    others = [name for name, digest in by_name.items() if digest != base]
    return [f"drawn from another state of the corpus, which changes tuples too: {named(others)}"]
