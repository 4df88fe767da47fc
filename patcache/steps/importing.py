"""Files of patents into the corpus: every record is added, known already, excluded or rejected."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout

from patcache.errors import StoreBusy
from patcache.hashing import settings_digest
from patcache.importers.base import FIELDS, ImportOptions, Taken, open_records
from patcache.importers.cleaning import REJECT_SCHEMA, Cleaned, Cleaner, joined
from patcache.importers.sources import Source, expand, source_of
from patcache.records import Progress
from patcache.steps.interrupts import Interrupts
from patcache.store import StoreFolder
from patcache.store.jobs import running_job
from patcache.store.patents import (
    Counts,
    ImportKey,
    Repeats,
    add_patents,
    add_rejects,
    finish_import,
    finished_import,
    start_import,
)
from patcache.vectors.disk import explained

__all__ = ["FileReport", "ImportOptions", "ImportReport", "import_files"]

BLOCK_ROWS = 50_000  # a transaction
BLOCK_BYTES = 32 << 20
LOCK_NAME = "import.lock"


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file. is_repeat: it was imported before in the same way, and not read.

    n_codes_ignored: texts listed beside a good code that are no code. n_dates_ignored: dates that
    cannot be read beside a year that can.
    """

    path: str
    taken: Taken
    counts: Counts
    n_codes_ignored: int = 0
    n_dates_ignored: int = 0
    is_repeat: bool = False
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of all files."""

    files: tuple[FileReport, ...] = field(default_factory=tuple)

    @property
    def counts(self) -> Counts:
        return _sum([file.counts for file in self.files])


def import_files(
    store: StoreFolder,
    paths: Sequence[str],
    options: ImportOptions | None = None,
    progress: Progress | None = None,
    stdin: BinaryIO | None = None,
) -> ImportReport:
    """Adds the patents of files to the corpus; those it has already stay as they are.

    paths: files, patterns, and "-" for standard input. What was committed before an interruption
    stays, and the same import again does the rest.
    Errors: ImportRefused for a file that cannot be read at all; StoreBusy beside another import.
    """
    options = options or ImportOptions()
    names = expand(paths)
    reports = []
    subject = ", ".join(Path(name).name for name in names)
    with _alone(store), running_job(store, "import", subject, "rows", progress) as advance:
        for name in names:
            with tempfile.TemporaryDirectory(prefix="patcache-import-") as folder:
                source = source_of(name, Path(folder), stdin)
                reports.append(_import_file(store, source, options, Path(folder), advance))
    return ImportReport(tuple(reports))


def _import_file(
    store: StoreFolder,
    source: Source,
    options: ImportOptions,
    folder: Path,
    progress: Progress | None,
) -> FileReport:
    start = time.monotonic()
    key = ImportKey(
        source.name, source.size_bytes, source.modified_ns, settings_digest(options.asked())
    )
    repeat = _repeat(store, key)
    if repeat is not None:
        return repeat
    key = replace(key, sha256=source.sha256())
    repeat = _repeat(store, key)
    if repeat is not None:
        return repeat
    with open_records(source, options, folder) as records:
        work = _FileImport(store, source.name, records.taken, options)
        with Interrupts() as interrupts:
            for block in _blocks(map(work.cleaner.clean, records.batches)):
                work.add(block)
                if progress is not None:
                    progress(work.counts.n_rows, records.n_rows)
                interrupts.stop_if_asked()
        return work.finish(key, records.n_rows, time.monotonic() - start)


class _FileImport:
    """One file on its way into the store, block by block."""

    def __init__(self, store: StoreFolder, path: str, taken: Taken, options: ImportOptions) -> None:
        self.store = store
        self.path = path
        self.taken = taken
        self.options = options
        self.cleaner = Cleaner(taken.mapping, options.dayfirst, options.language)
        self.counts = Counts()
        self.n_codes_ignored = 0
        self.n_dates_ignored = 0
        with store.write() as cursor:
            self.import_id = start_import(cursor)

    def add(self, cleaned: Cleaned) -> None:
        """Commits one block; every record of it is counted as exactly one thing."""
        with self.store.write() as cursor:
            repeats = add_patents(cursor, cleaned.patents, self.import_id)
            contradicting = self._contradicting(cleaned, repeats)
            rejects = pa.concat_tables([cleaned.rejects, contradicting])
            add_rejects(cursor, rejects, self.import_id, self.path)
        n_excluded = sum(rejects["is_excluded"].to_pylist())
        counts = Counts(
            n_rows=cleaned.n_rows,
            n_added=repeats.n_added,
            n_unchanged=len(repeats.places) - contradicting.num_rows,
            n_excluded=n_excluded,
            n_rejected=rejects.num_rows - n_excluded,
        )
        assert _is_complete(counts), counts
        self.counts = _sum([self.counts, counts])
        self.n_codes_ignored += cleaned.n_codes_ignored
        self.n_dates_ignored += cleaned.n_dates_ignored

    def finish(self, key: ImportKey, n_rows: int, elapsed_s: float) -> FileReport:
        """Writes the row of the import; the file must have had as many records as it said."""
        assert self.counts.n_rows == n_rows, (self.counts, n_rows)
        options = {**self.options.asked(), "taken": _as_json(self.taken)}
        with self.store.write() as cursor:
            finish_import(cursor, self.import_id, key, options, self.counts, elapsed_s)
        return FileReport(
            self.path,
            self.taken,
            self.counts,
            self.n_codes_ignored,
            self.n_dates_ignored,
            elapsed_s=elapsed_s,
        )

    def _contradicting(self, cleaned: Cleaned, repeats: Repeats) -> pa.Table:
        """Rejects for the records that say something else than the one with their number."""
        fields = [name for name in repeats.fields if name is not None]
        is_other = np.array([name is not None for name in repeats.fields], dtype=np.bool_)
        rows = cleaned.patents.take(pa.array(repeats.places[is_other], pa.int64()))
        values = [_shown(rows[_stored_name(name)][i].as_py()) for i, name in enumerate(fields)]
        reasons = [f"another record with this number has a different {name}" for name in fields]
        return pa.table(
            {
                "row_number": rows["row_number"],
                "publication_number": rows["publication_number"],
                "column_name": [self.taken.mapping.get(name, name) for name in fields],
                "value": values,
                "reason": reasons,
                "is_excluded": [False] * len(fields),
            },
            schema=REJECT_SCHEMA,
        )


@contextmanager
def _alone(store: StoreFolder) -> Iterator[None]:
    """Holds back other imports into the store, so that the same ids are not handed out twice."""
    lock = FileLock(store.jobs_path / LOCK_NAME)
    with explained(store.jobs_path / LOCK_NAME):
        store.jobs_path.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=store.wait_s)
        except Timeout as error:
            raise StoreBusy(
                f"another import into {store.path} is running",
                f"it still was after {store.wait_s:g} s",
                "try again, or wait longer: --wait SECONDS",
            ) from error
    try:
        yield
    finally:
        lock.release()


def _repeat(store: StoreFolder, key: ImportKey) -> FileReport | None:
    """The report of a file that was imported before in the same way: nothing is new."""
    with store.read() as cursor:
        earlier = finished_import(cursor, key)
    if earlier is None:
        return None
    counts, options = earlier
    known = replace(counts, n_added=0, n_unchanged=counts.n_added + counts.n_unchanged)
    return FileReport(key.path, _from_json(options["taken"]), known, is_repeat=True)


def _blocks(batches: Iterable[Cleaned]) -> Iterator[Cleaned]:
    """Batches put together to blocks of limited rows and bytes."""
    held: list[Cleaned] = []
    for batch in batches:
        held.append(batch)
        n_bytes = sum(part.patents.nbytes for part in held)
        if sum(part.n_rows for part in held) >= BLOCK_ROWS or n_bytes >= BLOCK_BYTES:
            yield joined(held)
            held = []
    if held:
        yield joined(held)


def _sum(all_counts: Sequence[Counts]) -> Counts:
    return Counts(
        n_rows=sum(counts.n_rows for counts in all_counts),
        n_added=sum(counts.n_added for counts in all_counts),
        n_unchanged=sum(counts.n_unchanged for counts in all_counts),
        n_excluded=sum(counts.n_excluded for counts in all_counts),
        n_rejected=sum(counts.n_rejected for counts in all_counts),
    )


def _is_complete(counts: Counts) -> bool:
    parts = (counts.n_added, counts.n_unchanged, counts.n_excluded, counts.n_rejected)
    return counts.n_rows == sum(parts)


def _as_json(taken: Taken) -> dict[str, Any]:
    return {
        "file_format": taken.file_format,
        "mapping": dict(taken.mapping),
        "encoding": taken.encoding,
        "delimiter": taken.delimiter,
        "notes": list(taken.notes),
    }


def _from_json(taken: Mapping[str, Any]) -> Taken:
    mapping = {name: taken["mapping"][name] for name in FIELDS if name in taken["mapping"]}
    return Taken(**{**taken, "mapping": mapping, "notes": tuple(taken["notes"])})


def _stored_name(name: str) -> str:
    return "codes" if name == "ipc" else name


def _shown(value: Any) -> str:
    return ("; ".join(value) if isinstance(value, list) else str(value))[:1_000]
