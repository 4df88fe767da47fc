"""How fast models are: the texts of a few real tuples, encoded again in batches of several sizes.

Nothing is stored of it but the times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.process import devices_of
from patcache.errors import ModelRefused, NotThere, PatcacheError
from patcache.records import Bar, ModelRequest, Progress, Role, Runtime, Spec
from patcache.steps.loading import FIT_NAME, Loaded, find_model, load_model
from patcache.steps.sweeping import Failure
from patcache.store.jobs import running_job
from patcache.store.samples import chosen_tuples
from patcache.store.scores import sample_sizes
from patcache.store.specs import labelled_spec
from patcache.store.texts import texts_of
from patcache.store.timings import Timing, add_timings

if TYPE_CHECKING:
    from patcache.store import StoreFolder

BATCHES = (1, 2, 4, 8, 16, 32, 64)
N_TUPLES = 20
N_REPEATS = 3
NOT_TIMED = {"vectors": "its vectors were computed elsewhere"}
REMEMBERING = frozenset({"tfidf", "bm25", "lsa", "word2vec", "static"})  # words of texts
ONLY_NAMED = {"api": "it would be sent texts, which may cost money: name it with --models"}


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of one model, and of those that are cut from its vectors."""

    label: str
    timings: tuple[Timing, ...]
    is_pairs: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """A model that is not measured on purpose, and why."""

    label: str
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How to measure. batches: texts in a call; n_tuples: of the sample, spread evenly over it."""

    batches: tuple[int, ...] = BATCHES
    n_tuples: int = N_TUPLES
    n_repeats: int = N_REPEATS
    runtime: Runtime = field(default_factory=Runtime)

    def __post_init__(self) -> None:
        for value in (*self.batches, self.n_tuples, self.n_repeats):
            if value < 1:
                raise ValueError(f"{value}: batches, tuples and repeats are from 1")


def measure(
    store: StoreFolder,
    sample: str,
    labels: Sequence[str],
    plan: Plan,
    *,
    is_named: bool = False,
    bar: Bar,
) -> Iterator[Measured | Skipped | Failure]:
    """Loads model after model as embedding does, times it, and keeps the times.

    What cannot be loaded here is told, and the others go on. is_named: the models were asked for
    by name, so that one behind an API is sent the texts.
    Errors: NotThere for an unknown sample or label; PatcacheError for several devices at once.
    """
    if len(devices_of(plan.runtime)) > 1:
        raise PatcacheError("speed is measured on one device at a time", "", "--device cuda:0")
    with store.read() as cursor:
        stored = [labelled_spec(cursor, label) for label in labels]
    first: dict[str, Spec] = {}
    for spec in stored:
        first.setdefault(spec.vectors_id, spec)
    for spec in first.values():
        why = NOT_TIMED.get(spec.embedder) or (not is_named and ONLY_NAMED.get(spec.embedder))
        if why:
            yield Skipped(spec.label, why)
            continue
        try:
            with (
                bar(spec.label) as progress,
                running_job(store, "measure", spec.label, _unit(spec), progress) as advance,
            ):
                yield _measured(store, spec, sample, plan, advance)
        except PatcacheError as error:
            yield Failure(spec.label, error)


def _measured(
    store: StoreFolder, spec: Spec, sample: str, plan: Plan, progress: Progress
) -> Measured:
    texts = _tuple_texts(store, spec, sample, plan.n_tuples)
    batches = tuple(batch for batch in sorted(set(plan.batches)) if batch <= texts.n_items)
    if not batches:
        raise NotThere(
            f"{texts.n_items} {_unit(spec)} make no batch of {min(plan.batches)}",
            f"{texts.n_tuples} tuples of sample {sample} have no more",
            "take more --tuples, or a smaller --batch",
        )
    loaded = _load(store, spec, plan.runtime)
    try:
        times = _times(loaded.embedder, texts, batches, plan.n_repeats, progress)
        provenance = {**loaded.embedder.provenance, "sample": sample}
        device = loaded.embedder.device
    finally:
        loaded.close()
    timings = tuple(
        Timing(
            spec.vectors_id,
            device,
            batch,
            texts.n_items,
            texts.n_tuples,
            plan.n_repeats,
            median(times[batch]),
            max(times[batch]) - min(times[batch]),
            provenance,
        )
        for batch in batches
    )
    with store.write() as cursor:
        add_timings(cursor, timings)
    return Measured(spec.label, timings, spec.is_pairs)


def _times(
    model: Any, texts: _TupleTexts, batches: Sequence[int], n_repeats: int, progress: Progress
) -> dict[int, list[float]]:
    """Seconds of each repeat by batch; a repeat goes through all sizes, so that drift is shared."""
    encode = model.score if texts.spec.is_pairs else model.encode
    passes = tuple(batches) * n_repeats
    encode(*texts.calls(batches[-1], len(passes) + 1)[0])  # a warm-up
    times: dict[int, list[float]] = {batch: [] for batch in batches}
    for number, batch in enumerate(passes, start=1):
        calls = texts.calls(batch, number)
        start = time.perf_counter()
        for call in calls:
            encode(*call)
        times[batch].append(time.perf_counter() - start)
        progress(number * texts.n_items, len(passes) * texts.n_items)
    return times


@dataclass(frozen=True, slots=True)
class _TupleTexts:
    """Texts of tuples, prompts included: candidates[i] belong to targets[i]."""

    spec: Spec
    targets: tuple[str, ...]
    candidates: tuple[tuple[str, ...], ...]

    @property
    def n_tuples(self) -> int:
        return len(self.targets)

    @property
    def n_items(self) -> int:
        """Texts to encode, or pairs to score."""
        n_candidates = sum(map(len, self.candidates))
        return n_candidates if self.spec.is_pairs else self.n_tuples + n_candidates

    def calls(self, batch: int, number: int) -> list[tuple[Any, ...]]:
        """What is handed over in each call: texts and their role, or both texts of pairs.

        number: of the pass. A model that remembers the words of a text gets other spaces at its
        end each time, so that it segments it as it would a new one.
        """
        end = " " * number if self.spec.embedder in REMEMBERING else ""
        several = list(zip(self.targets, self.candidates, strict=True))
        if self.spec.is_pairs:
            pairs = [(target + end, text + end) for target, texts in several for text in texts]
            return [tuple(map(list, zip(*some, strict=True))) for some in _cut(pairs, batch)]
        parts: dict[Role, list[str]] = {"query": [], "document": []}
        is_one_role = self.spec.prompt("query") == self.spec.prompt("document")
        for target, candidates in several:
            parts["document" if is_one_role else "query"].append(target + end)
            parts["document"].extend(text + end for text in candidates)
        return [(some, role) for role, texts in parts.items() for some in _cut(texts, batch)]


def _cut(items: list[Any], size: int) -> list[list[Any]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _tuple_texts(store: StoreFolder, spec: Spec, sample: str, n_tuples: int) -> _TupleTexts:
    """Tuples spread evenly over the sample, but those with an empty text.

    Errors: NotThere where no tuple is left.
    """
    with store.read() as cursor:
        (size,) = sample_sizes(cursor, [sample])
        ids = np.unique(np.linspace(0, max(0, size.n_tuples - 1), n_tuples).astype(np.int64))
        tuples = chosen_tuples(cursor, size.sample_id, ids.tolist())
        patents = np.unique([i for target, others in tuples for i in (target, *others)])
        texts = texts_of(cursor, spec.text_view, patents.astype(np.int32))
    text_of = dict(zip(patents.tolist(), texts, strict=True))
    whole = [(t, others) for t, others in tuples if all(text_of[i] for i in (t, *others))]
    if not whole:
        raise NotThere(
            f"no tuple of sample {sample} has all its texts for {spec.label}",
            f"it reads {spec.text_view.name}",
            "take more --tuples, or another sample",
        )
    query, document = spec.prompt("query"), spec.prompt("document")
    return _TupleTexts(
        spec,
        tuple(query + text_of[target] for target, _ in whole),
        tuple(tuple(document + text_of[i] for i in others) for _, others in whole),
    )


def _load(store: StoreFolder, spec: Spec, runtime: Runtime) -> Loaded:
    """The model of stored vectors, with the fit it was made with.

    Errors: ModelRefused where it cannot be loaded, or is another one by now.
    """
    model = find_model(store, ModelRequest(spec.label), None, refit=False)
    folder = store.vectors_path / spec.vectors_id
    if model.resolved is not None and model.resolved.is_fitted and not (folder / FIT_NAME).exists():
        raise ModelRefused(
            f"{spec.label} cannot be loaded",
            f"what it learnt is gone from vectors/{folder.name}",
            "restore a copy of that folder",
        )
    loaded = load_model(store, model, runtime, np.empty(0, np.int32), refit=False)
    if loaded.spec.spec_id == spec.vectors_id:
        return loaded
    loaded.close()
    raise ModelRefused(
        f"{spec.label} is another model by now",
        f"its vectors are of spec {spec.vectors_id}, what loads is {loaded.spec.spec_id}",
        "its weights or files were changed since",
    )


def _unit(spec: Spec) -> str:
    return "pairs" if spec.is_pairs else "texts"
