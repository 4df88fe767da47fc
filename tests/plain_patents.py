"""Patents put straight into a store, for tests that are not about importing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from patcache.ipc import IpcCode, read
from patcache.store import StoreFolder

ADD = """
INSERT INTO data.patents BY NAME
SELECT * REPLACE (unhex(same_text_key) AS same_text_key) FROM rows"""
NEXT = "SELECT coalesce(max(patent_id) + 1, 0) FROM data.patents"


@dataclass(frozen=True)
class PlainPatent:
    """A patent; codes begin with the main code."""

    number: str
    year: int
    codes: tuple[str, ...]
    text: str
    family: str | None = None
    language: str | None = "en"
    title: str | None = None


def add_patents(store: StoreFolder, patents: Sequence[PlainPatent]) -> None:
    """Appends patents in the order given; ids go on from those there."""
    columns = [_columns(patent) for patent in patents]
    names = list(columns[0])
    rows = pa.table({name: [row[name] for row in columns] for name in names})
    with store.write() as cursor:
        first = cursor.execute(NEXT).fetchall()[0][0]
        ids = pa.array(range(first, first + len(patents)), pa.int32())
        cursor.register("rows", rows.append_column("patent_id", ids))
        cursor.execute(ADD)
        cursor.unregister("rows")


def _columns(patent: PlainPatent) -> dict[str, object]:
    main = read(patent.codes[0]).code
    assert isinstance(main, IpcCode), patent.codes
    key = hashlib.sha256(patent.text.casefold().encode()).hexdigest()[:32]
    return {
        "publication_number": patent.number,
        "year": patent.year,
        "year_source": "year",
        "date_precision": "year",
        "section": main.section,
        "ipc_class": main.ipc_class,
        "subclass": main.subclass,
        "main_group": main.main_group,
        "code": main.code,
        "codes": list(patent.codes),
        "title": patent.title,
        "abstract": patent.text,
        "family_id": patent.family,
        "language": patent.language,
        "same_text_key": key,
        "import_id": 1,
    }


def real_patents(path: Path) -> list[PlainPatent]:
    """The patents of a shared Parquet file; every code it can parse, the main one first."""
    found = []
    for row in pq.read_table(path).to_pylist():
        others = [reading.code for reading in map(read, row["ipc"]) if reading.code is not None]
        codes = dict.fromkeys([row["ipc_main"], *(code.code for code in others)])
        text = " ".join(row["abstract"].split())
        found.append(
            PlainPatent(
                row["publication_number"], row["year"], tuple(codes), text, row["family_id"],
                title=row["title"],
            )
        )  # fmt: skip
    return found
