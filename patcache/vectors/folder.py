"""The folder of one spec: which spec it is of, and who may write."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from patcache.errors import NotThere, VectorsBusy, VectorsDamaged
from patcache.hashing import canonical_json
from patcache.records import Spec
from patcache.vectors.disk import explained, readable, replace_file

SPEC_NAME = "spec.json"
LOCK_NAME = "write.lock"
PID_NAME = "write.pid"


def read_spec(folder: Path) -> Spec:
    """The spec a folder is of.

    Errors: NotThere without spec.json; VectorsDamaged where it is no spec; VectorsUnreadable.
    """
    path = folder / SPEC_NAME
    try:
        with readable(path):
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
    with readable(folder / SPEC_NAME):
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
    """Says which spec the folder is of: whole or not at all. Errors: WriteFailed."""
    record = {
        "identity": spec.identity,
        "label": spec.label,
        "dim": spec.dim,
        "sparse": spec.sparse,
    }
    replace_file(folder / SPEC_NAME, canonical_json(record).encode("utf-8"))


@contextmanager
def writer_lock(folder: Path, wait_s: float = 0.0) -> Iterator[None]:
    """The right to write, until the block or the process ends.

    wait_s: how long to wait for another writer. The lock is the system's, so that it ends with
    the process that has it, however that ends; the pid beside it is for people.
    Errors: VectorsBusy with the pid; WriteFailed.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK_NAME)
    with explained(folder / LOCK_NAME):
        try:
            lock.acquire(timeout=wait_s)
        except Timeout as error:
            raise _busy(folder, wait_s) from error
    try:
        with suppress(OSError):  # on a full disk too, vectors can be removed to make room
            (folder / PID_NAME).write_text(str(os.getpid()))
        yield
    finally:
        with suppress(OSError):
            (folder / PID_NAME).unlink(missing_ok=True)
        lock.release()


def writer_pid(folder: Path) -> int | None:
    """The process that writes the folder; None where none does, or it does not say."""
    try:
        return int((folder / PID_NAME).read_text())
    except (OSError, ValueError):
        return None


def _busy(folder: Path, wait_s: float) -> VectorsBusy:
    waited = f", and still was after {wait_s:g} s" if wait_s else ""
    return VectorsBusy(
        f"the vectors in {folder} are being written",
        f"by process {writer_pid(folder) or 'unknown'}{waited}",
        "run the same command again when it has finished, or let it wait: --wait SECONDS",
    )
