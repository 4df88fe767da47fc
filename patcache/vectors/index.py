"""FAISS indexes of a spec's vectors: rebuildable files that answer faster than an exact search.

`<spec_id>.<kind>.faiss` is FAISS's own format; the JSON beside it says which rows it covers, with
a digest of their journal, how it was made and the recall that was measured. Rows appended later
are searched exactly and merged, or added; an index of other vectors is built anew.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patcache.errors import ModelRefused, VectorsBusy
from patcache.hashing import canonical_json, settings_digest
from patcache.records import INDEX_KINDS, IndexKind, Progress, Spec
from patcache.vectors.disk import explained
from patcache.vectors.index_kinds import KINDS, SEED
from patcache.vectors.journal import Block
from patcache.vectors.rows import AnyRows
from patcache.vectors.search import (
    SPARE,
    Hits,
    defined_blocks,
    exact_search,
    in_parts,
    merged,
    refined,
    unit_rows,
)

if TYPE_CHECKING:
    from patcache.records import BoolArray, FloatArray, IntArray

BUILT_KINDS: tuple[IndexKind, ...] = INDEX_KINDS[1:]
TAIL_SHARE = 0.05  # of the rows may be new before they are added
TAIL_ROWS = 4096
NARROW_SHARE = 0.25  # filters that leave less are searched exactly: graphs lose their way there
MEASURED_QUERIES = 200
MEASURED_K = 10
SAME = 1e-6  # a hit as near as the last exact one is right, whichever of the two it is
TARGET_RECALL = 0.98


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What an index is of, and how good it was found to be.

    n_rows: rows of the vectors it covers, n_indexed: those of them that have a direction; digest:
    of the journal of these rows. width: efSearch of hnsw, nprobe of ivf, 0 where every row is
    looked at. recall: of the MEASURED_K nearest, for n_queries stored vectors; elapsed_s: to build.
    """

    spec_id: str
    kind: IndexKind
    parameters: Mapping[str, int]
    n_rows: int
    n_indexed: int
    digest: str
    width: int
    recall: float
    n_queries: int
    elapsed_s: float
    faiss_version: str


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An index ready to search, and the rows that came after it was made."""

    info: IndexInfo
    rows: AnyRows
    faiss_index: Any

    @property
    def n_tail(self) -> int:
        """Rows that it does not cover; they are searched exactly."""
        return self.rows.n_rows - self.info.n_rows

    def search(
        self,
        queries: FloatArray,
        k: int,
        *,
        wanted: BoolArray | None = None,
        own: IntArray | None = None,
    ) -> Hits:
        """As exact_search does: the k nearest rows that the index comes upon, among those wanted.

        The similarities are those of the stored vectors.
        """
        k = min(k, self.rows.n_rows)

        def search(part: FloatArray, own: IntArray | None) -> Hits:
            unit, _ = unit_rows(part)
            found = self._found(unit, k + 1 + SPARE, wanted)
            return refined(self.rows, unit, found, k, own)

        return in_parts(search, queries, own)

    def _found(self, queries: FloatArray, k: int, wanted: BoolArray | None) -> Hits:
        import faiss

        share = 1.0 if wanted is None else max(NARROW_SHARE, float(wanted.mean()))
        width = round(self.info.width / share)  # as many wanted rows are met as without a filter
        chosen = (
            None
            if wanted is None
            else faiss.IDSelectorBitmap(np.packbits(wanted, bitorder="little"))
        )
        asked = KINDS[self.info.kind].parameters(width, k, chosen)
        similarities, places = self.faiss_index.search(queries, k, params=asked)
        similarities[places < 0] = np.nan
        found = Hits(places, similarities)
        if self.n_tail == 0:
            return found
        tail = np.zeros(self.rows.n_rows, dtype=np.bool_)
        tail[self.info.n_rows :] = True if wanted is None else wanted[self.info.n_rows :]
        return merged(found, exact_search(self.rows, queries, k, wanted=tail), k)


def is_narrow(rows: AnyRows, n_wanted: int) -> bool:
    """Whether so few rows are wanted that an exact search of them is better and quicker."""
    return n_wanted < NARROW_SHARE * rows.n_rows


def index_paths(folder: Path, spec_id: str, kind: IndexKind) -> tuple[Path, Path]:
    """The index and the JSON that describes it."""
    return folder / f"{spec_id}.{kind}.faiss", folder / f"{spec_id}.{kind}.json"


def read_info(folder: Path, spec_id: str, kind: IndexKind) -> IndexInfo | None:
    """What an index says of itself; None where there is none that can be used."""
    path, info_path = index_paths(folder, spec_id, kind)
    try:
        path.stat()
        return IndexInfo(**json.loads(info_path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # a build that was killed, or another version's: it is made anew


def is_of(info: IndexInfo, rows: AnyRows) -> bool:
    """Whether an index is of these vectors: they may have grown, but not changed."""
    return info.n_rows <= rows.n_rows and info.digest == journal_digest(rows.blocks, info.n_rows)


def journal_digest(blocks: Sequence[Block], n_rows: int) -> str:
    """Digest of the first rows as their journal has them: keys and vectors, by their checksums."""
    stops = [block.stop for block in blocks if block.stop <= n_rows]
    if n_rows and (not stops or stops[-1] != n_rows):
        return ""  # the rows end inside a block: these are other vectors
    sums = [[block.start, block.stop, dict(block.checksums)] for block in blocks[: len(stops)]]
    return settings_digest({"blocks": sums})


def ready_index(
    folder: Path,
    rows: AnyRows,
    kind: IndexKind,
    *,
    rebuild: bool = False,
    extend: bool = False,
    wait_s: float = 0.0,
    progress: Progress | None = None,
) -> VectorIndex:
    """The index of these vectors, made or brought up to date where it must be.

    extend: also for a few new rows, which a search would otherwise look at one by one.
    Errors: ModelRefused for sparse vectors or none; VectorsBusy while another process builds it;
    WriteFailed. One that is good as it is needs no right to write.
    """
    _refuse_unfit(rows, kind)
    if not rebuild and (good := _good(folder, rows, kind, extend=extend)) is not None:
        return good
    with _building(folder, rows.spec, kind, wait_s):
        if not rebuild and (good := _good(folder, rows, kind, extend=extend)) is not None:
            return good  # another process has made it meanwhile
        info = None if rebuild else _usable_info(folder, rows, kind)
        old = None if info is None else _opened(folder, info, rows, is_mapped=False)
        made = _built(rows, kind, progress) if old is None else _extended(old, progress)
        return _kept(folder, made)


def _good(folder: Path, rows: AnyRows, kind: IndexKind, *, extend: bool) -> VectorIndex | None:
    """The stored index where it covers so many of the rows that it is searched as it is."""
    info = _usable_info(folder, rows, kind)
    if info is None:
        return None
    n_new = rows.n_rows - info.n_rows
    if n_new > (0 if extend else max(TAIL_ROWS, TAIL_SHARE * info.n_rows)):
        return None
    return _opened(folder, info, rows, is_mapped=True)


def _usable_info(folder: Path, rows: AnyRows, kind: IndexKind) -> IndexInfo | None:
    """What the stored index says of itself, where it is of these vectors."""
    info = read_info(folder, rows.spec.spec_id, kind)
    if info is None or not is_of(info, rows) or _has_outgrown(info, rows):
        return None
    return info


def _has_outgrown(info: IndexInfo, rows: AnyRows) -> bool:
    """Whether there are so many more rows that other parameters are called for."""
    return info.kind == "ivf" and rows.n_rows > 2 * info.n_rows


def _refuse_unfit(rows: AnyRows, kind: IndexKind) -> None:
    if kind not in BUILT_KINDS:
        raise ModelRefused(f"no index {kind!r}", f"the kinds are {', '.join(INDEX_KINDS)}")
    if rows.spec.sparse:
        raise ModelRefused(
            f"{rows.spec.label} has no {kind} index",
            "its vectors are sparse: they are searched exactly, by sparse products",
            "leave --index out",
        )
    if next(defined_blocks(rows), None) is None:
        raise ModelRefused(
            f"{rows.spec.label} has no vectors to index",
            f"of its {rows.n_rows:,} rows none has a direction",
            f"run `patcache embed {rows.spec.label}`",
        )


@contextmanager
def _building(folder: Path, spec: Spec, kind: IndexKind, wait_s: float) -> Iterator[None]:
    """The right to write an index, for one process. Errors: VectorsBusy; WriteFailed."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / f"{spec.spec_id}.{kind}.lock")
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=wait_s)
        except Timeout as error:
            raise VectorsBusy(
                f"the {kind} index of {spec.label} is being built",
                "another process holds it",
                "wait for it to finish, or leave --index out: an exact search needs none",
            ) from error
    try:
        yield
    finally:
        lock.release()


