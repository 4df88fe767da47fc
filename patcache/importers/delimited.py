"""CSV and TSV: DuckDB reads them by a dialect that is named or seen in the header, and stated."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from patcache.errors import ImportRefused
from patcache.importers.base import ImportOptions, Records, Taken
from patcache.importers.fields import choose_columns
from patcache.importers.lines import MAX_RECORD_BYTES, Dialect, count_records
from patcache.importers.sources import Source, plain_text
from patcache.importers.staging import reader, refusing, stream

DELIMITERS = (",", ";", "\t", "|")


def open_csv(
    source: Source, options: ImportOptions, folder: Path
) -> AbstractContextManager[Records]:
    """The records of a file with separators; the separator as named, or as the header has it."""
    return _open(source, options, folder, "csv")


def open_tsv(
    source: Source, options: ImportOptions, folder: Path
) -> AbstractContextManager[Records]:
    """The records of a file separated by tabs."""
    return _open(source, replace(options, delimiter=options.delimiter or "\t"), folder, "tsv")


@contextmanager
def _open(source: Source, options: ImportOptions, folder: Path, name: str) -> Iterator[Records]:
    text = plain_text(source, options.encoding, folder)
    dialect = see_dialect(text.path, options, source.name)
    chosen = choose_columns(dialect.columns, options.mapping, source.name)
    with reader(folder) as connection:
        with refusing(source.name):
            counted = count_records(connection, text.path, dialect, folder)
        if counted.n_rows == 0 and has_more_lines(counted.path, dialect):
            raise ImportRefused(
                f"cannot read {source.name}",
                f"no record was found after the header with the separator {dialect.delimiter!r}",
                "name it: --delimiter, --quote",
            )
        is_copy = counted.path != text.path
        notes = ("line ends were mixed: all read as one kind",) if is_copy else ()
        taken = Taken(name, chosen, text.encoding, dialect.delimiter, notes)
        places = {column: f"c{i}" for i, column in reversed(list(enumerate(dialect.columns)))}
        selected = ", ".join(f"{places[column]} AS {field}" for field, column in chosen.items())
        sql = f"SELECT {selected} FROM {counted.table(dialect)}"
        yield Records(taken, counted.n_rows, counted.batches(stream(connection, sql, source.name)))


def see_dialect(path: Path, options: ImportOptions, file_name: str) -> Dialect:
    """The dialect of a file by its first line that is not blank.

    Errors: ImportRefused where there is no such line or it is no header.
    """
    if len(options.delimiter or ",") != 1 or len(options.quote) > 1:
        raise ImportRefused(
            f"cannot read {file_name} with the separator {options.delimiter!r}"
            f" and the quote {options.quote!r}",
            "each is one character",
        )
    with path.open(encoding="utf-8-sig", newline="") as stream_:
        n_blank = 0
        while (line := stream_.readline(MAX_RECORD_BYTES)) and not line.strip():
            n_blank += 1
        delimiter = options.delimiter or _likeliest(line, options.quote)
        rows = csv.reader(
            itertools.chain([line], stream_),
            delimiter=delimiter,
            quotechar=options.quote or None,
            quoting=csv.QUOTE_MINIMAL if options.quote else csv.QUOTE_NONE,
        )
        try:
            header = next(rows, [])
        except csv.Error as error:
            raise ImportRefused(f"the header of {file_name} cannot be read", str(error)) from error
    if not line:
        raise ImportRefused(f"{file_name} is empty")
    columns = tuple(name.strip() or f"column {i + 1}" for i, name in enumerate(header))
    return Dialect(delimiter, options.quote, columns, n_blank, rows.line_num)


def has_more_lines(path: Path, dialect: Dialect) -> bool:
    """Whether anything stands after the header."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        for _ in range(dialect.header_start + dialect.header_lines):
            lines.readline()
        return any(line.strip() for line in lines)


def _likeliest(line: str, quote: str) -> str:
    """The separator that a header has most of, outside its quotes; a comma where it has none."""
    outside = "".join(line.split(quote)[::2]) if quote else line
    return max(DELIMITERS, key=outside.count)
