"""Which row of a spec's vectors holds the text of each patent, kept beside its indexes."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from patcache.store.lookups import corpus_state
from patcache.store.texts import patent_ids, text_keys_of
from patcache.vectors.index import journal_digest
from patcache.vectors.rows import AnyRows

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from patcache.store import StoreFolder

KEYS_AT_ONCE = 200_000
KEPT = ("patents", "rows", "corpus", "vectors", "n_rows")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PatentRows:
    """The row of each patent's text as a document, -1 where it has no vector.

    Shapes: patents (n,) int32 ascending; rows (n,) int32. corpus, vectors: what they were made of.
    """

    patents: NDArray[np.int32]
    rows: NDArray[np.int32]
    corpus: str = ""
    vectors: str = ""
    n_rows: int = 0

    def rows_of(self, patents: NDArray[np.int32]) -> NDArray[np.int32]:
        """The row of each of some patents of the corpus."""
        return self.rows[np.searchsorted(self.patents, patents)]


def patent_rows(store: StoreFolder, rows: AnyRows) -> PatentRows:
    """Where every patent is, as the corpus and the vectors are now.

    Only patents that are new, or had no vector when it was last asked, are looked up.
    """
    path = store.indexes_path / f"{rows.spec.vectors_id}.patents.npz"
    known = _read(path)
    with store.read() as cursor:
        patents = patent_ids(cursor)
        state = _state(cursor, rows, patents)
        if known is not None and not _is_beginning(cursor, rows, known, patents, state):
            known = None
    if known is None or known.vectors != journal_digest(rows.blocks, known.n_rows):
        known = PatentRows(np.empty(0, np.int32), np.empty(0, np.int32))
    n_known = len(known.patents)
    if n_known == len(patents) and known.n_rows == rows.n_rows:
        return known
    places = np.full(len(patents), -1, dtype=np.int32)
    places[:n_known] = known.rows
    first = n_known if known.n_rows == rows.n_rows else 0  # else any may have a vector by now
    _look_up(store, rows, patents[first:], places[first:])
    vectors = journal_digest(rows.blocks, rows.n_rows)
    found = PatentRows(patents, places, state, vectors, rows.n_rows)
    _write(path, found)
    return found


def _state(cursor: duckdb.DuckDBPyConnection, rows: AnyRows, patents: NDArray[np.int32]) -> str:
    return corpus_state(cursor, rows.spec.text_view, int(patents.max(initial=-1)))


def _is_beginning(
    cursor: duckdb.DuckDBPyConnection,
    rows: AnyRows,
    known: PatentRows,
    patents: NDArray[np.int32],
    state: str,
) -> bool:
    """Whether the corpus of then is the beginning of the one there is now."""
    if len(known.patents) == len(patents):
        return known.corpus == state
    return known.corpus == _state(cursor, rows, known.patents)


def _look_up(
    store: StoreFolder, rows: AnyRows, patents: NDArray[np.int32], places: NDArray[np.int32]
) -> None:
    """Fills in the places that are -1, where there is a vector."""
    view, prompt = rows.spec.text_view, rows.spec.prompt("document")
    unknown = np.flatnonzero(places < 0)
    for start in range(0, len(unknown), KEYS_AT_ONCE):
        mine = unknown[start : start + KEYS_AT_ONCE]
        with store.read() as cursor:
            keys, has_text = text_keys_of(cursor, view, prompt, patents[mine])
        places[mine] = np.where(has_text, rows.rows_of(keys), -1)


def _read(path: Path) -> PatentRows | None:
    """What was kept; None where there is nothing that can be used."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            patents, rows, corpus, vectors, n_rows = (kept[name] for name in KEPT)
    except (OSError, ValueError, KeyError, BadZipFile, EOFError):
        return None
    return PatentRows(patents, rows, str(corpus), str(vectors), int(n_rows))


def _write(path: Path, found: PatentRows) -> None:
    """Keeps it for the next time, where the folder can be written at all."""
    arrays: dict[str, Any] = {name: np.array(getattr(found, name)) for name in KEPT}
    aside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as stream:
            np.savez(stream, **arrays)
        aside.replace(path)
    except OSError as error:
        _log.info("%s is not kept: %s", path, error)
        with suppress(OSError):
            aside.unlink(missing_ok=True)