def _opened(folder: Path, info: IndexInfo, rows: AnyRows, *, is_mapped: bool) -> VectorIndex | None:
    """The stored index; None where the file is not what its JSON says."""
    import faiss

    path, _ = index_paths(folder, info.spec_id, info.kind)
    try:
        found = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC if is_mapped else 0)
    except RuntimeError:
        return None
    if found.ntotal != info.n_indexed or found.d != rows.spec.dim:
        return None
    return VectorIndex(info, rows, found)


def _built(rows: AnyRows, kind: IndexKind, progress: Progress | None) -> VectorIndex:
    import faiss

    start = time.perf_counter()
    inner, parameters = KINDS[kind].build(rows)
    version = str(faiss.__version__)
    info = IndexInfo(rows.spec.spec_id, kind, parameters, 0, 0, "", 0, 0.0, 0, 0.0, version)
    return _filled(VectorIndex(info, rows, faiss.IndexIDMap(inner)), start, progress)


def _extended(old: VectorIndex, progress: Progress | None) -> VectorIndex:
    return _filled(old, time.perf_counter() - old.info.elapsed_s, progress)


def _filled(index: VectorIndex, start: float, progress: Progress | None) -> VectorIndex:
    """The index with every row that it does not cover yet, and its recall measured."""
    rows = index.rows
    for numbers, unit in defined_blocks(rows, first=index.info.n_rows):
        index.faiss_index.add_with_ids(np.ascontiguousarray(unit), numbers)
        if progress is not None:
            progress(int(numbers[-1]) + 1, rows.n_rows)
    info = replace(
        index.info,
        n_rows=rows.n_rows,
        n_indexed=int(index.faiss_index.ntotal),
        digest=journal_digest(rows.blocks, rows.n_rows),
        elapsed_s=time.perf_counter() - start,
    )
    return _measured(replace(index, info=info))


