"""Files as they lie on disk or arrive on standard input, made into plain local UTF-8.

DuckDB reads UTF-8 and no other encoding, so everything else is decoded here, strictly: what is not
what it is said to be is refused with the place of the first wrong byte, and never replaced.
"""

from __future__ import annotations

import codecs
import glob
import gzip
import hashlib
import io
import itertools
import os
import shutil
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from patcache.errors import ImportRefused

STDIN = "-"
CHUNK_BYTES = 1 << 20
HEAD_BYTES = 1 << 14
COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    # a frame to skip, with which the parallel pzstd begins
    **{bytes([first]) + b"\x2a\x4d\x18": "zstd" for first in range(0x50, 0x60)},
}
COMPRESSED_SUFFIXES = (".gz", ".zst", ".zstd")
BYTE_ORDER_MARKS = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
GLOB_CHARACTERS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Source:
    """One file to import.

    name: as given, in UTF-8; path: where its bytes are; modified_ns: 0 for stdin.
    """

    name: str
    path: Path
    size_bytes: int
    modified_ns: int

    @property
    def suffix(self) -> str:
        """The last suffix of the name in lower case, that of a compression left out."""
        name = self.name.lower()
        for ending in COMPRESSED_SUFFIXES:
            name = name.removesuffix(ending)
        return Path(name).suffix

    @property
    def compression(self) -> str | None:
        """By the first bytes, whatever the name says."""
        with self.path.open("rb") as stream:
            start = stream.read(4)
        return next((name for magic, name in COMPRESSIONS.items() if start.startswith(magic)), None)

    def open(self) -> IO[bytes]:
        """Its bytes, decompressed."""
        if self.compression == "gzip":
            return cast(IO[bytes], gzip.open(self.path, "rb"))
        if self.compression == "zstd":
            import pyarrow as pa

            return io.BufferedReader(pa.input_stream(str(self.path), compression="zstd"))
        return self.path.open("rb")

    def head(self) -> bytes:
        """The first bytes, decompressed."""
        with self._readable(), self.open() as stream:
            return stream.read(HEAD_BYTES)

    def chunks(self) -> Iterator[bytes]:
        """All bytes, decompressed. Errors: ImportRefused where the compression is broken."""
        with self._readable(), self.open() as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, zlib.error) as error:
            raise ImportRefused(f"cannot read {self.name}", str(error)) from error

    def sha256(self) -> str:
        """Of the bytes on disk, as 64 hex digits."""
        with self._readable(), self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class PlainText:
    """A file as DuckDB can read it, and the encoding it was in."""

    path: Path
    encoding: str


def expand(names: Sequence[str]) -> list[str]:
    """The files named, patterns replaced by what they match, in order of name.

    Errors: ImportRefused for a name or pattern that is no file.
    """
    found: list[str] = []
    for name in names:
        if name == STDIN or Path(name).is_file():
            found.append(name)
            continue
        if Path(name).is_dir():
            raise ImportRefused(f"{name} is a folder", "", f"name its files: '{name}/*.parquet'")
        matches = sorted(filter(os.path.isfile, glob.glob(name, recursive=True)))  # noqa: PTH207
        if not matches:
            why = "no file matches" if GLOB_CHARACTERS & set(name) else "there is no such file"
            raise ImportRefused(f"cannot import {name}", why)
        found.extend(matches)
    return list(dict.fromkeys(found))


def source_of(name: str, folder: Path, stdin: BinaryIO | None = None) -> Source:
    """A file ready to be read; what DuckDB cannot open is copied into `folder` first."""
    if name == STDIN:
        path = folder / "stdin"
        with path.open("wb") as copy:
            shutil.copyfileobj(stdin or sys.stdin.buffer, copy, CHUNK_BYTES)
        return Source(name, path, path.stat().st_size, 0)
    try:
        status = Path(name).stat()
    except OSError as error:
        raise ImportRefused(f"cannot read {name}", str(error)) from error
    path = Path(name)
    shown = os.fsencode(name).decode("utf-8", "replace")
    if shown != name:  # names of files may be any bytes, of which DuckDB opens UTF-8 only
        path = Path(shutil.copyfile(name, folder / "copy"))
    return Source(shown, path, status.st_size, status.st_mtime_ns)


