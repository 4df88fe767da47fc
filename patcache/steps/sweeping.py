"""What the draws of a sweep lack: samples, vectors of their new texts, scores; and no more."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import PatcacheError
from patcache.kernels import footrule
from patcache.records import Bar, ModelRequest, Runtime, Spec
from patcache.steps.embedding import EmbedReport, embed, embed_each
from patcache.steps.needed import Scope, find_scopes
from patcache.steps.rows import spec_rows
from patcache.steps.sampling import SampleReport, draw_sample
from patcache.steps.scoring import ScoreReport, score
from patcache.steps.sharing import find_sharers
from patcache.steps.sweeps import Sweep
from patcache.steps.work import find_needed
from patcache.store.specs import mark_embedded, n_embedded, specs
from patcache.vectors.keys import first_of_each

if TYPE_CHECKING:
    from patcache.records import KeyArray
    from patcache.store import StoreFolder
    from patcache.vectors.rows import AnyRows


@dataclass(frozen=True, slots=True)
class NewTexts:
    """How many texts (or pairs of them) of the samples a model has no vector of yet.

    None: not known before it is made, because the store has nothing of it.
    """

    label: str
    n_new: int | None
    unit: str = "texts"


@dataclass(frozen=True, slots=True)
class Failure:
    """A sample or a model that could not be done; the others were."""

    subject: str
    error: PatcacheError


Report = SampleReport | NewTexts | EmbedReport | list[ScoreReport] | Failure


def fill_sweeps(
    store: StoreFolder,
    sweeps: Sequence[Sweep],
    models: Sequence[ModelRequest],
    *,
    tie_tolerance: float = footrule.DEFAULT_TIE_TOLERANCE,
    runtime: Runtime | None = None,
    bar: Bar,
) -> Iterator[Report]:
    """Draws, embeds and scores what the draws lack; each report as it comes, failures as well.

    Before a text is encoded, each model says how many are new to it. Interrupted or killed, the
    same call goes on where it stopped. What fails of one model or draw is told, and the others go
    on.
    """
    names = yield from _drawn(store, sweeps, bar)
    if not names:
        return
    labels, lacking = yield from _counted(store, models, names)
    for embedded in _embedded(store, lacking, names, runtime or Runtime(), bar):
        yield embedded
        if isinstance(embedded, EmbedReport):
            labels.append(embedded.label)
    yield from _scored(store, list(dict.fromkeys(labels)), names, tie_tolerance, bar)


def new_texts(store: StoreFolder, request: ModelRequest, samples: Sequence[str]) -> NewTexts:
    """How many texts of the samples a model lacks; nothing is loaded or encoded.

    Where that is none the store notes so, and the next call looks nothing up.
    Errors: VectorsDamaged.
    """
    spec = _stored(store, request)
    if spec is None:
        return NewTexts(request.label or request.name, None)
    rows = spec_rows(store, spec)
    unit = "pairs" if spec.is_pairs else "texts"
    lacking: list[KeyArray] = [np.empty((0, 16), dtype=np.uint8)]
    for scope in find_scopes(store, samples, all_texts=False):
        if _is_noted(store, spec, scope, rows):
            continue
        needed = find_needed(store, spec, [scope])
        missing = rows.missing(needed.keys)
        lacking.append(needed.keys[missing])
        if rows.n_rows and not len(missing):
            with store.write() as cursor:
                mark_embedded(cursor, spec.spec_id, scope.sample_id, scope.n_tuples, rows.n_rows)
    return NewTexts(spec.label, len(first_of_each(np.concatenate(lacking))), unit)


def is_news(report: Report) -> bool:
    """Whether a report tells of something done, or of what could not be."""
    match report:
        case EmbedReport():
            return report.n_encoded > 0
        case list():
            return any(each.n_scored for each in report)
        case _:
            return True


def _stored(store: StoreFolder, request: ModelRequest) -> Spec | None:
    """The stored spec of a label; None for what was asked for in another way."""
    if request.settings or request.label:
        return None
    with store.read() as cursor:
        return next((spec for spec in specs(cursor) if spec.label == request.name), None)


def _is_noted(store: StoreFolder, spec: Spec, scope: Scope, rows: AnyRows) -> bool:
    with store.read() as cursor:
        noted = n_embedded(cursor, spec.spec_id, scope.sample_id, rows.n_rows)
    return rows.n_rows > 0 and noted >= scope.n_tuples


def _drawn(
    store: StoreFolder, sweeps: Sequence[Sweep], bar: Bar
) -> Generator[Report, None, list[str]]:
    """Draws what is missing; the names of the samples that are there now."""
    names = []
    for draw in {draw.name: draw for sweep in sweeps for draw in sweep.draws}.values():
        if not draw.is_drawn:
            try:
                with bar(f"drawing {draw.name}") as progress:
                    report = draw_sample(store, draw.name, draw.parameters, progress)
            except PatcacheError as error:
                yield Failure(f"sample {draw.name}", error)
                continue
            yield report
        names.append(draw.name)
    return names


def _counted(
    store: StoreFolder, models: Sequence[ModelRequest], samples: Sequence[str]
) -> Generator[Report, None, tuple[list[str], list[ModelRequest]]]:
    """Labels of the models that lack nothing, and those that do."""
    complete, lacking = [], []
    for request in models:
        try:
            found = new_texts(store, request, samples)
        except PatcacheError as error:
            yield Failure(request.label or request.name, error)
            continue
        if found.n_new == 0:
            complete.append(found.label)
            continue
        yield found
        lacking.append(request)
    return complete, lacking


def _scored(
    store: StoreFolder,
    labels: Sequence[str],
    samples: Sequence[str],
    tie_tolerance: float,
    bar: Bar,
) -> Iterator[Report]:
    for label in labels:
        try:
            with bar(f"scoring {label}") as progress:
                found = score(
                    store,
                    samples=samples,
                    models=[label],
                    tie_tolerance=tie_tolerance,
                    progress=progress,
                )
        except PatcacheError as error:
            yield Failure(label, error)
            continue
        yield found


def _embedded(
    store: StoreFolder,
    requests: Sequence[ModelRequest],
    samples: Sequence[str],
    runtime: Runtime,
    bar: Bar,
) -> Iterator[EmbedReport | Failure]:
    """Model after model, those of one network in shared passes; one that fails stops no other.

    What is refused of models that share passes is refused of all: the first is tried alone then.
    """
    waiting = list(requests)
    while waiting:
        try:
            for report in embed_each(store, waiting, bar, samples=samples, runtime=runtime):
                waiting = waiting[1:]
                yield report
        except PatcacheError as error:
            (request, *waiting), several = waiting, dict(enumerate(waiting))
            if not find_sharers(store, several, runtime, refit=False):
                yield Failure(request.label or request.name, error)
                continue
            yield _alone(store, request, samples, runtime, bar)


def _alone(
    store: StoreFolder, request: ModelRequest, samples: Sequence[str], runtime: Runtime, bar: Bar
) -> EmbedReport | Failure:
    name = request.label or request.name
    with bar(name) as progress:
        try:
            return embed(store, request, samples=samples, runtime=runtime, progress=progress)
        except PatcacheError as error:
            return Failure(name, error)
