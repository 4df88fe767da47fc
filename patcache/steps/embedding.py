"""The one place where texts, models and vectors meet: each text is encoded once per spec, ever."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from patcache.embedders.base import AnyModel
from patcache.records import Bar, ModelRequest, Progress, Runtime, Spec
from patcache.steps.loading import Loaded, Model, find_model, keep_fit, load_model, load_sibling
from patcache.steps.needed import Scope, Scopes, find_scopes, parts_of
from patcache.steps.pairs import refuse_corpus
from patcache.steps.passes import check_run, encode_parts
from patcache.steps.recording import begun, done_spec, finish, record, remember
from patcache.steps.rows import spec_rows
from patcache.steps.sharing import find_sharers
from patcache.steps.work import Counted, find_needed
from patcache.store.jobs import running_job
from patcache.store.specs import refuse_taken_label
from patcache.store.texts import patent_ids, sample_patents
from patcache.vectors.journal import Block as JournalBlock
from patcache.vectors.rows import AnyRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.store import StoreFolder


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What embedding one model did.

    label: the stored one; asked_label: the one asked for, another where the spec was there before.
    is_pairs: a scorer of pairs, whose texts below are pairs of texts and whose vectors are scores.
    n_texts: distinct texts asked for; None where the store's notes say that none can be missing.
    n_without_text: patents asked for whose text is empty; tuples with one stay undefined.
    """

    label: str
    asked_label: str
    spec_id: str
    dim: int
    n_stored: int
    n_texts: int | None = None
    n_without_text: int = 0
    n_encoded: int = 0
    n_truncated: int = 0
    elapsed_s: float = 0.0
    device: str | None = None
    max_tokens: int | None = None
    is_pairs: bool = False


def embed(
    store: StoreFolder,
    request: ModelRequest,
    *,
    samples: Sequence[str] | None = None,
    all_texts: bool = False,
    runtime: Runtime | None = None,
    refit: bool = False,
    embedder: AnyModel | None = None,
    progress: Progress | None = None,
) -> EmbedReport:
    """Gives every text of the samples (None: of all; all_texts: of the corpus) its vector.

    A scorer of pairs gives each pair of a target and a candidate its score instead. Nothing is
    loaded where nothing is missing. `embedder` is an object to use as it is; request then gives its
    label and the number of dimensions. Interrupted or killed, the same call goes on where it
    stopped.
    Errors: ModelRefused, NotThere without a sample, VectorsDamaged, VectorsBusy, WriteFailed.
    """
    scopes = find_scopes(store, samples, all_texts=all_texts)
    model = find_model(store, request, embedder, refit=refit)
    (report,) = _embed_models(store, [model], scopes, runtime or Runtime(), progress, refit=refit)
    return report


