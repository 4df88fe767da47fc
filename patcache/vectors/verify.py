"""Reading every byte of a spec's vectors against what was written, and what can still be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import VectorsDamaged, VectorsUnreadable
from patcache.records import Progress, Spec
from patcache.vectors.journal import JOURNAL_NAME, Block, scan_journal
from patcache.vectors.keys import first_of_each
from patcache.vectors.layout import KEYS, files_of
from patcache.vectors.npyfile import NpyFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIECE_BYTES = 1 << 24
LENGTH_TOLERANCE = {"float32": 1e-4, "float16": 2e-3}  # of a vector that should have length 1
WRONG_CHECKSUM = "its checksum is not the one in the journal"
NOT_FINITE = "not a number or infinite, as the model gave it: such tuples are undefined"
NOT_UNIT = "its length is not 1, though the spec says so; as the model gave it"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one file; start, stop: in which rows, where it is known.

    is_damage: not what was written. Else the model gave it so, and encoding again gives the same.
    """

    file: str
    why: str
    start: int | None = None
    stop: int | None = None
    is_damage: bool = True

    @property
    def rows(self) -> str | None:
        """The rows for people, counted from 0."""
        if self.start is None or self.stop is None:
            return None
        last = self.stop - 1
        return f"{self.start:,}" if self.start == last else f"{self.start:,} to {last:,}"


@dataclass(frozen=True, slots=True)
class Span:
    """A block, and how many items each file has before it."""

    block: Block
    before: Mapping[str, int]

    @property
    def size_items(self) -> Mapping[str, int]:
        return {name: stop - self.before[name] for name, stop in self.block.lengths.items()}


@dataclass(frozen=True, slots=True)
class Checked:
    """n_rows: that the journal names. intact: the blocks that are what was written."""

    n_rows: int
    faults: list[Fault]
    intact: list[Span]

    @property
    def n_intact(self) -> int:
        return sum(span.block.stop - span.block.start for span in self.intact)

    @property
    def is_damaged(self) -> bool:
        return any(fault.is_damage for fault in self.faults)


def check_rows(folder: Path, spec: Spec, progress: Progress | None = None) -> Checked:
    """What is wrong with the journal, the arrays and the keys of a folder.

    A torn tail, which a killed writer left, is nothing wrong. progress: in bytes. Errors:
    VectorsUnreadable.
    """
    journal = scan_journal(folder)
    files = files_of(folder, spec)
    faults = [Fault(JOURNAL_NAME, f"line {number}: {why}") for number, why in journal.faults]
    last = journal.blocks[-1] if journal.blocks else None
    for name, file in files.items():
        faults += _header_faults(file, last.lengths[name] if last else 0)
    intact: list[Span] = []
    total = sum(file.end_of(last.lengths[name]) for name, file in files.items()) if last else 0
    done = 0
    for span in _spans(files, journal.blocks):
        found = list(_byte_faults(files, span))
        if not found:
            intact.append(span)
            found = list(_value_faults(files, span, spec))
        faults += found
        done += sum(files[name].item_bytes * n for name, n in span.size_items.items())
        if progress is not None:
            progress(done, total)
    again = _repeated_keys(files[KEYS], intact)
    faults += [Fault("keys.npy", "an earlier row has the same key", r, r + 1) for r in again]
    kept = [s for s in intact if not any(s.block.start <= r < s.block.stop for r in again)]
    return Checked(last.stop if last else 0, _joined(faults), kept)


def _header_faults(file: NpyFile, length: int) -> Iterator[Fault]:
    try:
        file.check(length)
    except VectorsUnreadable:
        raise
    except VectorsDamaged as error:
        yield Fault(file.path.name, error.why)


def _spans(files: Mapping[str, NpyFile], blocks: Sequence[Block]) -> Iterator[Span]:
    """Every block with what lies before it, also where the line above it is lost."""
    before: Mapping[str, int] = dict.fromkeys(files, 0)
    stop = 0
    for block in blocks:
        if block.start != stop:
            before = _lengths_at(files, block.start)
        yield Span(block, before)
        before, stop = block.lengths, block.stop


