"""The texts of patents, as a model reads them, and their keys: one SQL expression for both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import ModelRefused
from patcache.hashing import KEY_BYTES, keys_digest
from patcache.records import TextView

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from numpy.typing import NDArray

    from patcache.records import BoolArray, KeyArray
    from patcache.store.folder import StoreFolder

COLUMNS = {
    "title": "p.title",
    "abstract": "p.abstract",
    "claims": "p.claims",
    "publication_number": "p.publication_number",  # stands for vectors computed elsewhere
}
# In the two statements below, {text} is an expression over the columns named here.
KEYS = """
SELECT unhex(substr(sha256(concat(?, text)), 1, 32)) AS key, text <> '' AS has_text
FROM (SELECT w.position, {text} AS text
      FROM wanted w JOIN data.patents p ON p.patent_id = w.patent_id)
ORDER BY position"""
TEXTS = """
SELECT {text} AS text
FROM wanted w JOIN data.patents p ON p.patent_id = w.patent_id
ORDER BY w.position"""
DISTINCT_TEXTS = """
COPY (
    WITH keyed AS (
        SELECT p.patent_id, sha256({text}) AS digest
        FROM wanted w JOIN data.patents p ON p.patent_id = w.patent_id
        WHERE {text} <> ''
    ), first AS (SELECT digest, min(patent_id) AS patent_id FROM keyed GROUP BY digest)
    SELECT unhex(substr(f.digest, 1, 32)) AS key, {text} AS text
    FROM first f JOIN data.patents p ON p.patent_id = f.patent_id
    ORDER BY f.digest
) TO '{path}' (FORMAT parquet)"""
PATENT_IDS = "SELECT patent_id FROM data.patents ORDER BY patent_id"
SAMPLE_PATENTS = """
SELECT list_prepend(target, candidates) AS patent_ids, len(candidates) AS n_candidates
FROM data.tuples WHERE sample_id = ? AND tuple_id >= ? AND tuple_id < ? ORDER BY tuple_id"""
NO_STOP = 2**31 - 1
READ_ROWS = 8192


def patent_ids(cursor: duckdb.DuckDBPyConnection) -> NDArray[np.int32]:
    """Every patent of the corpus, in the order of import."""
    found: NDArray[np.int32] = cursor.execute(PATENT_IDS).fetchnumpy()["patent_id"]
    return np.asarray(found, dtype=np.int32)


def sample_patents(
    cursor: duckdb.DuckDBPyConnection, sample_id: int, first: int = 0, stop: int = NO_STOP
) -> tuple[NDArray[np.int32], BoolArray]:
    """The patents of a sample's tuples in order, target then candidates, and which are targets.

    first, stop: of which tuples, by their number in the sample.
    """
    found = cursor.sql(SAMPLE_PATENTS, params=[sample_id, first, stop]).to_arrow_table()
    table = found.combine_chunks()
    patents = table["patent_ids"].combine_chunks()
    ids = np.asarray(patents.flatten(), dtype=np.int32)
    widths = table["n_candidates"].to_numpy() + 1
    is_target = np.zeros(len(ids), dtype=np.bool_)
    is_target[np.cumsum(widths) - widths] = True
    return ids, is_target


def text_keys_of(
    cursor: duckdb.DuckDBPyConnection, view: TextView, prompt: str, patents: NDArray[np.int32]
) -> tuple[KeyArray, BoolArray]:
    """Key of each patent's text after the prompt (n, 16), and which have a text at all (n,)."""
    _register(cursor, patents)
    sql = KEYS.format(text=_text(view))
    table = cursor.sql(sql, params=[prompt, view.separator]).to_arrow_table()
    return _keys(table["key"]), table["has_text"].to_numpy()


def texts_of(
    cursor: duckdb.DuckDBPyConnection, view: TextView, patents: NDArray[np.int32]
) -> list[str]:
    """The text of each patent, in the order asked for."""
    _register(cursor, patents)
    rows = cursor.execute(TEXTS.format(text=_text(view)), [view.separator]).fetchall()
    return [text for (text,) in rows]


@dataclass(slots=True)
class DistinctTexts:
    """The distinct texts of some patents in the order of their keys, read again at every pass."""

    path: Path
    digest: str
    n_texts: int

    def __len__(self) -> int:
        return self.n_texts

    def __iter__(self) -> Iterator[str]:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(self.path) as file:
            for batch in file.iter_batches(READ_ROWS, columns=["text"]):
                yield from batch.column(0).to_pylist()


@contextmanager
def distinct_texts(
    store: StoreFolder, view: TextView, patents: NDArray[np.int32]
) -> Iterator[DistinctTexts]:
    """The texts a model is fitted on, set aside in a file, so that the store is free meanwhile."""
    from pyarrow.parquet import ParquetFile

    with TemporaryDirectory(prefix="fit-", dir=store.path) as folder:
        path = Path(folder) / "texts.parquet"
        sql = DISTINCT_TEXTS.format(text=_text(view), path=str(path).replace("'", "''"))
        with store.read() as cursor:
            _register(cursor, patents)
            cursor.execute(sql, [view.separator] * sql.count("?"))
        with ParquetFile(path) as file:
            batches = file.iter_batches(READ_ROWS, columns=["key"])
            digest = keys_digest(key for batch in batches for key in batch.column(0).to_pylist())
            n_texts = file.metadata.num_rows
        yield DistinctTexts(path, digest, n_texts)


def _keys(column: pa.ChunkedArray) -> KeyArray:
    """A column of keys as an array (n, 16), without a Python object for each."""
    import pyarrow as pa

    fixed = column.cast(pa.binary(KEY_BYTES)).chunks
    parts = [
        np.frombuffer(chunk.buffers()[1], dtype=np.uint8)[chunk.offset * KEY_BYTES :][
            : len(chunk) * KEY_BYTES
        ]
        for chunk in fixed
        if len(chunk)
    ]
    joined = np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8)
    return joined.reshape(-1, KEY_BYTES)


def _text(view: TextView) -> str:
    """SQL for a patent's text under a view; its only parameter is the separator."""
    unknown = [field for field in view.fields if field not in COLUMNS]
    if unknown or not view.fields:
        raise ModelRefused(
            f"no text {view.name!r}", f"a text is made of {', '.join(COLUMNS)}, joined by +"
        )
    fields = ", ".join(f"nullif({COLUMNS[field]}, '')" for field in view.fields)
    return f"concat_ws(?, {fields})"


def _register(cursor: duckdb.DuckDBPyConnection, patents: NDArray[np.int32]) -> None:
    import pyarrow as pa

    columns: dict[str, Any] = {"position": np.arange(len(patents)), "patent_id": patents}
    cursor.register("wanted", pa.table(columns))
