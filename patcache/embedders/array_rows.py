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
from patcache.errors import ModelRefused
from patcache.hashing import settings_digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import FloatArray

ID_NAMES = ("publication_number", "id")  # of the column of ids, where none is named
READ_ROWS = 8192


def read_rows(
    path: Path, ids: Path | None, settings: Mapping[str, Any], digest: str, cache: Path | None
) -> NamedRows:
    """The rows of a file and their ids; a Parquet file is converted once. Errors: ModelRefused."""
    if path.suffix == ".parquet":
        key = f"{digest[:24]}{_columns_key(settings)}"
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


def _columns_key(settings: Mapping[str, Any]) -> str:
    """Digits that tell one choice of columns from another."""
    return settings_digest({name: settings[name] for name in ("id_column", "vector_column")})[:8]


def _read_tensor(path: Path, name: str | None) -> NDArray[Any]:
    """The tensor of a name, or the only one with rows and columns."""
    try:
        tensors = open_tensors(path)
    except (OSError, ValueError) as error:
        raise ModelRefused(f"{path} cannot be read", str(error)) from error
    tables = {key: t for key, t in tensors.items() if t.ndim == 2 and t.dtype.kind == "f"}
    found = [tables[name]] if name in tables else list(tables.values()) if name is None else []
    if len(found) != 1:
        raise ModelRefused(
            f"{path} does not say which of its tensors are the vectors",
            f"tensors (n, dim) of floats in it: {', '.join(tables) or 'none'}",
            "give the setting tensor=NAME",
        )
    return found[0]


def _read_ids(path: Path, column: str | None) -> list[str]:
    if path.suffix == ".npy":
        array = np.load(path, allow_pickle=False)
        if array.ndim != 1 or array.dtype.kind not in "US":
            raise ModelRefused(f"{path} holds no ids", "it must be an array (n,) of strings")
        decoded = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
        names: list[str] = decoded.tolist()
        return names
    if path.suffix != ".csv":
        return read_names(path)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream)
        header = next(rows, [])
        place = header.index(_column(path, header, column, ID_NAMES, "id_column"))
        return [row[place] for row in rows if row]


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
            f"its columns: {', '.join(columns)}",
            f"name the one that is meant: --set {setting}=NAME",
        )
    return found[0]


def _parquet_blocks(
    path: Path, settings: Mapping[str, Any]
) -> Iterator[tuple[list[str], FloatArray]]:
    """Ids and vectors of a Parquet file, batch by batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise ModelRefused(f"{path} is no Parquet file", str(error)) from error
    with file:
        lists = [field.name for field in file.schema_arrow if _is_list(pa, field.type)]
        others = [name for name in file.schema_arrow.names if name not in lists]
        ids = _column(path, others, settings["id_column"], ID_NAMES, "id_column")
        vectors = _column(path, lists, settings["vector_column"], (), "vector_column")
        first, dim = 0, None
        for batch in file.iter_batches(READ_ROWS, columns=[ids, vectors]):
            names = [str(name) for name in batch.column(ids).to_pylist()]
            values = _matrix(path, batch.column(vectors), first, dim)
            _check_names(path, names, first)
            first, dim = first + len(names), values.shape[1]
            yield names, values


def _is_list(pa: Any, kind: Any) -> bool:
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and types.is_floating(kind.value_type))


def _matrix(path: Path, column: Any, first: int, dim: int | None) -> FloatArray:
    """Lists of a batch as rows. Errors: ModelRefused, with the row where one is not like others."""
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(column), -1).to_numpy(zero_copy_only=False)
    dim = int(lengths[0]) if dim is None and len(lengths) else dim
    wrong = np.flatnonzero(lengths != dim)
    if len(wrong) or not dim or dim < 0:
        row = wrong[0] if len(wrong) else 0
        raise ModelRefused(
            f"row {first + row + 1} of {path.name} has {max(int(lengths[row]), 0)} numbers",
            f"every vector must have as many as the first, {dim}",
        )
    flat = column.flatten()
    if flat.null_count:
        raise ModelRefused(f"{path.name} has vectors with empty places, near row {first + 1}")
    values: FloatArray = flat.to_numpy(zero_copy_only=False).astype(np.float32).reshape(-1, dim)
    return values


def _check_names(path: Path, names: Sequence[str], first: int) -> None:
    for row, name in enumerate(names, first + 1):
        if "\n" in name or not name:
            raise ModelRefused(f"the id in row {row} of {path.name} cannot be", repr(name))


_READERS: Mapping[str, Any] = {
    ".npy": lambda path, tensor: read_npy(path),
    ".safetensors": _read_tensor,
}
