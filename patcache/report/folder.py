"""A folder of results: written aside, moved into place whole, and told from other folders."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from patcache.errors import WriteFailed
from patcache.steps.interrupts import Interrupts

ASIDE = ".patcache-part"  # inside the folder: on the same disk, whatever is mounted where
READ_BYTES = 1 << 20


@contextmanager
def results_folder(out: Path, kind: str) -> Iterator[Path]:
    """An empty folder to write into; on leaving, its files become those of `out`.

    A list of the files with their sha256, patcache-KIND.sha256, is added. Files of an earlier
    folder of this kind are replaced, or removed where they are written no more; others stay. After
    an error or Ctrl-C `out` is as it was.
    Errors: WriteFailed for a folder that holds other things, a file that is not ours in the place
    of one to be written, a full disk.
    """
    manifest = f"patcache-{kind}.sha256"
    owned = _owned(out, manifest)
    made = [path for path in (out, *out.parents) if not path.exists()]
    aside = out / ASIDE
    try:
        with _explained(out):
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            yield aside
            names = _write_manifest(aside, manifest)
            _refuse_others(out, names - owned - {manifest})
            with Interrupts():
                _move(aside, out, names, owned, manifest)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        _remove_empty(made)


@contextmanager
def _explained(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteFailed(
            f"cannot write {error.filename or out}",
            str(error),
            f"nothing of it is left; make room or name another folder than {out}",
        ) from error


def _owned(out: Path, manifest: str) -> set[str]:
    """The files an earlier run wrote. Errors: WriteFailed for a folder that is another's."""
    if out.exists() and not out.is_dir():
        raise WriteFailed(f"{out} is a file", "results are a folder", "name another")
    if not out.is_dir():
        return set()
    others = sorted(path.name for path in out.iterdir() if path.name != ASIDE)
    if manifest in others:
        lines = (out / manifest).read_text(encoding="utf-8").splitlines()
        names = {line.partition("  ")[2] for line in lines}
        return {name for name in names if name and _is_inside(name)}
    if others:
        raise WriteFailed(
            f"{out} holds other things",
            f"{', '.join(others[:3])}{' ...' * (len(others) > 3)}, and no {manifest}",
            "name a new or an empty folder, or one of an earlier run",
        )
    return set()


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _write_manifest(aside: Path, manifest: str) -> set[str]:
    """The names of all files written, once their list is written beside them."""
    files = sorted(path for path in aside.rglob("*") if path.is_file())
    names = [path.relative_to(aside).as_posix() for path in files]
    lines = [f"{_sha256(path)}  {name}\n" for path, name in zip(files, names, strict=True)]
    (aside / manifest).write_text("".join(lines), encoding="utf-8", newline="\n")
    return set(names)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _refuse_others(out: Path, new: set[str]) -> None:
    """Errors: WriteFailed where a file that no earlier run wrote would be replaced."""
    taken = sorted(name for name in new if (out / name).exists())
    if taken:
        raise WriteFailed(
            f"{out / taken[0]} is in the way",
            "no earlier run wrote it",
            "move it, or name another folder",
        )


def _move(aside: Path, out: Path, names: set[str], owned: set[str], manifest: str) -> None:
    """Moves every file into place. The list names old and new ones until the end, so that a run
    after one that was killed here still knows its own."""
    new = (aside / manifest).read_text(encoding="utf-8")
    gone = sorted(owned - names)
    (out / manifest).write_text(
        new + "".join(f"{'0' * 64}  {name}\n" for name in gone), encoding="utf-8", newline="\n"
    )
    for name in sorted(names):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (aside / name).replace(out / name)
    for name in gone:
        (out / name).unlink(missing_ok=True)
    _remove_empty(sorted({(out / name).parent for name in gone}, reverse=True))
    (aside / manifest).replace(out / manifest)


def _remove_empty(folders: list[Path]) -> None:
    """Removes those that are empty, innermost first."""
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