def _lengths_at(files: Mapping[str, NpyFile], row: int) -> dict[str, int]:
    """Items of each file before a row, where no line of the journal says it."""
    if "indptr" not in files:
        return dict.fromkeys(files, row)
    try:
        n_numbers = int(files["indptr"].read(row, row + 1)[0])
    except (OSError, IndexError):
        n_numbers = 0  # its checksum will not fit
    return {"indices": n_numbers, "data": n_numbers, "indptr": row + 1, KEYS: row}


def _byte_faults(files: Mapping[str, NpyFile], span: Span) -> Iterator[Fault]:
    """Files whose bytes of a block are not those that were written."""
    block = span.block
    for name, file in files.items():
        try:
            found = file.checksum(span.before[name], block.lengths[name])
            why = "" if found == block.checksums[name] else WRONG_CHECKSUM
        except OSError as error:
            why = f"it cannot be read: {error.strerror or error}"
        if why:
            yield Fault(file.path.name, why, block.start, block.stop)
    if block.lengths[KEYS] != block.stop:
        why = f"{block.lengths[KEYS]:,} keys for {block.stop:,} rows"
        yield Fault(files[KEYS].path.name, why, block.start, block.stop)


def _value_faults(files: Mapping[str, NpyFile], span: Span, spec: Spec) -> Iterator[Fault]:
    """Rows of an intact block that are no numbers, or whose length is wrong."""
    is_unit = bool(spec.identity.get("normalize")) and not spec.is_pairs
    name = "data" if spec.sparse else "vectors"
    for start, squares in _squared_lengths(files, span):
        is_finite = np.isfinite(squares)
        yield from _row_faults(files[name], start, ~is_finite, NOT_FINITE)
        if is_unit:
            lengths = np.sqrt(np.where(is_finite, squares, 1.0))
            is_off = (np.abs(lengths - 1.0) > LENGTH_TOLERANCE[spec.storage]) & (lengths > 0)
            yield from _row_faults(files[name], start, is_off, NOT_UNIT)


def _squared_lengths(
    files: Mapping[str, NpyFile], span: Span
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """First row and squared lengths (n,) of a block's rows, a piece at a time."""
    start, stop = span.block.start, span.block.stop
    if "vectors" in files:
        file = files["vectors"]
        step = max(1, PIECE_BYTES // max(1, file.item_bytes))
        for first in range(start, stop, step):
            piece: Any = file.read(first, min(first + step, stop)).astype(np.float64)
            yield first, np.einsum("ij,ij->i", piece, piece)
        return
    indptr = files["indptr"].read(start, stop + 1)
    data = files["data"].read(int(indptr[0]), int(indptr[-1])).astype(np.float64)
    rows = np.repeat(np.arange(stop - start), np.diff(indptr))
    squares = np.bincount(rows, weights=data * data, minlength=stop - start)
    yield start, squares.astype(np.float64)


def _row_faults(file: NpyFile, start: int, is_bad: NDArray[np.bool_], why: str) -> Iterator[Fault]:
    edges = np.flatnonzero(np.diff(is_bad, prepend=False, append=False)) + start
    for first, stop in edges.reshape(-1, 2).tolist():  # a stretch of bad rows begins and ends
        yield Fault(file.path.name, why, first, stop, is_damage=False)


def _repeated_keys(file: NpyFile, intact: Sequence[Span]) -> list[int]:
    """Rows of intact blocks whose key an earlier row has."""
    if not intact:
        return []
    keys = np.concatenate([file.read(s.block.start, s.block.stop) for s in intact])
    rows = np.concatenate([np.arange(s.block.start, s.block.stop) for s in intact])
    is_again = np.ones(len(keys), dtype=np.bool_)
    is_again[first_of_each(keys)] = False
    found: list[int] = rows[is_again].tolist()
    return found


def _joined(faults: Sequence[Fault]) -> list[Fault]:
    """Faults of one kind in rows that follow each other as one, by file and row."""
    joined: list[Fault] = []
    for fault in sorted(faults, key=lambda f: (f.file, f.why, f.start or 0)):
        last = joined[-1] if joined else None
        is_next = last is not None and (last.file, last.why) == (fault.file, fault.why)
        if last is not None and is_next and fault.start is not None and last.stop == fault.start:
            joined[-1] = replace(last, stop=fault.stop)
        else:
            joined.append(fault)
    return joined
