"""What a model costs and what one gets for it: seconds a text against RCI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from patcache.errors import NotThere
from patcache.kernels.pareto import pareto_front
from patcache.listing import Listing, column
from patcache.queries.comparison import EQUAL_DIGITS
from patcache.queries.question import Question
from patcache.queries.timed_models import TimedModels, timed_models
from patcache.queries.wording import interval_words, named
from patcache.steps.measuring import NOT_TIMED, REMEMBERING

if TYPE_CHECKING:
    from patcache.records import Spec
    from patcache.store import StoreFolder
    from patcache.store.timings import Timing

Times = Literal["embedding", "measured"]
TIMES: tuple[Times, ...] = ("embedding", "measured")
MUCH = 0.5  # of the median, between repeats
ON_FRONT, BEHIND = "on the front", "another is as fast and as good"
NO_TIME, NO_MEAN = "no time", "no defined tuple"


@dataclass(frozen=True, slots=True)
class EfficiencyRow:
    """One model on one device; device and times are None where none is known.

    dim: None for a scorer of pairs, whose s_per_text and texts_per_s are of a pair. batch: texts
    in a call, as measured; batch_tokens: what a network makes of them, where it says so.
    s_per_tuple: a target and its candidates, none of them stored. mean, low, high: of the
    indicator, with a 95 % interval. vector_bytes: of one vector, as stored. n_timed: texts (pairs)
    that were timed. is_front: no other row is as fast a tuple and as good, and better in one.
    outcome: "on the front", "another is as fast and as good", "no time" or "no defined tuple".
    """

    model: str = column("model")
    dim: int | None = column("dim")
    device: str | None = column("device")
    batch: int | None = column("batch")
    batch_tokens: int | None = column("tokens", hidden=True)
    s_per_text: float | None = column("s/text", fmt=".2g")
    s_per_tuple: float | None = column("s/tuple", fmt=".2g")
    texts_per_s: float | None = column("texts/s", fmt="rate")
    vector_bytes: float | None = column("vector", fmt="bytes")
    mean: float | None = column("mean", fmt=".3f")
    low: float | None = column("from", fmt=".3f")
    high: float | None = column("to", fmt=".3f")
    is_front: bool = column("front")
    outcome: str = column("outcome", hidden=True)
    n_timed: int | None = column("timed", hidden=True)
    times: str = column("times", hidden=True)
    unit: str = column("unit", hidden=True)
    chance: float = column("chance", hidden=True)
    indicator: str = column("indicator", hidden=True)
    spec_id: str = column("spec", hidden=True)


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One model's speed at one number of texts (unit: or pairs) in a call, as measured.

    spread: slowest minus fastest repeat, as a share of their median.
    """

    model: str = column("model")
    device: str = column("device")
    batch: int = column("batch")
    s_per_text: float = column("s/text", fmt=".2g")
    s_per_tuple: float = column("s/tuple", fmt=".2g")
    texts_per_s: float = column("texts/s", fmt="rate")
    spread: float = column("spread", fmt=".0%")
    n_texts: int = column("texts")
    n_tuples: int = column("tuples")
    n_repeats: int = column("repeats")
    unit: str = column("of")
    batch_tokens: int | None = column("tokens", hidden=True)
    spec_id: str = column("spec", hidden=True)


def efficiency(
    store: StoreFolder, question: Question | None = None, times: Times = "embedding"
) -> Listing[EfficiencyRow]:
    """What each model costs and what its mean RCI is, best first; a row for each device.

    times: as embedding recorded them, or of the fastest batch that was measured. No test is made.
    Errors: NotThere for a sample, model or slice that is not there; PatcacheError where no sample
    is named and there are several; ValueError for times that are none.
    """
    if times not in TIMES:
        raise ValueError(f"{times!r} is none of {', '.join(TIMES)}")
    found = timed_models(store, question or Question())
    drafts = [row for model in found.best_first for row in _rows(found, model, times)]
    cost = np.array([row["s_per_tuple"] for row in drafts], dtype=np.float64)
    value = np.array([row["mean"] for row in drafts], dtype=np.float64)
    front = pareto_front(cost, value.round(EQUAL_DIGITS))
    rows = tuple(
        EfficiencyRow(**row, is_front=is_front, outcome=_outcome(row, is_front))
        for row, is_front in zip(drafts, front.tolist(), strict=True)
    )
    return Listing(EfficiencyRow, rows, (found.about,), _notes(found, rows, times))


def batches(store: StoreFolder, question: Question | None = None) -> Listing[BatchRow]:
    """The measured speed of each model at each number of texts in a call, best model first.

    Errors: as of efficiency; PatcacheError where nothing was measured.
    """
    found = timed_models(store, question or Question())
    rows = tuple(
        _batch_row(found, model, timing)
        for model in found.best_first
        for timing in found.timings.get(found.specs[model].vectors_id, ())
    )
    if not rows:
        raise NotThere(
            "no speed was measured yet of these models",
            "times of embedding are of whole runs, not by batch",
            "run `patcache efficiency --measure`",
        )
    unmeasured = [
        found.specs[model].label
        for model in found.best_first
        if found.specs[model].vectors_id not in found.timings
    ]
    notes = (
        *([f"not measured: {named(unmeasured)}"] if unmeasured else ()),
        "batch: texts handed over in one call; a network cuts them by tokens as embedding does",
        *_unit_notes([row.unit for row in rows]),
        *_busy_note([row.spread for row in rows]),
    )
    return Listing(BatchRow, rows, (f"sample {found.subject.sample} · median of repeats",), notes)


