"""One growing .npy file: a header of fixed size, so that rows are appended without a rewrite.

Any reader of npy opens it. How many items count is the journal's word: writers keep the header's
count up to date, readers of ours do not look at it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from patcache.errors import VectorsDamaged
from patcache.vectors.disk import explained, readable, reserve, write_all

HEADER_BYTES = 128
READ_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class NpyFile:
    """The file, what it holds and how wide a row is; width None: a flat array."""

    path: Path
    dtype: np.dtype[Any]
    width: int | None = None

    @property
    def item_bytes(self) -> int:
        """Bytes of one row (of one number, in a flat array)."""
        return self.dtype.itemsize * (1 if self.width is None else self.width)

    def end_of(self, length: int) -> int:
        """Where an array of so many items ends in the file."""
        return HEADER_BYTES + length * self.item_bytes

    def check(self, length: int) -> None:
        """Errors: VectorsDamaged: another dtype, width or order, or fewer items than `length`;
        VectorsUnreadable."""
        if length == 0 and not self.path.exists():
            return
        try:
            with readable(self.path), self.path.open("rb") as stream:
                if npy.read_magic(stream) != (1, 0):
                    raise ValueError("not npy version 1.0")
                shape, is_fortran, dtype = npy.read_array_header_1_0(stream)
                data_starts = stream.tell()
        except FileNotFoundError as error:
            raise self._damaged(f"it is gone; the journal says {length:,} rows") from error
        except (ValueError, OSError) as error:
            if length == 0:
                return  # a writer died while it made the file
            raise self._damaged(f"its header cannot be read: {error}") from error
        self._check_header(shape, is_fortran, dtype, data_starts)
        size = self.path.stat().st_size
        if size < self.end_of(length):
            needed = self.end_of(length)
            raise self._damaged(f"it has {size:,} bytes; the journal's {length:,} need {needed:,}")

    def _check_header(
        self, shape: tuple[int, ...], is_fortran: bool, dtype: np.dtype[Any], data_starts: int
    ) -> None:
        if dtype != self.dtype:
            raise self._damaged(f"its dtype is {dtype}, the spec's {self.dtype}")
        if is_fortran and len(shape) > 1:
            raise self._damaged("its order is Fortran's, not C's")
        if shape[1:] != (() if self.width is None else (self.width,)):
            raise self._damaged(f"its shape is {shape}, the spec's dimension {self.width}")
        if data_starts != HEADER_BYTES:
            raise self._damaged(f"its header has {data_starts} bytes, not {HEADER_BYTES}")

    def map(self, length: int) -> NDArray[Any]:
        """The first `length` items, memory-mapped, read-only."""
        shape = (length,) if self.width is None else (length, self.width)
        if length == 0 or self.width == 0:
            return np.zeros(shape, dtype=self.dtype)
        return np.memmap(self.path, dtype=self.dtype, mode="r", offset=HEADER_BYTES, shape=shape)

    def cut(self, length: int) -> None:
        """Ends the file after `length` items, header included; makes it where it is not there.

        Errors: WriteFailed.
        """
        with explained(self.path, HEADER_BYTES), self._opened(os.O_CREAT) as descriptor:
            os.ftruncate(descriptor, self.end_of(length))
            self._write_at(descriptor, self._header(length), 0)

    def write(self, items: NDArray[Any], at: int) -> str:
        """Puts items after the first `at`, on disk when this returns; sha256 of their bytes.

        Errors: WriteFailed; what is behind the first `at` items is then undefined.
        """
        data = np.ascontiguousarray(items, dtype=self.dtype)
        raw = data.reshape(-1).view(np.uint8).data if data.size else memoryview(b"")
        with explained(self.path, len(raw)), self._opened() as descriptor:
            reserve(descriptor, self.end_of(at), len(raw))
            self._write_at(descriptor, raw, self.end_of(at))
            self._write_at(descriptor, self._header(at + len(data)), 0)
            os.fsync(descriptor)
        return hashlib.sha256(raw).hexdigest()

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Items start..stop, read into memory."""
        width = 1 if self.width is None else self.width
        count = (stop - start) * width
        items = np.fromfile(self.path, self.dtype, count, offset=self.end_of(start))
        return items if self.width is None else items.reshape(-1, width)

    def read_through(self, length: int) -> None:
        """Brings the first `length` items into the memory of the system, in order."""
        with self.path.open("rb", buffering=0) as stream:
            while stream.tell() < self.end_of(length) and stream.read(READ_BYTES):
                pass

    def checksum(self, start: int, stop: int) -> str:
        """sha256 of the bytes of items start..stop, as they are on disk."""
        digest = hashlib.sha256()
        left = (stop - start) * self.item_bytes
        with self.path.open("rb") as stream:
            stream.seek(self.end_of(start))
            while left > 0 and (piece := stream.read(min(left, READ_BYTES))):
                digest.update(piece)
                left -= len(piece)
        return digest.hexdigest()

    def _header(self, length: int) -> bytes:
        """npy version 1.0, padded to HEADER_BYTES whatever the length."""
        shape = f"({length},)" if self.width is None else f"({length}, {self.width})"
        text = (
            f"{{'descr': '{npy.dtype_to_descr(self.dtype)}', "
            f"'fortran_order': False, 'shape': {shape}, }}"
        )
        start = npy.magic(1, 0)
        size = HEADER_BYTES - len(start) - 2
        return start + size.to_bytes(2, "little") + text.ljust(size - 1).encode("latin1") + b"\n"

    @contextmanager
    def _opened(self, flags: int = 0) -> Iterator[int]:
        descriptor = os.open(self.path, os.O_RDWR | flags | getattr(os, "O_BINARY", 0), 0o666)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _write_at(self, descriptor: int, raw: memoryview | bytes, offset: int) -> None:
        os.lseek(descriptor, offset, os.SEEK_SET)
        write_all(descriptor, raw)

    def _damaged(self, why: str) -> VectorsDamaged:
        return VectorsDamaged(
            f"{self.path} is not what its journal says",
            why,
            f"restore a copy, or delete {self.path.parent} and embed again",
        )
