"""A whole study, in order: what is missing is done, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from patcache.errors import StudyInvalid
from patcache.records import Bar, Progress, Runtime
from patcache.steps.embedding import EmbedReport, embed_each
from patcache.steps.importing import ImportReport, import_files
from patcache.steps.sample_parameters import SampleParameters, parameters_of
from patcache.steps.sampling import SampleReport, draw_sample, extend_sample
from patcache.steps.scoring import ScoreReport, score
from patcache.steps.study_file import Study
from patcache.store.population import n_new_cells
from patcache.store.samples import StoredSample, sample_names, stored_sample

if TYPE_CHECKING:
    from patcache.store import StoreFolder

Report = ImportReport | SampleReport | EmbedReport | list[ScoreReport]


def run_study(store: StoreFolder, study: Study, runtime: Runtime, bar: Bar) -> Iterator[Report]:
    """Imports, samples, embeds and scores what is not there yet; each report as it comes.

    Errors: StudyInvalid where a sample of that name was drawn in another way; those of the steps.
    """
    with bar("importing") as progress:
        yield import_files(store, study.files, study.import_options, progress)
    for name, parameters in study.samples.items():
        with bar(f"drawing {name}") as progress:
            report = _draw_missing(store, name, parameters, progress)
        if report is not None:
            yield report
    if not study.samples:
        return
    samples = list(study.samples)
    labels = []
    for embedded in embed_each(
        store,
        study.models,
        lambda name: bar(f"embedding {name}"),
        samples=samples,
        runtime=runtime,
    ):
        labels.append(embedded.label)
        yield embedded
    if labels:
        with bar("scoring") as progress:
            yield score(store, samples=samples, models=labels, progress=progress)


def is_news(report: Report) -> bool:
    """Whether a step did anything."""
    match report:
        case ImportReport():
            return not all(file.is_repeat for file in report.files)
        case SampleReport():
            return True
        case EmbedReport():
            return report.n_encoded > 0
        case _:
            return any(each.n_scored for each in report)


def _draw_missing(
    store: StoreFolder, name: str, parameters: SampleParameters, progress: Progress
) -> SampleReport | None:
    """The report of a new or extended sample; None where it is there as asked for."""
    with store.read() as cursor:
        stored = stored_sample(cursor, name) if name in sample_names(cursor) else None
    if stored is None:
        return draw_sample(store, name, parameters, progress)
    _refuse_another(stored, name, parameters)
    if n_new_cells(store, stored.sample_id, parameters.where) == 0:
        return None
    return extend_sample(store, name, progress)


def _refuse_another(stored: StoredSample, name: str, parameters: SampleParameters) -> None:
    if stored.kind != "drawn":
        raise StudyInvalid(f"sample {name} was imported, and the study draws it")
    old, new = asdict(parameters_of(stored.parameters)), asdict(parameters)
    differing = [f"{key} {old[key]!r}, not {new[key]!r}" for key in new if old[key] != new[key]]
    if differing:
        raise StudyInvalid(
            f"sample {name} was drawn in another way",
            f"it has {'; '.join(differing)}",
            f"give the study's sample another name, or: patcache rm sample {name}",
        )
