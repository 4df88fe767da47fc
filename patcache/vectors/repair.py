"""Rewriting a folder without its damaged blocks: all that is intact stays, byte for byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from patcache.errors import WriteFailed
from patcache.records import Progress, Spec
from patcache.vectors.disk import explained, sync_folder, sync_tree
from patcache.vectors.folder import LOCK_NAME, PID_NAME, SPEC_NAME, writer_lock
from patcache.vectors.journal import JOURNAL_NAME
from patcache.vectors.layout import files_of
from patcache.vectors.npyfile import NpyFile
from patcache.vectors.rows import AnyRows, open_rows
from patcache.vectors.verify import Checked, Span, check_rows

REPAIRED = ".repaired"  # whole, and about to take the place of the folder
REMOVED = ".removed"
NEW = ".new"
LEFTOVERS = frozenset({NEW, REMOVED, REPAIRED})  # what killed removals and repairs leave


def repair_rows(
    folder: Path,
    spec: Spec,
    before_swap: Callable[[], None],
    wait_s: float = 0.0,
    progress: Progress | None = None,
) -> Checked:
    """Keeps the intact blocks of a folder and drops the others; what was found.

    The folder is written anew beside the old one and then takes its place, so that a killed repair
    changes nothing. before_swap: called when all is written, for what must be forgotten of the old
    rows. Errors: VectorsBusy, WriteFailed.
    """
    aside = folder.with_name(folder.name + NEW)
    with writer_lock(folder, wait_s):
        checked = check_rows(folder, spec, progress)
        shutil.rmtree(aside, ignore_errors=True)  # of a repair that was killed
        try:
            rows = open_rows(aside, spec)
            with rows.writing():
                _copy_blocks(folder, rows, checked.intact)
                _copy_others(folder, aside)
                before_swap()
                _swap(folder, aside)
        except WriteFailed:
            shutil.rmtree(aside, ignore_errors=True)
            raise
    return checked


def finish_swap(folder: Path) -> None:
    """Completes a repair that was killed between taking the old folder away and the new one in."""
    repaired = folder.with_name(folder.name + REPAIRED)
    if repaired.exists() and not folder.exists():
        with explained(folder):
            repaired.rename(folder)
            sync_folder(folder.parent)


def _copy_blocks(folder: Path, rows: AnyRows, intact: list[Span]) -> None:
    files = files_of(folder, rows.spec)
    for span in intact:
        block = span.block
        keys = files["keys"].read(block.start, block.stop)
        vectors: Any = _vectors(files, rows.spec, block.start, block.stop)
        rows.append(keys, vectors, block.run)


def _vectors(files: Mapping[str, NpyFile], spec: Spec, start: int, stop: int) -> Any:
    if not spec.sparse:
        return files["vectors"].read(start, stop)
    from scipy.sparse import csr_array

    indptr = files["indptr"].read(start, stop + 1)
    first, last = int(indptr[0]), int(indptr[-1])
    parts = (files["data"].read(first, last), files["indices"].read(first, last), indptr - first)
    return csr_array(parts, shape=(stop - start, spec.dim))


def _copy_others(folder: Path, aside: Path) -> None:
    """What lies beside the vectors: the fit of a fitted model."""
    own = {JOURNAL_NAME, LOCK_NAME, PID_NAME, SPEC_NAME}
    for path in folder.iterdir():
        if path.name in own or path.suffix in (".npy", NEW):
            continue
        with explained(aside / path.name):
            if path.is_dir():
                shutil.copytree(path, aside / path.name)
                sync_tree(aside / path.name)
            else:
                shutil.copy2(path, aside / path.name)


def _swap(folder: Path, aside: Path) -> None:
    repaired = folder.with_name(folder.name + REPAIRED)
    removed = folder.with_name(folder.name + REMOVED)
    with explained(folder):
        shutil.rmtree(repaired, ignore_errors=True)
        shutil.rmtree(removed, ignore_errors=True)
        aside.rename(repaired)
        folder.rename(removed)
        repaired.rename(folder)
        sync_folder(folder.parent)
    with suppress(OSError):
        shutil.rmtree(removed)