def plain_bytes(source: Source, folder: Path) -> Path:
    """The file itself, or a decompressed copy."""
    if source.compression is None:
        return source.path
    path = folder / "decompressed"
    with path.open("wb") as copy:
        for chunk in source.chunks():
            copy.write(chunk)
    return path


def plain_text(source: Source, encoding: str | None, folder: Path) -> PlainText:
    """The file itself where it is plain UTF-8, else a copy that is.

    A byte order mark decides; else the encoding named; else it is UTF-8.
    Errors: ImportRefused, naming the first byte that the encoding does not allow.
    """
    head = source.head()
    marked = next((name for mark, name in BYTE_ORDER_MARKS if head.startswith(mark)), None)
    name = _codec(marked or encoding or "utf-8")
    if marked is None and name == "utf-8" and b"\0" in head:
        raise ImportRefused(
            f"{source.name} is not UTF-8 text",
            f"there is a zero byte at offset {head.index(0):,}, as UTF-16 without a mark has",
            "name its encoding: --encoding utf-16-le",
        )
    is_plain = source.compression is None and name in ("utf-8", "utf-8-sig")
    path = source.path if is_plain else folder / "utf-8"
    with _maybe_open(None if is_plain else path) as copy:
        for text in _decoded(source, name, was_named=bool(marked or encoding)):
            if copy is not None:
                copy.write(text.encode("utf-8"))
    return PlainText(path, "utf-8" if name == "utf-8-sig" else name)


@contextmanager
def _maybe_open(path: Path | None) -> Iterator[BinaryIO | None]:
    """A file to write, or None where none is wanted."""
    if path is None:
        yield None
        return
    with path.open("wb") as stream:
        yield stream


def unify_line_ends(path: Path, folder: Path) -> Path:
    """A copy whose lines all end in a line feed; a lone carriage return becomes a space."""
    copy = folder / "unified"
    with path.open("rb") as source, copy.open("wb") as target:
        kept = b""
        while chunk := source.read(CHUNK_BYTES):
            chunk = kept + chunk
            kept = b"\r" if chunk.endswith(b"\r") else b""  # its line feed may come next
            chunk = chunk.removesuffix(b"\r")
            target.write(chunk.replace(b"\r\n", b"\n").replace(b"\r", b" "))
    return copy


def _codec(name: str) -> str:
    try:
        b"".decode(name)  # refuses codecs that are not of text
        codecs.getincrementaldecoder(name)
        return codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise ImportRefused(
            f"unknown encoding {name!r}",
            "",
            "known are utf-16, cp1252, latin-1, gb18030, euc-kr ...",
        ) from error


def _decoded(source: Source, encoding: str, *, was_named: bool) -> Iterator[str]:
    """The file's text, piece by piece."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    n_read = 0
    for chunk in itertools.chain(source.chunks(), (b"",)):
        base = n_read - len(decoder.getstate()[0])  # a character may be cut in two
        try:
            yield decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            raise _not_decodable(source, encoding, base, error, was_named) from error
        n_read += len(chunk)


def _not_decodable(
    source: Source, encoding: str, base: int, error: UnicodeDecodeError, was_named: bool
) -> ImportRefused:
    wrong = error.object[error.start : error.start + 1].hex()
    inside = " of the decompressed bytes" if source.compression else ""
    return ImportRefused(
        f"{source.name} is not {encoding}",
        f"the byte 0x{wrong} at offset {base + error.start:,}{inside} cannot be decoded",
        "name another encoding with --encoding"
        if was_named
        else "name its encoding: --encoding cp1252 (or latin-1, gb18030, utf-16, euc-kr ...)",
    )
