"""Every error a user can meet, all under PatcacheError: what went wrong, why, and what to do."""

from __future__ import annotations

from pathlib import Path


class PatcacheError(Exception):
    """Something the user can meet; the command line prints it in up to three lines.

    what: what was asked and could not be done; why: what was found; todo: what would work.
    """

    exit_code = 1

    def __init__(self, what: str, why: str = "", todo: str = "") -> None:
        super().__init__("\n".join(part for part in (what, why, todo) if part))
        self.what = what
        self.why = why
        self.todo = todo


def in_one_line(error: BaseException) -> str:
    """The kind of a library's error and the beginning of what it says."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said[:300]}" if said else type(error).__name__


class NotThere(PatcacheError):
    """No such store, sample, model, or an empty slice."""

    exit_code = 3


class Misused(PatcacheError):
    """Asked in a way that has no answer: two things that exclude each other, or one too few."""

    exit_code = 2


class StoreBusy(PatcacheError):
    """Another process holds the store, and did so for longer than the wait."""

    exit_code = 4


class StoreRefused(PatcacheError):
    """The folder or its database is newer than this program, damaged, or not ours."""


class ImportRefused(PatcacheError):
    """A file cannot be imported at all: unreadable, wrong encoding, a column that is not there."""


class SampleRefused(PatcacheError):
    """A sample cannot be drawn or imported as asked."""


class ModelRefused(PatcacheError):
    """A model cannot be used as asked: unknown, not installed, wrong device, pickled weights."""


class VectorsDamaged(PatcacheError):
    """The files of one spec are not what their journal says."""


class VectorsUnreadable(VectorsDamaged):
    """This user may not read a file of one spec; whether it is damaged is not known."""

    def __init__(self, path: Path, reason: str) -> None:
        what, todo = f"cannot read {path}", f"get the right to read in {path.parent}"
        super().__init__(what, f"permission denied ({reason})", f"{todo}, then try again")
        self.path = path


class VectorsBusy(PatcacheError):
    """Another process is writing the vectors of this spec."""

    exit_code = 4


class WriteFailed(PatcacheError):
    """A file cannot be written: the disk is full, read-only or failing, or it is not allowed."""


class QueryRefused(PatcacheError):
    """SQL that does not run here: not read-only, or wrong."""


class StudyInvalid(PatcacheError):
    """A study file that says something unknown or contradictory."""

    exit_code = 2
