"""Reading arrays with an id for each row: npy and safetensors with ids beside them, Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.converted import NamedRows, convert
from patcache.embedders.tensors import open_tensors
from patcache.embedders.word_files import read_names, read_npy
from patcache.errors import ModelRefused, in_one_line
from patcache.hashing import settings_digest, unchanged_digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import FloatArray

ID_NAMES = ("publication_number", "id")  # of the column of ids, where none is named
READ_ROWS = 8192


def read_rows(
    path: Path, ids: Path | None, settings: Mapping[str, Any], cache: Path | None
) -> NamedRows:
    """The rows of a file and their ids; a Parquet file is converted once. Errors: ModelRefused."""
    if not path.is_file():
        raise ModelRefused(f"{path} holds no vectors", "it is a folder; vectors are in one file")
    _refuse_unread(path, ids, settings)
    if path.suffix == ".parquet":
        key = f"{unchanged_digest(path)[:24]}{_columns_key(settings)}"
        rows = convert(_parquet_blocks(path, settings), key, cache)
        if not rows.names:
            raise ModelRefused(f"{path} holds no vector")
        return rows
    if path.suffix not in _READERS:
        known = ", ".join((*_READERS, ".parquet"))
        raise ModelRefused(f"{path} holds no vectors", f"they are read from {known}")
    if ids is None:
        raise ModelRefused(f"nothing says which row of {path.name} is whose")
    values = _READERS[path.suffix](path, settings["tensor"])
    names = _read_ids(ids, settings["id_column"])
    if len(names) != len(values):
        raise ModelRefused(
            f"{path.name} and {ids.name} do not belong together",
            f"{len(values)} vectors and {len(names)} ids",
        )
    return NamedRows(names, values)


def _refuse_unread(path: Path, ids: Path | None, settings: Mapping[str, Any]) -> None:
    """Errors: ModelRefused for a setting that says nothing about such a file."""
    is_table = path.suffix == ".parquet"
    asked = {**settings, "ids": ids}
    unread = {
        "ids": is_table,
        "vector_column": not is_table,
        "tensor": path.suffix != ".safetensors",
        "id_column": not is_table and ids is not None and ids.suffix != ".csv",
    }
    for name in unread:
        if unread[name] and asked[name] is not None:
            raise ModelRefused(
                f"the setting {name} says nothing about {path.name}",
                f"it was given as {str(asked[name])!r}, and would not be read",
                f"leave {name} out",
            )


def _columns_key(settings: Mapping[str, Any]) -> str:
    """Digits that tell one choice of columns from another."""
    return settings_digest({name: settings[name] for name in ("id_column", "vector_column")})[:8]


def _read_tensor(path: Path, name: str | None) -> NDArray[Any]:
    """The tensor of a name, or the only one with rows and columns."""
    try:
        tensors = open_tensors(path)
    except (OSError, ValueError) as error:
        raise ModelRefused(f"{path} cannot be read", in_one_line(error)) from error
    tables = {k: t for k, t in tensors.items() if t.ndim == 2 and t.size and t.dtype.kind == "f"}
    found = [tables[name]] if name in tables else list(tables.values()) if name is None else []
    if len(found) != 1:
        raise ModelRefused(
            f"{path} does not say which of its tensors are the vectors",
            f"tensors (n, dim) of floats in it: {', '.join(tables) or 'none'}",
            "give the setting tensor=NAME",
        )
    return found[0]


def _read_ids(path: Path, column: str | None) -> list[str]:
    """The ids that a file gives to rows. Errors: ModelRefused."""
    try:
        if path.suffix == ".npy":
            return _npy_ids(path)
        if path.suffix == ".csv":
            return _csv_ids(path, column)
    except (OSError, ValueError, EOFError, csv.Error) as error:
        raise ModelRefused(f"{path} holds no ids that can be read", in_one_line(error)) from error
    return read_names(path)


def _npy_ids(path: Path) -> list[str]:
    array = np.load(path, allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "US":
        raise ModelRefused(f"{path} holds no ids", "it must be an array (n,) of strings")
    decoded = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    names: list[str] = decoded.tolist()
    return names


def _csv_ids(path: Path, column: str | None) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream)
        header = next(rows, [])
        place = header.index(_column(path, header, column, ID_NAMES, "id_column"))
        names = []
        for row in filter(None, rows):
            if len(row) <= place:
                raise ModelRefused(f"line {rows.line_num} of {path.name} has no {header[place]}")
            names.append(row[place])
        return names


def _column(
    path: Path, columns: Sequence[str], asked: str | None, known: Sequence[str], setting: str
) -> str:
    """The column that is asked for, of a known name, or the only one. Errors: ModelRefused."""
    wanted = (asked,) if asked else known
    found = [name for name in wanted if name in columns][:1]
    if not found and not asked and len(columns) == 1:
        return columns[0]
    if not found:
        raise ModelRefused(
            f"{path.name} has no column {' or '.join(wanted) or 'of vectors'}",
            f"its columns of that kind: {', '.join(columns) or 'none'}",
            f"name the one that is meant: --set {setting}=NAME",
        )
    return found[0]


def _parquet_blocks(
    path: Path, settings: Mapping[str, Any]
) -> Iterator[tuple[list[str], FloatArray]]:
    """Ids and vectors of a Parquet file, batch by batch. Errors: ModelRefused."""
    import pyarrow as pa

    try:
        yield from _table_blocks(path, settings)
    except (pa.ArrowException, OSError) as error:
        raise ModelRefused(f"{path} is no Parquet file", in_one_line(error)) from error


def _table_blocks(
    path: Path, settings: Mapping[str, Any]
) -> Iterator[tuple[list[str], FloatArray]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        lists = [field.name for field in file.schema_arrow if _is_list(pa, field.type)]
        others = [name for name in file.schema_arrow.names if name not in lists]
        ids = _column(path, others, settings["id_column"], ID_NAMES, "id_column")
        vectors = _column(path, lists, settings["vector_column"], (), "vector_column")
        first, dim = 0, None
        for batch in file.iter_batches(READ_ROWS, columns=[ids, vectors]):
            names = _names(path, batch.column(ids).to_pylist(), first)
            values = _matrix(path, batch.column(vectors), first, dim)
            first, dim = first + len(names), values.shape[1]
            yield names, values


def _is_list(pa: Any, kind: Any) -> bool:
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and types.is_floating(kind.value_type))


def _matrix(path: Path, column: Any, first: int, dim: int | None) -> FloatArray:
    """Lists of a batch as rows. Errors: ModelRefused, with the row where one is not like others."""
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    dim = int(lengths[0]) if dim is None and len(lengths) else dim
    wrong = np.flatnonzero((lengths != dim) | (lengths == 0))
    if len(wrong):
        row = wrong[0]
        raise ModelRefused(
            f"row {first + row + 1} of {path.name} has {int(lengths[row])} numbers",
            f"every vector must have as many as the first, {dim}" if dim else "",
            "leave patents without a vector out of the file",
        )
    flat = column.flatten()
    if flat.null_count:
        raise ModelRefused(f"{path.name} has vectors with empty places, near row {first + 1}")
    values: FloatArray = flat.to_numpy(zero_copy_only=False).astype(np.float32).reshape(-1, dim)
    return values


def _names(path: Path, ids: Sequence[Any], first: int) -> list[str]:
    """Ids as text. Errors: ModelRefused for one that is none."""
    names = ["" if value is None else str(value) for value in ids]
    for row, name in enumerate(names):
        if "\n" in name or not name:
            raise ModelRefused(f"the id in row {first + row + 1} cannot be {ids[row]!r}", str(path))
    return names


_READERS: Mapping[str, Any] = {
    ".npy": lambda path, tensor: read_npy(path),
    ".safetensors": _read_tensor,
}
