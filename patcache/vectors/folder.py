"""The folder of one spec: which spec it is of, and who may write."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patcache.errors import NotThere, VectorsBusy, VectorsDamaged
from patcache.hashing import canonical_json
from patcache.records import Spec

SPEC_NAME = "spec.json"
LOCK_NAME = "write.lock"
PID_NAME = "write.pid"


def read_spec(folder: Path) -> Spec:
    """The spec a folder is of. Errors: NotThere without spec.json, VectorsDamaged if unreadable."""
    path = folder / SPEC_NAME
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return Spec(record["label"], record["identity"], record["dim"], record["sparse"])
    except FileNotFoundError as error:
        raise NotThere(f"no vectors in {folder}", f"it has no {SPEC_NAME}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise VectorsDamaged(
            f"{path} cannot be read",
            str(error),
            f"restore a copy, or delete {folder} and embed again",
        ) from error


def check_spec(folder: Path, spec: Spec) -> bool:
    """Whether the folder is of this spec already; false where it has no spec yet.

    Errors: VectorsDamaged where it is of another one.
    """
    if not (folder / SPEC_NAME).exists():
        return False
    found = read_spec(folder)
    if (found.spec_id, found.dim, found.sparse) != (spec.spec_id, spec.dim, spec.sparse):
        raise VectorsDamaged(
            f"{folder} holds the vectors of another spec",
            f"its {SPEC_NAME} is of {found.label} ({found.spec_id}, dimension {found.dim}), "
            f"asked for was {spec.label} ({spec.spec_id}, dimension {spec.dim})",
            f"move it to vectors/{found.spec_id}, or delete it",
        )
    return True


def write_spec(folder: Path, spec: Spec) -> None:
    """Says which spec the folder is of: whole or not at all."""
    record = {
        "identity": spec.identity,
        "label": spec.label,
        "dim": spec.dim,
        "sparse": spec.sparse,
    }
    aside = folder / f"{SPEC_NAME}.new"
    aside.write_text(canonical_json(record), encoding="utf-8")
    aside.replace(folder / SPEC_NAME)


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """The right to write, until the block or the process ends. Errors: VectorsBusy with the pid."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK_NAME)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise VectorsBusy(
            f"the vectors in {folder} are being written",
            f"by process {_holder(folder)}",
            "wait for it to finish, then run the same command again",
        ) from error
    try:
        (folder / PID_NAME).write_text(str(os.getpid()))
        yield
    finally:
        (folder / PID_NAME).unlink(missing_ok=True)
        lock.release()


def _holder(folder: Path) -> str:
    try:
        return (folder / PID_NAME).read_text().strip() or "unknown"
    except FileNotFoundError:
        return "unknown"
