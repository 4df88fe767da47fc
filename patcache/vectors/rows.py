"""The vectors of one spec on disk: row i of the arrays belongs to key i.

A block is written as vectors, then keys, then (both on disk) its line in the journal. What no
line names does not exist, so a process killed at any byte loses at most the running block, and
the next writer continues where the journal ends: the finished files are those of a run that
nothing interrupted.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeAlias, TypeVar

import numpy as np

from patcache.errors import ModelRefused, WriteFailed
from patcache.records import Spec
from patcache.vectors.disk import explained, sync_folder
from patcache.vectors.folder import check_spec, write_spec, writer_lock
from patcache.vectors.journal import Block, Run, append_block, cut_torn_line, read_journal
from patcache.vectors.keys import KeyIndex, first_of_each, rows_in_order
from patcache.vectors.layout import DTYPES, KEYS, files_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from patcache.records import FloatArray, IntArray, KeyArray

READ_AHEAD_SHARE = 0.1
Vectors = TypeVar("Vectors")


class Rows(ABC, Generic[Vectors]):
    """Vectors by row and by key; see `open_rows`.

    Readers see the rows there were when they opened the folder.
    """

    def __init__(self, folder: Path, spec: Spec) -> None:
        self.folder = folder
        self.spec = spec
        self.files = files_of(folder, spec)
        self.blocks: list[Block] = []
        self._indexes: list[tuple[int, KeyIndex]] = []
        self._n_indexed = 0
        self._is_writing = False
        check_spec(folder, spec)
        self._reload()

    @property
    def n_rows(self) -> int:
        return self.blocks[-1].stop if self.blocks else 0

    @property
    def size_bytes(self) -> int:
        """Bytes of the arrays that the journal names."""
        return sum(file.end_of(self._length(name)) for name, file in self.files.items())

    @property
    def dtype(self) -> np.dtype[Any]:
        """What numbers are stored as."""
        return DTYPES[self.spec.storage]

    def missing(self, keys: KeyArray) -> IntArray:
        """Positions of the keys that have no row: the first of each distinct key, in order."""
        absent = np.flatnonzero(self.rows_of(keys) < 0)
        return absent[first_of_each(keys[absent])]

    def rows_of(self, keys: KeyArray) -> IntArray:
        """Row of each key (len(keys),); -1 where it has none."""
        rows = rows_in_order(self.keys, keys)  # texts are mostly asked for as they were encoded
        others = np.flatnonzero(rows < 0)
        if len(others) and self.n_rows:
            for start, index in self._indexes_of_all():
                found = index.rows_of(keys[others])
                rows[others] = np.where(found < 0, rows[others], found + start)
        return rows

    def _indexes_of_all(self) -> list[tuple[int, KeyIndex]]:
        """Indexes that cover every row, each with its first row; appended rows get one more."""
        n_indexed = self._n_indexed
        if n_indexed < self.n_rows:
            self._indexes.append((n_indexed, KeyIndex(self.keys[n_indexed:])))
            self._n_indexed = self.n_rows
        return self._indexes

    @contextmanager
    def writing(self, wait_s: float = 0.0) -> Iterator[Self]:
        """The right to append, for one process at a time; the rows are then those of this moment.

        wait_s: how long to wait for another writer. Errors: VectorsBusy, naming the process that
        has the right; VectorsDamaged; WriteFailed.
        """
        self._make_folder()
        with writer_lock(self.folder, wait_s):
            if not check_spec(self.folder, self.spec):
                write_spec(self.folder, self.spec)
            cut_torn_line(self.folder)
            self._reload()
            self._cut_files()
            with explained(self.folder):
                sync_folder(self.folder)
            self._is_writing = True
            try:
                yield self
            finally:
                self._is_writing = False

    def append(self, keys: KeyArray, vectors: Vectors, run: Run) -> None:
        """Adds a block: row i for keys[i], on disk when this returns.

        Errors: ValueError for another shape or outside `writing`; ModelRefused where a value does
        not fit the storage dtype; WriteFailed, and then nothing of the block exists.
        """
        if not self._is_writing:
            raise ValueError("rows are appended inside `with rows.writing()`")
        arrays = {**self._arrays(vectors), KEYS: keys}
        if self._count(vectors) != len(keys):
            raise ValueError(f"{self._count(vectors)} vectors for {len(keys)} keys")
        try:
            block = self._write_block(arrays, run)
        except WriteFailed:
            with suppress(WriteFailed):  # else the next writer does it
                self._cut_files()
            raise
        self.blocks.append(block)
        self._map()

    def read_ahead(self, n_wanted: int) -> None:
        """Reads the files once in order where many of their rows are wanted and memory allows.

        Single rows of a cold file come one disk access each; above a tenth of them that is slower.
        """
        if n_wanted > READ_AHEAD_SHARE * self.n_rows and self.size_bytes < _memory_bytes() // 2:
            for name, file in self.files.items():
                file.read_through(self._length(name))

    @abstractmethod
    def gather(self, rows: IntArray | slice) -> Vectors:
        """Vectors of some rows as float32, row i for rows[i]; of a slice without a copy."""

    @abstractmethod
    def _arrays(self, vectors: Vectors) -> dict[str, NDArray[Any]]:
        """What each vector file gets of a block. Errors: ValueError, ModelRefused."""

    @abstractmethod
    def _count(self, vectors: Vectors) -> int: ...

    def _stored(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values in the storage dtype.

        Errors: ModelRefused where a finite one would overflow, or nothing be left of a vector.
        """
        with np.errstate(over="ignore"):
            stored = values.astype(self.dtype, copy=False)
        if stored.dtype == values.dtype:
            return stored
        if (np.isfinite(values) & ~np.isfinite(stored)).any():
            self._refuse(f"the largest value is {np.abs(values[np.isfinite(values)]).max():.4g}")
        if values.ndim == 2:
            n_lost = int(((stored == 0).all(axis=1) & (values != 0).any(axis=1)).sum())
            if n_lost:
                self._refuse(f"nothing would be left of {n_lost:,} of {len(values):,}: too short")
        return stored

    def _refuse(self, why: str) -> NoReturn:
        raise ModelRefused(
            f"the vectors of {self.spec.label} do not fit {self.spec.storage}",
            why,
            "store them as they are: --storage float32",
        )

    def _length(self, name: str) -> int:
        """Items of a file that the journal names."""
        return self.blocks[-1].lengths[name] if self.blocks else 0

    def _make_folder(self) -> None:
        with explained(self.folder):
            if not self.folder.exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                sync_folder(self.folder.parent)

    def _cut_files(self) -> None:
        """Ends every file where the journal says."""
        for name, file in self.files.items():
            file.cut(self._length(name))

    def _write_block(self, arrays: Mapping[str, NDArray[Any]], run: Run) -> Block:
        """Arrays first, each on disk, then the line that makes them exist."""
        lengths, checksums = {}, {}
        for name, file in self.files.items():
            at = self._length(name)
            checksums[name] = file.write(arrays[name], at)
            lengths[name] = at + len(arrays[name])
        block = Block(self.n_rows, self.n_rows + len(arrays[KEYS]), lengths, checksums, run)
        append_block(self.folder, block)
        return block

    def _reload(self) -> None:
        self.blocks = read_journal(self.folder)
        for name, file in self.files.items():
            file.check(self._length(name))
        self._indexes, self._n_indexed = [], 0
        self._map()

    def _map(self) -> None:
        self.arrays = {name: file.map(self._length(name)) for name, file in self.files.items()}
        self.keys: KeyArray = self.arrays[KEYS]


