"""`patcache report`: the page, the figures, the tables, the methods and the raw values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from patcache.errors import Misused, NotThere, PatcacheError, SampleRefused
from patcache.queries.provenance import provenance
from patcache.queries.tuple_exports import values
from patcache.report.answer import answer, findings
from patcache.report.figures.style import SUFFIXES, styled, svg_for_page, write_figure
from patcache.report.folder import results_folder
from patcache.report.formats import people_text, write_records
from patcache.report.latex import latex_table
from patcache.report.methods import methods
from patcache.report.page import Shown, page
from patcache.report.section_queries import Asked
from patcache.report.sections import SECTIONS, Section

if TYPE_CHECKING:
    from typing import Any

    from patcache.listing import Listing
    from patcache.queries.question import Question
    from patcache.records import Progress
    from patcache.store import StoreFolder

KIND = "report"
MOST_PAGE_ROWS = 400  # of a table on the page; its files have all


def write_report(
    store: StoreFolder,
    question: Question,
    out: Path,
    *,
    title: str | None = None,
    formats: Sequence[str] = ("svg", "png", "pdf"),
    progress: Progress | None = None,
) -> list[str]:
    """Writes a report into the folder `out`, whole or not at all; the names of its files.

    The same store and question give the same bytes. Errors: as for the leaderboard; WriteFailed.
    """
    wrong = [name for name in formats if f".{name}" not in SUFFIXES]
    if wrong:
        raise Misused(
            f"no figures as {', '.join(wrong)}",
            f"figures are {', '.join(s[1:] for s in SUFFIXES)}",
            "name some of these: --formats",
        )
    found, source = findings(store, question), provenance(store, question)
    asked = Asked(question, tuple(row.model for row in found.models))
    with results_folder(out, KIND) as folder:
        (folder / "tables").mkdir()
        shown = []
        for done, section in enumerate(SECTIONS, start=1):
            shown.append(_write_section(store, section, asked, folder, formats))
            if progress is not None:
                progress(done, len(SECTIONS) + 1)
        text = methods(question, source, found.models.notes)
        _write(folder / "methods.md", text)
        heading = title or f"Which model ranks the patents of {source.sample} best"
        _write(folder / "index.html", page(heading, answer(found, source), shown, text))
        _write_values(store, question, folder / "rci.csv")
        names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    if progress is not None:
        progress(len(SECTIONS) + 1, len(SECTIONS) + 1)
    return names


def _write_section(
    store: StoreFolder, section: Section, asked: Asked, folder: Path, formats: Sequence[str]
) -> Shown:
    """The files of one section, and what the page shows of it: words where there is nothing."""
    try:
        listing = section.query(store, asked)
    except (NotThere, SampleRefused) as error:
        return Shown(section.name, section.title, section.words, notes=tuple(_said(error)))
    if not listing:
        nothing = (*listing.notes, "Nothing to show of this slice.")
        return Shown(section.name, section.title, section.words, notes=nothing)
    grid = section.grid(listing)
    titled = section.titled(listing, asked.question)
    _write_tables(section, titled, folder / "tables")
    notes, rows = listing.notes, len(grid.cells)
    try:
        figures = tuple(_figures(section, listing, asked.question, folder / "figures", formats))
    except NotThere as error:  # a table, but nothing to draw
        figures, notes = (), (*notes, *_said(error))
    if rows > MOST_PAGE_ROWS:
        grid = replace(grid, cells=grid.cells[:MOST_PAGE_ROWS])
        notes = (*notes, f"the first {MOST_PAGE_ROWS} of {rows:,} rows; all are in tables/")
    return Shown(section.name, section.title, section.words, titled.caption, figures, grid, notes)


def _said(error: PatcacheError) -> Iterator[str]:
    yield "Not shown: " + ": ".join(part for part in (error.what, error.why) if part)
    if error.todo:
        yield error.todo


def _figures(
    section: Section,
    listing: Listing[Any],
    question: Question,
    folder: Path,
    formats: Sequence[str],
) -> Iterator[tuple[str, str]]:
    for drawing in section.figures:
        with styled():
            figure = drawing.draw(listing, question)
        for name in formats:
            write_figure(figure, folder / f"{drawing.name}.{name}")
        yield drawing.label, svg_for_page(figure, f"figure-{drawing.name}", drawing.label)


def _write_tables(section: Section, listing: Listing[Any], folder: Path) -> None:
    """All records as CSV; what people see as Markdown and LaTeX."""
    grid = section.grid(listing)
    with (folder / f"{section.name}.csv").open("w", encoding="utf-8", newline="") as stream:
        write_records(listing, "csv", stream)
    _write(folder / f"{section.name}.md", people_text(listing, "md", grid) + "\n")
    _write(folder / f"{section.name}.tex", latex_table(listing, grid, section.title, section.name))


def _write_values(store: StoreFolder, question: Question, path: Path) -> None:
    """One row a tuple and model, window by window: memory does not grow."""
    from pyarrow import csv

    with path.open("wb") as stream:
        for number, table in enumerate(values(store, question)):
            options = csv.WriteOptions(include_header=number == 0, quoting_style="needed")
            csv.write_csv(table, stream, write_options=options)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
