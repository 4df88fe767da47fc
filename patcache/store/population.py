"""The columns that sampling needs of every patent, as arrays in the order of the ranges."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import SampleRefused

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from numpy.typing import NDArray

    from patcache.records import IntArray
    from patcache.store.folder import StoreFolder

# {patents} is data.patents, or those of them that a condition keeps.
EVERYONE = "data.patents"
KEPT = "(SELECT p.* FROM data.patents p SEMI JOIN kept USING (publication_number))"
CONDITION = "SELECT publication_number FROM patents WHERE (\n{where}\n)"
MAIN_CODES = "SELECT DISTINCT code FROM {patents} ORDER BY code"
SORTED = """
WITH tree AS (
    SELECT code, row_number() OVER (ORDER BY code)::INTEGER - 1 AS number
    FROM (SELECT DISTINCT code FROM {patents})
)
SELECT patent_id, year, number AS code,
       ('0x' || sha256(publication_number)[1:16])::UBIGINT AS word
FROM {patents} JOIN tree USING (code)
ORDER BY year, number, publication_number"""
SHARED = """
WITH shared AS (
    SELECT {column}, row_number() OVER ()::INTEGER - 1 AS number FROM {patents}
    WHERE {column} IS NOT NULL GROUP BY {column} HAVING count(*) > 1
)
SELECT patent_id, number FROM {patents} JOIN shared USING ({column})"""
DIGEST = """
SELECT count(*), count(family_id), bit_xor(md5_number(concat(
    publication_number, chr(31), year, chr(31), array_to_string(codes, ','), chr(31),
    hex(same_text_key), chr(31), '=' || family_id)))
FROM {patents}"""
ALL_CODES = """
SELECT DISTINCT unnest(codes) AS code FROM wanted w
JOIN data.patents p ON p.patent_id = w.patent_id ORDER BY code"""
CODES_OF = """
SELECT codes FROM wanted w JOIN data.patents p ON p.patent_id = w.patent_id ORDER BY w.position"""
DISTINCT_TEXTS = """
SELECT count(DISTINCT hash(p.title, p.abstract)) FROM wanted w
JOIN data.patents p ON p.patent_id = w.patent_id"""
NEW_CELLS = """
SELECT count(*) FROM (SELECT DISTINCT year, section FROM {patents}) c
ANTI JOIN (SELECT year, section FROM data.sample_cells WHERE sample_id = ?) s
USING (year, section)"""
BATCH_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class Columns:
    """The patents of a population, sorted by (year, code, publication number).

    Shapes: patent_ids, codes, texts, families (N,) int32; years (N,) int16; words (N,) uint64,
    the first 8 bytes of sha256 of the publication number. codes are numbers in main_codes; texts
    and families are equal where shared, -1 where not (or, for families, not known).
    digest: of the publication numbers, years, codes, texts and families of these patents,
    whatever order they were imported in. n_family_unknown: patents whose family is not known.
    """

    patent_ids: NDArray[np.int32]
    years: NDArray[np.int16]
    codes: NDArray[np.int32]
    words: NDArray[np.uint64]
    texts: NDArray[np.int32]
    families: NDArray[np.int32]
    main_codes: tuple[str, ...]
    n_family_unknown: int
    digest: str


@dataclass(frozen=True, slots=True)
class CodeColumns:
    """All codes of n patents: codes[offsets[i]:offsets[i + 1]] are numbers in `names`."""

    names: tuple[str, ...]
    offsets: IntArray
    codes: NDArray[np.int32]


def read_population(store: StoreFolder, where: str | None) -> Columns:
    """The patents that a condition on the view `patents` keeps; all without one.

    Errors: SampleRefused where the condition is none, or keeps nobody.
    """
    kept = None if where is None else _kept(store, where)
    with store.read() as cursor, _registered(cursor, "kept", kept):
        patents = EVERYONE if kept is None else KEPT
        found = _read(cursor, patents)
    if not len(found.patent_ids):
        raise SampleRefused(
            "there are no patents to draw from",
            f"none is {where}" if where else "the corpus is empty",
            "" if where else "patcache import FILE",
        )
    return found


def n_new_cells(store: StoreFolder, sample_id: int, where: str | None) -> int:
    """How many cells the corpus has (under the sample's condition) that the sample has not seen."""
    kept = None if where is None else _kept(store, where)
    with store.read() as cursor, _registered(cursor, "kept", kept):
        sql = NEW_CELLS.format(patents=EVERYONE if kept is None else KEPT)
        return int(cursor.execute(sql, [sample_id]).fetchall()[0][0])


def read_codes(store: StoreFolder, patent_ids: NDArray[np.int32]) -> CodeColumns:
    """All codes of some patents, in the order given."""
    import pyarrow.compute as pc

    with store.read() as cursor, _wanted(cursor, patent_ids):
        names = cursor.sql(ALL_CODES).to_arrow_table()["code"]
        sizes, numbers = [], []
        for batch in cursor.sql(CODES_OF).to_arrow_reader(BATCH_ROWS):
            lists = batch.column(0)
            sizes.append(np.diff(lists.offsets.to_numpy()))
            found = pc.index_in(lists.flatten(), value_set=names.combine_chunks())
            numbers.append(found.to_numpy().astype(np.int32))
    none = [np.empty(0, dtype=np.int32)]
    ends = np.concatenate(sizes or none).cumsum(dtype=np.int64)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), ends])
    return CodeColumns(tuple(names.to_pylist()), offsets, np.concatenate(numbers or none))


