"""Writing files so that what is said to be on disk is on disk, and a failure can be understood."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from patcache.errors import VectorsUnreadable, WriteFailed

DISK_FULL = {
    errno.ENOSPC: "there is no space left",
    getattr(errno, "EDQUOT", errno.ENOSPC): "the quota is used up",
    errno.EFBIG: "the file would be larger than the system or a limit allows",
}
NOT_ALLOWED = (errno.EACCES, errno.EPERM)
CANNOT_RESERVE = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)  # folders on some network file systems
KEPT = "what was finished is kept"


@contextmanager
def explained(path: Path, n_bytes: int = 0) -> Iterator[None]:
    """What it means when `path`, which n_bytes go into, cannot be written. Errors: WriteFailed."""
    try:
        yield
    except OSError as error:
        raise write_failed(error, path, n_bytes) from error


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """What it means when `path` may not be read. Errors: VectorsUnreadable."""
    try:
        yield
    except PermissionError as error:
        raise VectorsUnreadable(path, error.strerror or "") from error


def write_failed(error: OSError, path: Path, n_bytes: int = 0) -> WriteFailed:
    """The failure of a write as the user can understand it."""
    if error.errno in DISK_FULL:
        needed = f"{n_bytes:,} more bytes were to be written" if n_bytes else "it was to be made"
        return WriteFailed(
            f"the disk is full: {path}",
            f"{DISK_FULL[error.errno]}; {needed}{_free(path)}",
            f"make room and run the same command again; {KEPT}",
        )
    if error.errno == errno.EROFS:
        return WriteFailed(
            f"cannot write {path}",
            "its file system is mounted read-only",
            f"mount it for writing, or copy the store to another; {KEPT}",
        )
    if error.errno in NOT_ALLOWED:
        return WriteFailed(
            f"cannot write {path}",
            f"permission denied ({error.strerror})",
            f"get the right to write in {path.parent}, then run the same command again; {KEPT}",
        )
    return WriteFailed(
        f"cannot write {path}",
        str(error),
        f"check the disk, then run the same command again; {KEPT}: `patcache verify` reads it all",
    )


def reserve(descriptor: int, offset: int, n_bytes: int) -> None:
    """Claims the space of a write before it, where the system can; elsewhere the write itself does.

    So a disk that is full is an error here, and never a signal to whoever maps the file.
    """
    if n_bytes == 0 or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(descriptor, offset, n_bytes)
    except OSError as error:
        if error.errno not in CANNOT_RESERVE:
            raise


def write_all(descriptor: int, raw: memoryview | bytes) -> None:
    """Writes every byte at the descriptor's place: one call may write fewer."""
    view = memoryview(raw)
    while len(view):
        view = view[os.write(descriptor, view) :]


def replace_file(path: Path, raw: bytes) -> None:
    """Writes a small file whole or not at all, on disk when this returns. Errors: WriteFailed."""
    aside = path.with_name(f"{path.name}.new")
    with explained(path, len(raw)):
        try:
            with aside.open("wb", buffering=0) as stream:
                write_all(stream.fileno(), raw)
                os.fsync(stream.fileno())
            aside.replace(path)
            sync_folder(path.parent)
        except OSError:
            with suppress(OSError):
                aside.unlink()
            raise


def sync_folder(folder: Path) -> None:
    """Puts the names in a folder on disk: files made, renamed and removed."""
    if os.name == "nt":
        return  # Windows has no such call; it keeps names with their files
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Puts every file of a folder on disk, and their names."""
    for path in [*folder.rglob("*"), folder]:
        if path.is_dir():
            sync_folder(path)
        else:
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def tree_bytes(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; what goes meanwhile counts nothing.

    Errors: VectorsUnreadable.
    """
    with readable(path):
        if path.is_file():
            return path.stat().st_size
        files = (Path(root, name) for root, _, names in os.walk(path) for name in names)
        return sum(map(_file_bytes, files))


def _file_bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # a writer has just renamed or removed it
        return 0


def _free(path: Path) -> str:
    with suppress(OSError):
        return f", {shutil.disk_usage(path.parent).free:,} are free"
    return ""
