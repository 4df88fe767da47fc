"""Word vectors in files: npy with its words beside it, word2vec text and binary, GloVe text.

Nothing is unpickled. Text and binary are streamed, and a torn or mixed-width file is refused with
the line or word where it is so.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from patcache.embedders.converted import NamedRows, convert, in_blocks
from patcache.errors import ModelRefused, in_one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import FloatArray

LONGEST_WORD = 10_000  # bytes; longer, and the file is no word2vec binary
MOST_DIMENSIONS = 100_000  # more, and a header is none
UTF8_MARK = b"\xef\xbb\xbf"
TORN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)


def read_words(path: Path, words: Path | None, digest: str, cache: Path | None) -> NamedRows:
    """The words of a file and their vectors, memory-mapped; digest: of the file.

    words: the file that names the rows of an .npy. Errors: ModelRefused.
    """
    if path.suffix == ".npy":
        if words is None:
            raise ModelRefused(f"{path.name} does not say which row is which word")
        return _checked(path, read_npy(path), words)
    if words is not None:
        raise ModelRefused(
            f"{path.name} names its words itself",
            f"{words.name} would not be read",
            "leave the setting words out",
        )
    is_binary = path.name.removesuffix(".gz").endswith(".bin")
    rows = _binary_rows(path) if is_binary else _text_rows(path)
    found = convert(in_blocks(rows), digest, cache)
    if not found.names:
        raise ModelRefused(f"{path} holds no word")
    return found


def read_names(path: Path) -> list[str]:
    """The lines of a text file, or the one column of strings of a Parquet file.

    Errors: ModelRefused for another kind of file, or several such columns.
    """
    if path.suffix == ".txt":
        text = path.read_bytes().removeprefix(UTF8_MARK).decode(errors="replace")
        lines = text.replace("\r\n", "\n").split("\n")
        return lines[:-1] if lines[-1] == "" else lines
    if path.suffix != ".parquet":
        raise ModelRefused(f"{path} cannot name the rows", "names are read from .txt and .parquet")
    import pyarrow as pa

    try:
        names = _parquet_names(path)
    except (pa.ArrowException, OSError) as error:
        raise ModelRefused(f"{path} is no Parquet file", in_one_line(error)) from error
    if None in names:
        raise ModelRefused(f"row {names.index(None) + 1} of {path.name} has no name")
    return cast("list[str]", names)


def _parquet_names(path: Path) -> list[str | None]:
    """The one column of strings. Errors: ModelRefused where there are several, or none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        columns = [
            field.name
            for field in file.schema_arrow
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        ]
        if len(columns) != 1:
            raise ModelRefused(
                f"{path} does not say which column names the rows",
                f"its columns of strings: {', '.join(columns) or 'none'}; there must be one",
            )
        names: list[str | None] = file.read(columns=columns)[columns[0]].to_pylist()
        return names


def read_npy(path: Path) -> NDArray[Any]:
    """The vectors of an .npy file, memory-mapped. Errors: ModelRefused if it holds none."""
    try:
        values: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ModelRefused(f"{path} is no array that can be read", in_one_line(error)) from error
    if not isinstance(values, np.ndarray):
        raise ModelRefused(f"{path} holds several arrays", "it is an .npz, whatever its name")
    if values.ndim != 2 or values.dtype.kind != "f" or not values.size:
        raise ModelRefused(
            f"{path} holds no vectors",
            f"an array {values.shape} of {values.dtype}; it must be (n, dim) of floats",
        )
    return values


def _checked(path: Path, values: NDArray[Any], words: Path) -> NamedRows:
    names = read_names(words)
    if len(names) != len(values):
        raise ModelRefused(
            f"{path.name} and {words.name} do not belong together",
            f"{len(values)} vectors and {len(names)} words",
        )
    return NamedRows(names, values)


def _open(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb"))


def _header(line: bytes) -> tuple[int, int] | None:
    """Numbers of words and dimensions, where a first line is just that."""
    parts = line.split()
    is_header = len(parts) == 2 and all(p.isdigit() and len(p) < 16 for p in parts)
    n_words, dim = map(int, parts) if is_header else (0, 0)
    return (n_words, dim) if 0 < dim <= MOST_DIMENSIONS else None


def _text_rows(path: Path) -> Iterator[tuple[str, FloatArray]]:
    """Words and vectors of a text file, with or without the header "words dimensions"."""
    wanted: int | None = None
    dim: int | None = None
    n_rows = number = 0
    try:
        with _open(path) as stream:
            for number, raw in enumerate(stream, 1):
                line = raw.removeprefix(UTF8_MARK) if number == 1 else raw
                header = _header(line) if number == 1 else None
                if header is not None:
                    wanted, dim = header
                    continue
                dim = dim or len(line.split()) - 1
                yield _text_row(path, number, line, dim)
                n_rows += 1
    except TORN_GZIP as error:
        raise ModelRefused(f"{path} is cut short after line {number}", str(error)) from error
    if wanted not in (None, n_rows):
        raise ModelRefused(
            f"{path} is cut short or not what its header says",
            f"its header says {wanted} words, and it holds {n_rows} up to line {number}",
        )


def _text_row(path: Path, number: int, line: bytes, dim: int) -> tuple[str, FloatArray]:
    """A line's word and vector. A word may hold spaces, but does not end in a number."""
    parts = line.rstrip().rsplit(None, dim)
    words = parts[0].split() if parts else []
    if len(parts) != dim + 1 or dim < 1 or (len(words) > 1 and _is_number(words[-1])):
        n_fields = len(line.split())
        raise ModelRefused(
            f"line {number} of {path} is torn or of another width",
            f"it has {n_fields} fields, where a word and {dim} numbers belong",
        )
    try:
        values = np.array([float(part) for part in parts[1:]], dtype=np.float32)
    except ValueError as error:
        raise ModelRefused(f"line {number} of {path} is no vector", in_one_line(error)) from error
    if not np.isfinite(values).all():
        raise ModelRefused(f"line {number} of {path} holds a number that is not finite")
    return parts[0].decode(errors="replace"), values


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _binary_rows(path: Path) -> Iterator[tuple[str, FloatArray]]:
    """Words and vectors of a word2vec binary: a header, then words and float32 bytes in turn."""
    try:
        with _open(path) as stream:
            header = _header(stream.readline(LONGEST_WORD))
            if header is None:
                raise ModelRefused(
                    f"{path} is no word2vec binary",
                    "it does not begin with the number of words and of dimensions",
                    "a fastText .bin is another format: give its .vec",
                )
            n_words, dim = header
            for place in range(1, n_words + 1):
                yield _binary_row(path, stream, place, dim)
            if stream.read().strip():
                raise ModelRefused(f"{path} goes on after the {n_words} words of its header")
    except TORN_GZIP as error:
        raise ModelRefused(f"{path} is cut short", str(error)) from error


def _binary_row(path: Path, stream: IO[bytes], place: int, dim: int) -> tuple[str, FloatArray]:
    word = bytearray()
    while (byte := stream.read(1)) not in (b" ", b"") and len(word) < LONGEST_WORD:
        word += byte
    raw = stream.read(4 * dim)
    if byte != b" " or len(raw) != 4 * dim:
        raise ModelRefused(f"{path} is cut short", f"within word {place}")
    values = np.frombuffer(raw, dtype="<f4")
    if not np.isfinite(values).all():
        raise ModelRefused(f"word {place} of {path} has a number that is not finite")
    name = bytes(word).lstrip(b"\n")
    if b"\n" in name:
        raise ModelRefused(f"word {place} of {path} holds an end of line", repr(name[:60]))
    return name.decode(errors="replace"), values