class DenseRows(Rows["FloatArray"]):
    """vectors.npy: (n, dim), float32 or float16."""

    def gather(self, rows: IntArray | slice) -> FloatArray:
        """Vectors (len(rows), dim) float32; those of a slice are a view where stored so."""
        return self.arrays["vectors"][rows].astype(np.float32, copy=False)

    def _arrays(self, vectors: FloatArray) -> dict[str, NDArray[Any]]:
        if vectors.ndim != 2 or vectors.shape[1] != self.spec.dim:
            raise ValueError(f"vectors {vectors.shape} for a spec of dimension {self.spec.dim}")
        return {"vectors": self._stored(vectors)}

    def _count(self, vectors: FloatArray) -> int:
        return len(vectors)


def _memory_bytes() -> int:
    """Memory of the machine; none where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


AnyRows: TypeAlias = "Rows[FloatArray] | Rows[csr_array]"


def open_rows(folder: Path, spec: Spec) -> AnyRows:
    """The rows of a spec, dense or sparse; none where the folder does not exist yet.

    Errors: VectorsDamaged where the folder is of another spec, or a file is not what the journal
    says: dtype, dimension, order, length.
    """
    if spec.sparse:
        from patcache.vectors.sparse import SparseRows

        return SparseRows(folder, spec)
    return DenseRows(folder, spec)
