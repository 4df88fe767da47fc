"""What lies in a store and nothing refers to: shown first, then removed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patcache.errors import PatcacheError, VectorsBusy
from patcache.steps.verifying import vector_folders
from patcache.store.jobs import is_alive, job_path, read_jobs
from patcache.store.specs import specs
from patcache.vectors.disk import explained, tree_bytes
from patcache.vectors.folder import read_spec, writer_lock
from patcache.vectors.repair import LEFTOVERS, REMOVED, REPAIRED, finish_swap

if TYPE_CHECKING:
    from patcache.store import StoreFolder

UNUSED = "no model of this store: copied in and not used yet, or left by an older model"
KILLED = "left by a process that was killed"
FIT_TEXTS = "fit-*"
OLD_S = 3600.0  # what was set aside and not touched for so long, nobody waits for


@dataclass(frozen=True, slots=True)
class Garbage:
    """A file or folder nothing refers to. lock: the vector folder whose writer may be making it."""

    path: Path
    size_bytes: int
    why: str
    lock: Path | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """What was removed, and what a writer holds and so was left."""

    removed: tuple[Garbage, ...]
    busy: tuple[Garbage, ...]

    @property
    def size_bytes(self) -> int:
        return sum(item.size_bytes for item in self.removed)


def find_garbage(store: StoreFolder, *, cache: bool = False) -> list[Garbage]:
    """What can go: unused vectors and indexes, leftovers of killed runs, dead jobs.

    cache: what is made again when a word model or a file of vectors needs it, too.
    """
    for path in store.vectors_path.glob(f"*{REPAIRED}"):
        finish_swap(path.with_suffix(""))
    found = [*_vectors(store), *_leftovers(store), *_indexes(store), *_jobs(store)]
    if cache and store.cache_path.exists():
        why = "token ids and files read once, which are made again when they are needed"
        found.append(_garbage(store.cache_path, why))
    return found


def collect(store: StoreFolder, garbage: list[Garbage]) -> Collected:
    """Removes what was found and still is garbage; what a writer holds stays.

    Errors: WriteFailed where something cannot be removed.
    """
    removed, busy = [], []
    for item in garbage:
        if item.path == store.cache_path and _is_embedding(store):
            busy.append(item)
            continue
        try:
            with nullcontext() if item.lock is None else writer_lock(item.lock):
                if item.path != item.lock or item.path.name not in _used_vectors(store):
                    _remove(item.path)
                    removed.append(item)
        except VectorsBusy:
            busy.append(item)
    return Collected(tuple(removed), tuple(busy))


def _remove(path: Path) -> None:
    """A folder is renamed first, so that what is half removed is not taken for a whole one."""
    with explained(path):
        if not path.is_dir():
            path.unlink(missing_ok=True)
            return
        if path.suffix not in LEFTOVERS:
            aside = path.with_name(path.name + REMOVED)
            shutil.rmtree(aside, ignore_errors=True)
            path = path.rename(aside)
        shutil.rmtree(path)


def _vectors(store: StoreFolder) -> Iterator[Garbage]:
    used = _used_vectors(store)
    for folder in vector_folders(store):
        if folder.name not in used:
            yield _garbage(folder, f"{_label(folder)}{UNUSED}", folder)


def _leftovers(store: StoreFolder) -> Iterator[Garbage]:
    """What was set aside: beside the vectors, in their folders, and texts to fit on."""
    for path in sorted(store.vectors_path.glob("*")):
        if path.suffix in LEFTOVERS:
            whole = path.with_suffix("")
            yield _garbage(path, KILLED, whole if whole.is_dir() else None)
    used = _used_vectors(store)
    for folder in vector_folders(store):
        for path in sorted(folder.glob("*.new")):
            if folder.name in used:
                yield _garbage(path, KILLED, folder)
    if _is_embedding(store):
        return  # a fit may read its texts for hours, and they look as old as forgotten ones
    for path in sorted(store.path.glob(FIT_TEXTS)):
        if path.is_dir() and _is_old(path):
            yield _garbage(path, KILLED)


def _indexes(store: StoreFolder) -> Iterator[Garbage]:
    with store.read() as cursor:
        known = {name for spec in specs(cursor) for name in (spec.spec_id, spec.vectors_id)}
    for path in sorted(store.indexes_path.glob("*")):
        if path.name.split(".")[0] not in known:
            yield _garbage(path, "an index of no model of this store")
        elif path.suffix == ".new" and _is_old(path):
            yield _garbage(path, KILLED)


def _jobs(store: StoreFolder) -> Iterator[Garbage]:
    for job in read_jobs(store):
        if job.state == "died" and not is_alive(job.pid):  # else it may only be stopped
            why = f"{job.command} {job.subject} of {job.started}, whose process is gone"
            yield _garbage(job_path(store, job), why)


def _is_embedding(store: StoreFolder) -> bool:
    """Whether a process embeds here, or is only stopped; it may be making a model first."""
    return any(
        job.command == "embed"
        and (job.state == "running" or (job.state == "died" and is_alive(job.pid)))
        for job in read_jobs(store)
    )


def _used_vectors(store: StoreFolder) -> set[str]:
    with store.read() as cursor:
        return {spec.vectors_id for spec in specs(cursor)}


def _label(folder: Path) -> str:
    try:
        return f"{read_spec(folder).label}, "
    except PatcacheError:
        return ""


def _is_old(path: Path) -> bool:
    try:
        newest = max(file.stat().st_mtime for file in [path, *path.rglob("*")])
    except FileNotFoundError:  # whoever made it has just finished with it
        return False
    return time.time() - newest > OLD_S


def _garbage(path: Path, why: str, lock: Path | None = None) -> Garbage:
    return Garbage(path, tree_bytes(path), why, lock)
