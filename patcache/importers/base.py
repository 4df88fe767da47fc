"""What an importer gives, and which file formats there are.

An importer reads one kind of file into records of text, and says what it took for what. Adding a
format is one file with one function, and one line in IMPORTERS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from patcache.errors import ImportRefused
from patcache.importers.sources import Source

if TYPE_CHECKING:
    import pyarrow as pa

RULES_VERSION = 1  # grows when the same file would be read another way

# The fields of a record, in order. `ipc` is one text or a list of texts, all others are text.
FIELDS = (
    "publication_number",
    "ipc",
    "title",
    "abstract",
    "claims",
    "year",
    "publication_date",
    "family_id",
    "language",
)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the user says about the files; None and {} mean: see for yourself, and say it.

    mapping: field -> column; an empty column means that the field is not taken. quote: "" for
    files that quote nothing. language: of the patents whose record names none.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    file_format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    quote: str = '"'
    dayfirst: bool = False
    language: str | None = None

    def asked(self) -> dict[str, Any]:
        """Everything that decides how a file is read, JSON-able."""
        return {
            "mapping": dict(self.mapping),
            "file_format": self.file_format,
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "quote": self.quote,
            "dayfirst": self.dayfirst,
            "language": self.language,
            "rules": RULES_VERSION,
        }


@dataclass(frozen=True, slots=True)
class Taken:
    """What a file was taken for. mapping: field -> column; notes: what a reader should know."""

    file_format: str
    mapping: Mapping[str, str]
    encoding: str | None = None
    delimiter: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one file, in its order.

    batches: tables with `row_number` (1 for the first record), FIELDS, and `fault`: why a record
    could not be read at all, with its text in `fault_value`; null for the others.
    """

    taken: Taken
    n_rows: int
    batches: Iterator[pa.Table]


class Importer(Protocol):
    """Opens a file of one format; `folder` is for temporary files and goes away afterwards.

    Errors: ImportRefused when the file is not what it should be, or lacks a column.
    """

    def __call__(
        self, source: Source, options: ImportOptions, folder: Path
    ) -> AbstractContextManager[Records]: ...


IMPORTERS = {
    "parquet": "patcache.importers.parquet:open_parquet",
    "csv": "patcache.importers.delimited:open_csv",
    "tsv": "patcache.importers.delimited:open_tsv",
    "jsonl": "patcache.importers.jsonl:open_jsonl",
}
SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
NOT_TABLES = {
    b"PK\x03\x04": "an Excel workbook or a zip file",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"<?xml": "XML",
    b"<!doctype": "a web page or XML",
    b"<html": "a web page",
    b"%pdf": "a PDF",
}


def open_records(
    source: Source, options: ImportOptions, folder: Path
) -> AbstractContextManager[Records]:
    """The records of a file, by the format named or recognised."""
    name = options.file_format or recognise(source)
    if name not in IMPORTERS:
        raise ImportRefused(
            f"unknown file format {name!r}", f"the formats are {', '.join(IMPORTERS)}"
        )
    module, function = IMPORTERS[name].split(":")
    importer: Importer = getattr(import_module(module), function)
    return importer(source, options, folder)


def recognise(source: Source) -> str:
    """The name of a file's format, by its first bytes, else its name, else its first character."""
    head = source.head()
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for magic, what in NOT_TABLES.items():
        if start[: len(magic)].lower() == magic.lower():
            raise ImportRefused(
                f"{source.name} is {what}",
                f"patcache reads {', '.join(IMPORTERS)}",
                "save it as CSV or Parquet, or say what it is with --format-of-file",
            )
    if head.startswith(b"PAR1"):
        return "parquet"
    by_name = SUFFIXES.get(source.suffix)
    if by_name is not None:
        return by_name
    return "jsonl" if start[:1] in (b"{", b"[") else "csv"
