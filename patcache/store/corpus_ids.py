"""Publication numbers as patents of this store, and how large its cells are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from numpy.typing import NDArray

KNOWN = """
SELECT w.position, p.patent_id, p.year, p.section
FROM wanted w JOIN data.patents p ON p.publication_number = w.number"""
CELL_SIZES = "SELECT year, section, count(*) FROM data.patents GROUP BY ALL"


@dataclass(frozen=True, slots=True)
class KnownPatents:
    """Shapes: patent_ids (n,) int32, -1 where unknown; years (n,) int16; sections (n,) str."""

    patent_ids: NDArray[np.int32]
    years: NDArray[np.int16]
    sections: NDArray[np.str_]


def known_patents(cursor: duckdb.DuckDBPyConnection, numbers: pa.Array) -> KnownPatents:
    """Each publication number as a patent of the store."""
    import pyarrow as pa

    positions = np.arange(len(numbers), dtype=np.int64)
    cursor.register("wanted", pa.table({"position": positions, "number": numbers}))
    rows = cursor.execute(KNOWN).fetchnumpy()
    cursor.unregister("wanted")
    found = KnownPatents(
        np.full(len(numbers), -1, dtype=np.int32),
        np.zeros(len(numbers), dtype=np.int16),
        np.full(len(numbers), "", dtype="U1"),
    )
    at = np.asarray(rows["position"])
    found.patent_ids[at], found.years[at] = rows["patent_id"], rows["year"]
    found.sections[at] = rows["section"]
    return found


def cell_sizes(cursor: duckdb.DuckDBPyConnection) -> dict[tuple[int, str], int]:
    """Patents of every cell of the corpus."""
    return {(year, section): n for year, section, n in cursor.execute(CELL_SIZES).fetchall()}
