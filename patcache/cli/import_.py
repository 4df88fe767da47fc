"""`patcache import`: files of patents into the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import store_option
from patcache.cli.output import say
from patcache.cli.progress import bar

if TYPE_CHECKING:
    from patcache.queries.corpus import CorpusSummary
    from patcache.steps.importing import FileReport, ImportReport
    from patcache.store import StoreFolder

EXIT_SOME_REFUSED = 5
FORMATS = ("parquet", "csv", "tsv", "jsonl")
SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
QUOTES = {"none": "", "double": '"', "single": "'"}


@click.command(name="import")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    callback=lambda _ctx, _param, names: _files(names),  # before a store is made for nothing
)
@store_option(create=True)
@click.option(
    "--map",
    "mapping",
    callback=lambda _ctx, _param, text: _pairs(text),
    metavar="title=Titel,ipc=IPCR",
    help="Which column is which field  [default: by its name]. `claims=` leaves a field out.",
)
@click.option("--format-of-file", "file_format", type=click.Choice(FORMATS), help="Kind of file.")
@click.option("--encoding", help="Of text files: utf-16, cp1252, gb18030 ...  [default: utf-8].")
@click.option(
    "--delimiter",
    callback=lambda _ctx, _param, text: SEPARATORS.get(text, text),
    help="Separator of a CSV file, such as ; or tab  [default: as its header has it].",
)
@click.option(
    "--quote",
    default="double",
    show_default=True,
    callback=lambda _ctx, _param, text: QUOTES.get(text, text),
    help="Quotes of a CSV file: double, single or none.",
)
@click.option("--dayfirst", is_flag=True, help="Read 03/04/2015 as the 3rd of April.")
@click.option("--language", help="Language of the patents whose record names none: en, de, zh ...")
def import_(
    store: StoreFolder,
    files: tuple[str, ...],
    mapping: dict[str, str],
    file_format: str | None,
    encoding: str | None,
    delimiter: str | None,
    quote: str,
    dayfirst: bool,
    language: str | None,
) -> None:
    """Add the patents of FILE... to the corpus of a store, which is made where there is none.

    FILE is Parquet, CSV, TSV or JSON lines, also .gz or .zst, a pattern such as 'us-*.parquet', or
    "-" for standard input. A patent needs a number, an IPC code, a title or abstract, and a year
    or date. Patents that are there already stay as they are. Exit code 5: some rows were refused.
    """
    from patcache.queries.corpus import corpus_summary
    from patcache.steps.importing import ImportOptions, ImportReport, import_files

    options = ImportOptions(mapping, file_format, encoding, delimiter, quote, dayfirst, language)
    reports: list[FileReport] = []
    for name in files:
        with bar(f"importing {_short(name)}") as progress:
            reports.extend(import_files(store, [name], options, progress).files)
        for line in file_lines(reports[-1]):
            say(line)
    report = ImportReport(tuple(reports))
    for line in summary_lines(report, corpus_summary(store)):
        click.echo(line)
    if report.counts.n_rejected:
        raise SystemExit(EXIT_SOME_REFUSED)


def file_lines(report: FileReport) -> list[str]:
    """What a file was taken for, and what became of its records."""
    taken, counts = report.taken, report.counts
    how = [taken.file_format]
    if taken.delimiter is not None:
        how.append(f"separator {taken.delimiter!r}")
    if taken.encoding is not None:
        how.append(taken.encoding)
    fields = ", ".join(
        name if name == column else f"{name} = {column!r}" for name, column in taken.mapping.items()
    )
    lines = [f"{_short(report.path)}: {', '.join(how)} · {fields}"]
    if report.is_repeat:
        lines.append("  was imported before in the same way: nothing to do")
    lines.extend(f"  {note}" for note in taken.notes)
    lines.append(
        f"  {counts.n_rows:,} rows: {counts.n_added:,} added · {counts.n_unchanged:,} known already"
        f" · {counts.n_excluded:,} excluded · {counts.n_rejected:,} refused"
    )
    if report.n_codes_ignored:
        lines.append(
            f"  {report.n_codes_ignored:,} texts beside a good IPC code are no code: left out"
        )
    if report.n_dates_ignored:
        lines.append(f"  {report.n_dates_ignored:,} dates beside a good year are none: left out")
    return lines


def summary_lines(report: ImportReport, corpus: CorpusSummary) -> list[str]:
    """The corpus as it is now, and what was refused."""
    counts = report.counts
    sections = "  ".join(f"{name} {n:,}" for name, n in corpus.n_by_section.items())
    lines = [
        f"  {corpus.n_patents:,} patents"
        + (f" · {_years(corpus)} · {sections}" if sections else "")
    ]
    refused = f"  {counts.n_rejected:,} refused"
    if counts.n_excluded:
        refused += f" · {counts.n_excluded:,} excluded"
    facts = [
        refused,
        f"{corpus.n_shared_texts:,} groups of patents share one text",
        f"family unknown for {corpus.n_family_unknown:,}",
    ]
    if corpus.n_title_only:
        facts.append(f"{corpus.n_title_only:,} with a title only")
    lines.append(" · ".join(facts))
    if counts.n_rejected or counts.n_excluded:
        lines.append("  which and why: patcache rejects --by-reason")
    return lines


def _files(names: tuple[str, ...]) -> tuple[str, ...]:
    from patcache.importers.sources import expand

    return tuple(expand(names))


def _years(corpus: CorpusSummary) -> str:
    if corpus.first_year == corpus.last_year:
        return str(corpus.first_year)
    return f"{corpus.first_year}-{corpus.last_year}"


def _short(name: str) -> str:
    return "standard input" if name == "-" else Path(name).name


def _pairs(text: str | None) -> dict[str, str]:
    """'title=Titel,ipc=IPCR' as a dict."""
    pairs: dict[str, str] = {}
    for part in filter(None, (text or "").split(",")):
        name, separator, column = part.partition("=")
        if not separator:
            raise click.BadParameter(f"{part!r} is not FIELD=COLUMN")
        pairs[name.strip()] = column.strip()
    return pairs
