"""Samples drawn from the corpus: whom to draw, at which levels, and what came of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import SampleRefused
from patcache.kernels.levels import CodeLists, CodeTree, code_tree
from patcache.kernels.plan import Plan
from patcache.kernels.population import population
from patcache.records import Progress, Shape, TupleSet
from patcache.steps.cell_draws import CellDraw, draw_cells
from patcache.steps.label_noise import Noise, label_noise
from patcache.steps.sample_parameters import Codes, SampleParameters, check, parameters_of, study
from patcache.steps.shape_values import shape_values
from patcache.store.jobs import running_job
from patcache.store.population import Columns, count_texts, read_codes, read_population
from patcache.store.sample_writes import Cell, SampleHead, save_extension, save_sample
from patcache.store.samples import StoredSample, refuse_taken_name, stored_sample

if TYPE_CHECKING:
    from patcache.store.folder import StoreFolder

__all__ = ["SampleParameters", "SampleReport", "draw_sample", "extend_sample", "study"]

STAGES = 4


@dataclass(frozen=True, slots=True)
class SampleReport:
    """What a draw came to; n_cells have tuples, of n_cells_seen in the corpus (or new in it).

    n_short: patents short of candidates at some level; n_short_at: by level, a patent counting at
    each. n_texts: different texts of the tuples. noise: pairs that share a deeper level by any of
    their codes. is_extension: all this is of the new cells only. grown: cells drawn before that
    now have more patents, which stay out of the sample, with their number then and now.
    """

    name: str
    shape: Shape
    n_tuples: int
    n_cells: int
    n_cells_seen: int
    n_texts: int
    n_patents: int
    n_short: int
    n_short_at: Mapping[int, int]
    n_family_unknown: int
    n_pairs: int
    n_deeper: int
    codes: Codes
    is_extension: bool = False
    grown: Mapping[tuple[int, str], tuple[int, int]] = field(default_factory=dict)

    @property
    def noise_share(self) -> float:
        """Share of candidates that share a deeper level with their target; 0 without any."""
        return self.n_deeper / self.n_pairs if self.n_pairs else 0.0


def draw_sample(
    store: StoreFolder,
    name: str,
    parameters: SampleParameters,
    progress: Progress | None = None,
) -> SampleReport:
    """Draws a sample and stores it; the name changes nothing about the draw.

    Errors: SampleRefused for a name that is taken, parameters that contradict each other, a
    condition that keeps nobody, or levels that nobody has.
    """
    check(name, parameters)
    with store.read() as cursor:
        refuse_taken_name(cursor, name)
    with running_job(store, "sample", name, "stages", progress) as advance:
        return _draw_new(store, name, parameters, advance)


def _draw_new(
    store: StoreFolder, name: str, parameters: SampleParameters, progress: Progress
) -> SampleReport:
    columns = read_population(store, parameters.where)
    progress(1, STAGES)
    found = _draw(store, columns, parameters, None)
    progress(3, STAGES)
    _refuse_nothing(found)
    head = SampleHead(
        name, "drawn", parameters.seed, dataclasses.asdict(parameters), columns.digest
    )
    shape = parameters.shape
    save_sample(store, head, {shape: shape_values(shape)}, [found.tuples], found.cells)
    progress(STAGES, STAGES)
    return _report(store, name, parameters, columns, found)


def extend_sample(store: StoreFolder, name: str, progress: Progress | None = None) -> SampleReport:
    """Draws the cells that are new in the corpus, and nothing else: old tuples never change.

    With targets counted per year or per section, new cells get what is left of that number.
    Errors: NotThere; SampleRefused for a sample that was imported.
    """
    with store.read() as cursor:
        stored = stored_sample(cursor, name)
    if stored.kind != "drawn":
        raise SampleRefused(
            f"sample {name!r} was imported",
            "only a sample that was drawn here knows how to draw more",
            f"patcache sample import another-{name} FILE",
        )
    with running_job(store, "extend sample", name, "stages", progress) as advance:
        return _draw_more(store, name, stored, advance)


def _draw_more(
    store: StoreFolder, name: str, stored: StoredSample, progress: Progress
) -> SampleReport:
    parameters = parameters_of(stored.parameters)
    columns = read_population(store, parameters.where)
    progress(1, STAGES)
    found = _draw(store, columns, parameters, stored)
    progress(3, STAGES)
    shape = parameters.shape
    if found.cells:
        values = {shape: shape_values(shape)}
        save_extension(store, name, columns.digest, values, [found.tuples], found.cells)
    progress(STAGES, STAGES)
    report = _report(store, name, parameters, columns, found)
    return dataclasses.replace(report, is_extension=True, grown=_grown(stored, found.sizes))


@dataclass(frozen=True, slots=True)
class _Found:
    tuples: TupleSet
    cells: list[Cell]
    sizes: Mapping[tuple[int, str], int]  # patents of every cell, old or new
    n_short: int
    noise: Noise


def _draw(
    store: StoreFolder,
    columns: Columns,
    parameters: SampleParameters,
    stored: StoredSample | None,
) -> _Found:
    nobody = np.full(len(columns.patent_ids), -1, dtype=np.int32)
    patents = population(
        columns.years,
        columns.codes,
        columns.words,
        nobody if parameters.allow_same_text else columns.texts,
        nobody if parameters.allow_family else columns.families,
        code_tree(columns.main_codes),
    )
    codes = _all_codes(store, columns) if parameters.codes == "strict" else (None, None)
    plan = Plan(parameters.shape.levels, parameters.seed, *codes)
    sections = np.array([code[0] for code in columns.main_codes], dtype="U1")[columns.codes]
    drawn = draw_cells(
        patents,
        sections,
        plan,
        parameters.per,
        parameters.targets,
        {} if stored is None else stored.cells,
    )
    first = 0 if stored is None else stored.next_tuple
    tuples = TupleSet(
        parameters.shape,
        np.arange(first, first + len(drawn.targets), dtype=np.int64),
        columns.patent_ids[drawn.targets],
        columns.patent_ids[drawn.candidates],
        columns.years[drawn.targets],
        sections[drawn.targets],
    )
    noise = label_noise(store, tuples)
    return _Found(tuples, _cells(drawn, noise), drawn.sizes, drawn.n_short, noise)


def _all_codes(store: StoreFolder, columns: Columns) -> tuple[CodeTree, CodeLists]:
    found = read_codes(store, columns.patent_ids)
    return code_tree(found.names), CodeLists(found.offsets, found.codes)


def _cells(drawn: CellDraw, noise: Noise) -> list[Cell]:
    return [
        Cell(
            cell.year,
            cell.section,
            cell.n_patents,
            cell.n_eligible,
            cell.n_drawn,
            cell.n_short,
            noise.by_cell.get((cell.year, cell.section), {}),
        )
        for cell in drawn.cells
    ]


def _report(
    store: StoreFolder,
    name: str,
    parameters: SampleParameters,
    columns: Columns,
    found: _Found,
) -> SampleReport:
    tuples = found.tuples
    levels = sorted(set(parameters.shape.levels))
    return SampleReport(
        name=name,
        shape=parameters.shape,
        n_tuples=len(tuples.ids),
        n_cells=sum(cell.n_drawn > 0 for cell in found.cells),
        n_cells_seen=len(found.cells),
        n_texts=count_texts(store, np.append(tuples.candidates.ravel(), tuples.targets)),
        n_patents=sum(cell.n_patents for cell in found.cells),
        n_short=found.n_short,
        n_short_at={
            level: sum(cell.n_short.get(level, 0) for cell in found.cells) for level in levels
        },
        n_family_unknown=columns.n_family_unknown,
        n_pairs=found.noise.n_pairs,
        n_deeper=found.noise.n_deeper,
        codes=parameters.codes,
    )


def _refuse_nothing(found: _Found) -> None:
    """Errors: SampleRefused where no tuple was drawn, saying which levels are in the way."""
    if len(found.tuples.ids):
        return
    short: dict[int, int] = {}
    for cell in found.cells:
        for level, n_patents in cell.n_short.items():
            short[level] = short.get(level, 0) + n_patents
    counts = ", ".join(f"level {level}: {n:,}" for level, n in sorted(short.items()) if n)
    raise SampleRefused(
        "no patent has candidates at every level",
        f"of {sum(cell.n_patents for cell in found.cells):,} patents these are short: {counts}",
        "ask for other --levels, or a --where that keeps more patents",
    )


def _grown(
    stored: StoredSample, sizes: Mapping[tuple[int, str], int]
) -> dict[tuple[int, str], tuple[int, int]]:
    return {
        cell: (n_patents, sizes[cell])
        for cell, (n_patents, _) in sorted(stored.cells.items())
        if sizes.get(cell, n_patents) > n_patents
    }