def _rows(found: TimedModels, model: int, times: Times) -> Iterator[dict[str, Any]]:
    """The rows of one model, without what depends on all of them."""
    spec = found.specs[model]
    mean, low, high = (
        None if np.isnan(values[0, model]) else float(values[0, model])
        for values in (found.means.mean, found.means.low, found.means.high)
    )
    common = {
        "model": spec.label,
        "dim": None if spec.is_pairs else spec.dim,
        "vector_bytes": found.vector_bytes[model],
        "mean": mean,
        "low": low,
        "high": high,
        "times": times,
        "unit": "pairs" if spec.is_pairs else "texts",
        "chance": found.chance,
        "indicator": found.question.indicator,
        "spec_id": spec.spec_id,
    }
    timed = _measured(found, spec) if times == "measured" else _embedded(found, spec)
    for each in timed or [_UNTIMED]:
        yield {**common, **each}


_UNTIMED: dict[str, Any] = dict.fromkeys(
    ("device", "batch", "batch_tokens", "s_per_text", "s_per_tuple", "texts_per_s", "n_timed")
)


def _embedded(found: TimedModels, spec: Spec) -> list[dict[str, Any]]:
    """Times of a spec by device, over all it ever encoded there."""
    n_items = found.n_candidates + (not spec.is_pairs)
    rows = []
    for run in found.encoded.get(spec.vectors_id, ()):
        is_timed = run.elapsed_s > 0 and run.n_texts > 0 and spec.embedder not in NOT_TIMED
        s_per_text = run.elapsed_s / run.n_texts if is_timed else None
        rows.append(
            {
                "device": run.device,
                "batch": None,
                "batch_tokens": run.batch_tokens,
                "s_per_text": s_per_text,
                "s_per_tuple": None if s_per_text is None else s_per_text * n_items,
                "texts_per_s": None if s_per_text is None else 1 / s_per_text,
                "n_timed": run.n_texts if is_timed else None,
            }
        )
    return rows


def _measured(found: TimedModels, spec: Spec) -> list[dict[str, Any]]:
    """The fastest batch of a spec on each device."""
    fastest: dict[str, Timing] = {}
    for timing in found.timings.get(spec.vectors_id, ()):
        best = fastest.setdefault(timing.device, timing)
        if timing.s_per_text < best.s_per_text:
            fastest[timing.device] = timing
    return [
        {
            "device": timing.device,
            "batch": timing.batch,
            "batch_tokens": timing.provenance.get("batch_tokens"),
            "s_per_text": timing.s_per_text,
            "s_per_tuple": timing.s_per_tuple,
            "texts_per_s": 1 / timing.s_per_text,
            "n_timed": timing.n_texts,
        }
        for timing in fastest.values()
    ]


def _batch_row(found: TimedModels, model: int, timing: Timing) -> BatchRow:
    spec = found.specs[model]
    return BatchRow(
        model=spec.label,
        device=timing.device,
        batch=timing.batch,
        s_per_text=timing.s_per_text,
        s_per_tuple=timing.s_per_tuple,
        texts_per_s=1 / timing.s_per_text,
        spread=timing.spread_s / timing.median_s,
        n_texts=timing.n_texts,
        n_tuples=timing.n_tuples,
        n_repeats=timing.n_repeats,
        unit="pairs" if spec.is_pairs else "texts",
        batch_tokens=timing.provenance.get("batch_tokens"),
        spec_id=spec.spec_id,
    )


def _outcome(row: dict[str, Any], is_front: bool) -> str:
    if row["mean"] is None:
        return NO_MEAN
    if row["s_per_text"] is None:
        return NO_TIME
    return ON_FRONT if is_front else BEHIND


def _notes(found: TimedModels, rows: Sequence[EfficiencyRow], times: Times) -> tuple[str, ...]:
    untimed = [row.model for row in rows if row.outcome == NO_TIME]
    devices = sorted({row.device for row in rows if row.device is not None})
    how = "; patcache efficiency --measure" if times == "measured" else ""
    what = {
        "embedding": "times of embedding: all texts so far, encoding alone, without loading",
        "measured": "times measured: the fastest batch, encoding alone, without loading",
    }
    return (
        what[times],
        "front: no other is as fast a tuple and as good, and better in one; intervals may overlap",
        *([f"no time: {named(untimed)}{how}"] if untimed else ()),
        *([f"several devices, a row each: {named(devices)}"] if len(devices) > 1 else ()),
        *_unit_notes([row.unit for row in rows]),
        *_fitted_note(found),
        *_words_note(found, times),
        interval_words(found.question),
    )


def _unit_notes(units: Sequence[str]) -> list[str]:
    if "pairs" not in units:
        return []
    return ["scorers of pairs have no vectors: their s/text is of a pair of target and candidate"]


def _fitted_note(found: TimedModels) -> list[str]:
    fitted = [spec.label for spec in found.specs if "fit" in spec.identity]
    return [f"without fitting on the corpus: {named(fitted)}"] if fitted else []


def _busy_note(spreads: Sequence[float]) -> list[str]:
    """That times are uncertain, where repeats of one speed differ much."""
    if max(spreads) <= MUCH:
        return []
    return [f"repeats differ by up to {max(spreads):.0%} of their median: a busy machine"]


def _words_note(found: TimedModels, times: Times) -> list[str]:
    """Words of texts are remembered by the store, but not while speed is measured."""
    if times != "embedding" or sum(spec.embedder in REMEMBERING for spec in found.specs) < 2:
        return []
    return ["word models share the words of texts, which the first paid for; --measure: each pays"]