def embed_each(
    store: StoreFolder,
    requests: Sequence[ModelRequest],
    bar: Bar,
    *,
    samples: Sequence[str] | None = None,
    all_texts: bool = False,
    runtime: Runtime | None = None,
    refit: bool = False,
) -> Iterator[EmbedReport]:
    """Embeds request after request; each report in its turn.

    Those that are one network with the same tokens (two poolings of it) are embedded with the
    first of them: loaded once, each text through the network once. Their vectors, blocks and
    reports are those of one after another. What one of them is refused for refuses all of them.
    Errors: as of embed.
    """
    runtime = runtime or Runtime()
    reports: dict[int, EmbedReport] = {}
    for number, request in enumerate(requests):
        if number not in reports:
            waiting = {i: requests[i] for i in range(number, len(requests)) if i not in reports}
            models = find_sharers(store, waiting, runtime, refit=refit)
            names = [requests[i].label or requests[i].name for i in models or [number]]
            with bar(", ".join(names)) as progress:
                if models:
                    scopes = find_scopes(store, samples, all_texts=all_texts)
                    found = _embed_models(store, list(models.values()), scopes, runtime, progress)
                    reports.update(zip(models, found, strict=True))
                else:
                    reports[number] = embed(
                        store,
                        request,
                        samples=samples,
                        all_texts=all_texts,
                        runtime=runtime,
                        refit=refit,
                        progress=progress,
                    )
        yield reports[number]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A model, and what it is to encode as far as that is known without loading it.

    parts: of the scopes, from the first that lacks something. report: where nothing is missing.
    """

    model: Model
    scopes: Scopes
    parts: tuple[Scopes, ...]
    report: EmbedReport | None = None


def _look(store: StoreFolder, model: Model, scopes: Sequence[Scope]) -> _Asked:
    """What a model lacks; where that is nothing, the store notes so."""
    if model.spec is None:
        return _Asked(model, tuple(scopes), tuple(parts_of(scopes)))
    rows = spec_rows(store, model.spec)
    scopes = begun(store, model, rows, scopes)
    if (known := done_spec(store, model, rows, scopes)) is not None:
        return _Asked(model, tuple(scopes), (), _report(rows, model.label, known))
    parts = tuple(parts_of(scopes))
    counted = Counted()
    for number, part in enumerate(parts):
        needed = find_needed(store, model.spec, part)
        if rows.n_rows == 0 or len(rows.missing(needed.keys)) > 0:
            return _Asked(model, tuple(scopes), parts[number:])
        counted = counted.plus(needed)
    stored = finish(store, model, model.spec, rows, scopes)
    return _Asked(model, tuple(scopes), (), _report(rows, model.label, stored, counted))


def _embed_models(
    store: StoreFolder,
    models: Sequence[Model],
    scopes: Sequence[Scope],
    runtime: Runtime,
    progress: Progress | None,
    *,
    refit: bool = False,
) -> list[EmbedReport]:
    """One report a model. Several are one network: those that lack the same tuples go together."""
    asked = [_look(store, model, scopes) for model in models]
    reports = {i: each.report for i, each in enumerate(asked) if each.report is not None}
    alike: dict[Scopes, list[int]] = {}
    for i, each in enumerate(asked):
        if i not in reports:
            alike.setdefault(each.scopes, []).append(i)
    for group in alike.values():
        members = [asked[i] for i in group]
        labels = ", ".join(each.model.label for each in members)
        with running_job(store, "embed", labels, members[0].model.unit, progress) as advance:
            found = _load_and_encode(store, members, runtime, advance, refit=refit)
        reports.update(zip(group, found, strict=True))
    return [reports[i] for i in range(len(models))]


def _load_and_encode(
    store: StoreFolder,
    asked: Sequence[_Asked],
    runtime: Runtime,
    progress: Progress,
    *,
    refit: bool,
) -> list[EmbedReport]:
    models = [each.model for each in asked]
    scopes = asked[0].scopes
    parts = max((each.parts for each in asked), key=len)
    fit_patents = _fit_patents(store, models[0], scopes)
    first = load_model(store, models[0], runtime, fit_patents, refit=refit)
    try:
        loaded = [first, *(load_sibling(first, model) for model in models[1:])]
        as_known = [
            model.spec is not None and model.spec.spec_id == each.spec.spec_id
            for model, each in zip(models, loaded, strict=True)
        ]
        if not all(as_known):
            scopes = tuple(replace(scope, first=0) for scope in scopes)
            parts = tuple(parts_of(scopes))
        refuse_corpus(first.spec, scopes)
        return _encode_missing(store, models, loaded, parts, scopes, progress)
    finally:
        first.close()


def _encode_missing(
    store: StoreFolder,
    models: Sequence[Model],
    loaded: Sequence[Loaded],
    parts: Sequence[Scopes],
    scopes: Scopes,
    progress: Progress,
) -> list[EmbedReport]:
    """Models that turn out to be one spec, or are cut from one, share its rows."""
    pairs = list(zip(models, loaded, strict=True))
    with store.read() as cursor:
        for model, each in pairs:
            refuse_taken_label(cursor, model.asked(each.spec))
    distinct: dict[str, Loaded] = {}
    for each in loaded:
        distinct.setdefault(each.spec.spec_id, each)
    rows = {spec_id: spec_rows(store, each.spec) for spec_id, each in distinct.items()}
    check_run(store, loaded[0], rows[loaded[0].spec.spec_id], parts)
    with ExitStack() as locks:
        for spec_id in sorted(rows):  # in one order, so that no two processes wait for each other
            locks.enter_context(rows[spec_id].writing(store.busy_wait_s))
        keep_fit(loaded[0], rows[loaded[0].spec.spec_id].folder)
        with store.write() as cursor:
            for model, each in pairs:
                remember(cursor, model, each.spec)
        n_before = {spec_id: len(each.blocks) for spec_id, each in rows.items()}
        try:
            counted = encode_parts(
                store, list(distinct.values()), list(rows.values()), parts, progress
            )
        finally:
            for each_rows in rows.values():
                record(store, each_rows)
        reports = []
        for model, each in pairs:
            mine = rows[each.spec.spec_id]
            stored = finish(store, model, each.spec, mine, scopes)
            new = mine.blocks[n_before.pop(each.spec.spec_id, len(mine.blocks)) :]
            label = model.asked(each.spec).label
            reports.append(_report(mine, label, stored, counted, new))
    return reports


def _fit_patents(store: StoreFolder, model: Model, scopes: Sequence[Scope]) -> NDArray[np.int32]:
    """Whose texts a fitted model would be made from: the corpus as it is now, or the samples."""
    none = np.empty(0, dtype=np.int32)
    if model.resolved is None or not model.resolved.is_fitted:
        return none
    with store.read() as cursor:
        if model.fit_on == "corpus":
            return patent_ids(cursor)
        ids = [sample_patents(cursor, s.sample_id)[0] for s in scopes if s.sample_id is not None]
    return np.unique(np.concatenate([none, *ids]))


def _report(
    rows: AnyRows,
    asked_label: str,
    stored: Spec,
    counted: Counted | None = None,
    blocks: Sequence[JournalBlock] = (),
) -> EmbedReport:
    return EmbedReport(
        label=stored.label,
        asked_label=asked_label,
        spec_id=stored.spec_id,
        dim=stored.dim,
        n_stored=rows.n_rows,
        n_texts=None if counted is None else counted.n_texts,
        n_without_text=0 if counted is None else len(counted.without_text),
        n_encoded=sum(block.stop - block.start for block in blocks),
        n_truncated=sum(block.run.n_truncated for block in blocks),
        elapsed_s=sum(block.run.elapsed_s for block in blocks),
        device=blocks[-1].run.device if blocks else None,
        max_tokens=stored.identity.get("max_tokens"),
        is_pairs=stored.is_pairs,
    )
