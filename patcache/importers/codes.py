"""The IPC codes of a column of records, read by the batch: distinct texts once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from patcache.ipc import IpcCode, Reading, is_design_or_plant, read, split

if TYPE_CHECKING:
    from patcache.records import BoolArray, IntArray

MEMO_SIZE = 1 << 18
NO_CODE = "no IPC code"
DESIGN_OR_PLANT = "class of designs or plants, not an IPC code"

_read = lru_cache(maxsize=MEMO_SIZE)(read)


@lru_cache(maxsize=MEMO_SIZE)
def _readings(text: str) -> tuple[Reading, ...]:
    """What the parts of a listing are; the same listings and codes come again and again."""
    return tuple(map(_read, split(text)))


@dataclass(frozen=True, slots=True)
class CodeColumn:
    """The codes of n records.

    Shapes: codes (K,) the distinct ones; main (n,) places in codes, -1 where a record has none;
    members (total,) places in codes, record i has members[offsets[i]:offsets[i + 1]], the main
    code first, no repeats; n_ignored (n,) listed texts that are no code.
    """

    codes: tuple[IpcCode, ...]
    main: IntArray
    members: IntArray
    offsets: IntArray
    n_ignored: IntArray

    def lists(self) -> pa.ListArray:
        """The canonical codes of each record."""
        names = pa.array(list(map(attrgetter("code"), self.codes)), pa.string())
        return pa.ListArray.from_arrays(
            pa.array(self.offsets, pa.int32()), names.take(pa.array(self.members))
        )

    def level(self, name: str) -> pa.Array:
        """One level of the main code of each record: 'section', 'subclass' ...; null without."""
        names = pa.array(list(map(attrgetter(name), self.codes)), pa.string())
        return names.take(pa.array(self.main, mask=self.main < 0))


@dataclass(frozen=True, slots=True)
class _Parts:
    """The codes listed in distinct texts: text u has parts starts[u]:starts[u] + counts[u]."""

    codes: tuple[IpcCode, ...]
    places: IntArray  # in codes, -1 for what is no code
    is_first: BoolArray
    counts: IntArray
    starts: IntArray


def read_codes(column: pa.ChunkedArray) -> CodeColumn:
    """The codes of a column of texts or of lists of texts.

    The main code of a record is the one flagged first, else the first listed that is one.
    """
    rows, texts = _elements(column)
    encoded = texts.dictionary_encode()
    parts = _parts_of(encoded.dictionary.to_pylist())
    which = encoded.indices.to_numpy()
    counts = parts.counts[which]
    row = np.repeat(rows, counts)
    ends = np.cumsum(counts)
    part = np.repeat(parts.starts[which] - (ends - counts), counts) + np.arange(len(row))
    place, is_first = parts.places[part], parts.is_first[part]
    is_code = place >= 0
    n_ignored = np.bincount(row[~is_code], minlength=len(column))
    row, place = _in_order(row[is_code], place[is_code], is_first[is_code], len(parts.codes))
    offsets = np.searchsorted(row, np.arange(len(column) + 1))
    has_code = offsets[1:] > offsets[:-1]
    main = np.full(len(column), -1)
    main[has_code] = place[offsets[:-1][has_code]]
    return CodeColumn(parts.codes, main, place, offsets, n_ignored)


def why_no_code(texts: Iterable[str]) -> tuple[str, bool]:
    """The reason why a record has no IPC code, and whether that is out of scope, not a fault."""
    listed = [part for text in texts for part in split(text)]
    faults = [part for part in listed if not is_design_or_plant(part)]
    if faults:
        return _read(faults[0]).reason, False
    return (DESIGN_OR_PLANT if listed else NO_CODE), True


def _elements(column: pa.ChunkedArray) -> tuple[IntArray, pa.Array]:
    """The texts of a column, and the number of the record of each."""
    array = column.combine_chunks()
    rows = pa.array(np.arange(len(array)))
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        rows, array = pc.list_parent_indices(array), pc.list_flatten(array)
    is_valid = pc.is_valid(array)
    return rows.filter(is_valid).to_numpy().astype(np.int64), array.filter(is_valid)


def _parts_of(texts: list[str]) -> _Parts:
    known: dict[str, int] = {}
    codes: list[IpcCode] = []
    places: list[int] = []
    flags: list[bool] = []
    counts: list[int] = []
    for text in texts:
        readings = _readings(text)
        counts.append(len(readings))
        for reading in readings:
            code = reading.code
            if code is not None and code.code not in known:
                known[code.code] = len(codes)
                codes.append(code)
            places.append(-1 if code is None else known[code.code])
            flags.append(reading.is_first)
    lengths = np.array(counts, dtype=np.int64)
    return _Parts(
        tuple(codes),
        np.array(places, dtype=np.int64),
        np.array(flags, dtype=np.bool_),
        lengths,
        np.cumsum(lengths) - lengths,
    )


def _in_order(
    row: IntArray, place: IntArray, is_first: BoolArray, n_codes: int
) -> tuple[IntArray, IntArray]:
    """Within each record: codes flagged first, then the others as listed; repeats left out."""
    order = np.argsort(2 * row + ~is_first, kind="stable")
    row, place = row[order], place[order]
    _, kept = np.unique(row * max(n_codes, 1) + place, return_index=True)
    kept.sort()
    return row[kept], place[kept]