def count_texts(store: StoreFolder, patent_ids: NDArray[np.int32]) -> int:
    """How many different texts (title and abstract) some patents have."""
    if not patent_ids.size:
        return 0
    is_wanted = np.zeros(int(patent_ids.max(initial=0)) + 1, dtype=bool)
    is_wanted[patent_ids] = True  # np.unique is slower by far
    with store.read() as cursor, _wanted(cursor, np.flatnonzero(is_wanted).astype(np.int32)):
        return int(cursor.execute(DISTINCT_TEXTS).fetchall()[0][0])


def _kept(store: StoreFolder, where: str) -> pa.Table:
    """The publication numbers a condition keeps, read where SQL can do nothing but read."""
    import duckdb

    sql = CONDITION.format(where=where)
    with store.sandbox() as connection:
        try:
            kinds = [statement.type.name for statement in connection.extract_statements(sql)]
            if kinds != ["SELECT"]:
                raise SampleRefused(
                    f"not a condition: {where}",
                    f"it makes {len(kinds)} statements of one",
                    "one condition on the columns of `patents`: --where \"language = 'en'\"",
                )
            return connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise SampleRefused(
                f"not a condition: {where}",
                str(error).strip().splitlines()[0],
                'the columns: patcache sql "DESCRIBE patents"',
            ) from error


def _read(cursor: duckdb.DuckDBPyConnection, patents: str) -> Columns:
    rows = cursor.execute(SORTED.format(patents=patents)).fetchnumpy()
    main_codes = cursor.execute(MAIN_CODES.format(patents=patents)).fetchall()
    ids = np.asarray(rows["patent_id"], dtype=np.int32)
    position_of = np.zeros(int(ids.max(initial=0)) + 1, dtype=np.int32)
    position_of[ids] = np.arange(len(ids), dtype=np.int32)
    return Columns(
        ids,
        np.asarray(rows["year"], dtype=np.int16),
        np.asarray(rows["code"], dtype=np.int32),
        np.asarray(rows["word"], dtype=np.uint64),
        _shared(cursor, patents, "same_text_key", position_of, len(ids)),
        _shared(cursor, patents, "family_id", position_of, len(ids)),
        tuple(code for (code,) in main_codes),
        *_family_unknown_and_digest(cursor, patents),
    )


def _shared(
    cursor: duckdb.DuckDBPyConnection,
    patents: str,
    column: str,
    position_of: NDArray[np.int32],
    n_patents: int,
) -> NDArray[np.int32]:
    """A number for each value of a column that several patents have, -1 for the others."""
    found = cursor.execute(SHARED.format(patents=patents, column=column)).fetchnumpy()
    numbers = np.full(n_patents, -1, dtype=np.int32)
    numbers[position_of[np.asarray(found["patent_id"])]] = found["number"]
    return numbers


def _family_unknown_and_digest(cursor: duckdb.DuckDBPyConnection, patents: str) -> tuple[int, str]:
    """The digest is sha256 over the number of patents and the exclusive or of their md5s."""
    sql = DIGEST.format(patents=patents)
    n_patents, n_known, combined = cursor.execute(sql).fetchall()[0]
    digest = hashlib.sha256(f"{n_patents} {combined or 0:032x}".encode()).hexdigest()
    return n_patents - n_known, digest


@contextmanager
def _registered(cursor: duckdb.DuckDBPyConnection, name: str, table: Any | None) -> Iterator[None]:
    if table is None:
        yield
        return
    cursor.register(name, table)
    try:
        yield
    finally:
        cursor.unregister(name)


@contextmanager
def _wanted(cursor: duckdb.DuckDBPyConnection, patent_ids: NDArray[np.int32]) -> Iterator[None]:
    import pyarrow as pa

    positions = np.arange(len(patent_ids), dtype=np.int32)
    table = pa.table({"position": positions, "patent_id": patent_ids})
    with _registered(cursor, "wanted", table):
        yield
