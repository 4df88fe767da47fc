"""Speeds of models as they were measured, kept by the spec whose vectors are encoded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patcache.hashing import canonical_json

if TYPE_CHECKING:
    import duckdb

FORGET = "DELETE FROM data.timings WHERE spec_id = ? AND device = ? AND batch = ?"
FORGET_ALL = "DELETE FROM data.timings WHERE spec_id = ?"
ADD = "INSERT INTO data.timings VALUES (?, ?, ?, ?, ?, ?, ?, ?, now(), ?)"
TIMINGS = """
SELECT spec_id, device, batch, n_texts, n_tuples, n_repeats, median_s, spread_s, provenance
FROM data.timings WHERE list_contains(?, spec_id) ORDER BY spec_id, device, batch"""


@dataclass(frozen=True, slots=True)
class Timing:
    """One speed. n_texts: of its n_tuples; pairs, of a scorer of pairs. batch: of them in a call.

    spec_id: the name of the folder of the vectors. median_s, spread_s: of repeats over all the
    texts; the spread is from the fastest to the slowest.
    """

    spec_id: str
    device: str
    batch: int
    n_texts: int
    n_tuples: int
    n_repeats: int
    median_s: float
    spread_s: float
    provenance: Mapping[str, Any]

    @property
    def s_per_text(self) -> float:
        return self.median_s / self.n_texts

    @property
    def s_per_tuple(self) -> float:
        return self.median_s / self.n_tuples


def add_timings(cursor: duckdb.DuckDBPyConnection, timings: Sequence[Timing]) -> None:
    """Keeps each timing in place of the one of the same spec, device and batch."""
    for each in timings:
        cursor.execute(FORGET, [each.spec_id, each.device, each.batch])
        counted = [each.n_texts, each.n_tuples, each.n_repeats, each.median_s, each.spread_s]
        row = [each.spec_id, each.device, each.batch, *counted]
        cursor.execute(ADD, [*row, canonical_json(each.provenance)])


def find_timings(cursor: duckdb.DuckDBPyConnection, vectors_ids: Sequence[str]) -> list[Timing]:
    """What was measured of some specs, by device and batch."""
    rows = cursor.execute(TIMINGS, [list(vectors_ids)]).fetchall()
    return [_timing(row) for row in rows]


def forget_timings(cursor: duckdb.DuckDBPyConnection, vectors_id: str) -> None:
    """Drops what was measured of a spec."""
    cursor.execute(FORGET_ALL, [vectors_id])


def _timing(row: tuple[Any, ...]) -> Timing:
    return Timing(*(*row[:-1], json.loads(row[-1])))