def _measured(index: VectorIndex) -> VectorIndex:
    """The index with the least width that reaches the recall aimed at, and the recall it has.

    Queries are vectors of the index, drawn at random; their own row does not count.
    """
    import faiss

    ids = faiss.vector_to_array(index.faiss_index.id_map)
    n_queries = min(MEASURED_QUERIES, len(ids))
    own = np.sort(np.random.default_rng(SEED).choice(ids, n_queries, replace=False))
    queries = cast("FloatArray", index.rows.gather(own))
    exact = exact_search(index.rows, queries, MEASURED_K, own=own).similarities
    limit = np.fmin.reduce(exact, axis=1, keepdims=True) - SAME
    n_exact = int(np.isfinite(exact).sum())
    width, largest = KINDS[index.info.kind].widths(index.info.parameters)
    while True:
        tried = replace(index, info=replace(index.info, width=width, n_queries=n_queries))
        hits = tried.search(queries, MEASURED_K, own=own).similarities
        recall = float((hits >= limit).sum() / n_exact) if n_exact else 1.0  # one vector alone
        if recall >= TARGET_RECALL or width >= largest:
            return replace(tried, info=replace(tried.info, recall=recall))
        width = min(2 * width, largest)


def _kept(folder: Path, index: VectorIndex) -> VectorIndex:
    """Writes an index whole or not at all: without its JSON there is no index."""
    path, info_path = index_paths(folder, index.info.spec_id, index.info.kind)
    aside, info_aside = path.with_suffix(".faiss.new"), info_path.with_suffix(".json.new")
    with explained(path, 4 * index.info.n_indexed * index.rows.spec.dim):
        try:
            _write(index, aside)
            info_aside.write_text(canonical_json(asdict(index.info)), encoding="utf-8")
            info_path.unlink(missing_ok=True)
            aside.replace(path)
            info_aside.replace(info_path)
        except OSError:
            aside.unlink(missing_ok=True)
            info_aside.unlink(missing_ok=True)
            raise
    return index


def _write(index: VectorIndex, path: Path) -> None:
    """Puts an index on disk. Errors: OSError, with the number that FAISS leaves in words."""
    import faiss

    try:
        faiss.write_index(index.faiss_index, str(path))
        faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)  # what did not fit is missing
    except RuntimeError as error:
        known = (errno.ENOSPC, errno.EFBIG, errno.EACCES, errno.EROFS)
        number = next((n for n in known if os.strerror(n) in str(error)), errno.EIO)
        raise OSError(number, f"FAISS cannot write the index: {error}") from error
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
