"""Whether the vectors of a store are what was written, and what of them can be kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patcache.errors import NotThere, VectorsDamaged, VectorsUnreadable
from patcache.records import Progress, Spec
from patcache.steps.loading import FIT_NAME
from patcache.store.specs import forget_encodings, labelled_spec, n_encoded, specs
from patcache.vectors.disk import tree_bytes
from patcache.vectors.folder import SPEC_NAME, read_spec, write_spec, writer_lock
from patcache.vectors.journal import JOURNAL_NAME
from patcache.vectors.repair import LEFTOVERS, REPAIRED, finish_swap, repair_rows
from patcache.vectors.sums import check_sums
from patcache.vectors.verify import Checked, Fault, check_rows

if TYPE_CHECKING:
    from patcache.store import StoreFolder

NO_SPEC = "no spec of this store refers to it"


@dataclass(frozen=True, slots=True)
class FolderReport:
    """What is wrong with one vector folder.

    spec: None where nobody can say of what it is, or this user may not read it. labels: of the
    store's specs whose vectors it holds; none where nothing refers to it. n_rows: that its journal
    names, or the store has noted where that is more; n_intact: of blocks that are what was written.
    """

    folder: str
    spec: Spec | None
    labels: tuple[str, ...]
    n_rows: int
    n_intact: int
    size_bytes: int
    faults: tuple[Fault, ...] = ()
    is_readable: bool = True

    @property
    def is_damaged(self) -> bool:
        return any(fault.is_damage for fault in self.faults)

    @property
    def is_repairable(self) -> bool:
        """Whether `repair` changes anything: fits cannot be made good from what is here."""
        return self.spec is not None and any(
            f.file == SPEC_NAME or _is_of_rows(f) for f in self.faults
        )


def verify(
    store: StoreFolder, models: Sequence[str] = (), progress: Progress | None = None
) -> list[FolderReport]:
    """Reads every byte of the vectors of the models (none named: of every folder there is).

    progress: in bytes. Errors: NotThere for a model that is not stored.
    """
    with store.read() as cursor:
        wanted = {labelled_spec(cursor, name).vectors_id for name in models}
    noted = _noted(store)
    _finish_swaps(store)
    there = {folder.name for folder in vector_folders(store)}
    lost = {name for name, n_rows in noted.n_rows.items() if n_rows}
    names = sorted(name for name in there | lost if not models or name in wanted)
    folders = [store.vectors_path / name for name in names]
    sizes = [tree_bytes(folder) for folder in folders]
    reports = []
    for number, folder in enumerate(folders):
        done, total = sum(sizes[:number]), sum(sizes)

        def part(part_done: int, _total: int, done: int = done, total: int = total) -> None:
            if progress is not None:
                progress(min(done + part_done, total), total)

        reports.append(_check_folder(folder, noted, part))
        part(sizes[number], sizes[number])
    return reports


def repair(
    store: StoreFolder, report: FolderReport, progress: Progress | None = None
) -> FolderReport:
    """The folder without its damaged blocks: the next embed encodes the lost rows, and no others.

    Errors: NotThere where it is gone by now, or nobody can say of what it is; VectorsBusy;
    WriteFailed.
    """
    folder = store.vectors_path / report.folder
    noted = _noted(store)
    spec, faults = _spec_of(folder, noted.specs)
    if spec is None:
        raise NotThere(
            f"{folder} cannot be repaired",
            "; ".join(fault.why for fault in faults) or "it is gone",
            f"restore a copy of {SPEC_NAME}, or delete the folder and embed again",
        )
    if faults:
        with writer_lock(folder, store.busy_wait_s):
            write_spec(folder, spec)
    if not any(_is_of_rows(fault) for fault in report.faults):
        return _check_folder(folder, noted, progress)

    def forget() -> None:
        with store.write() as cursor:
            for spec_id in {folder.name, *(s.spec_id for s in _users(folder, noted.specs))}:
                forget_encodings(cursor, spec_id)

    repair_rows(folder, spec, forget, store.busy_wait_s, progress)
    return _check_folder(folder, _noted(store), None)


def vector_folders(store: StoreFolder) -> list[Path]:
    """The folders of specs, without what killed removals and repairs left."""
    return [
        path
        for path in sorted(store.vectors_path.glob("*"))
        if path.is_dir() and path.suffix not in LEFTOVERS
    ]


@dataclass(frozen=True, slots=True)
class _Noted:
    """What the store knows: its specs, and how many rows of each folder were once recorded."""

    specs: list[Spec]
    n_rows: Mapping[str, int]


def _noted(store: StoreFolder) -> _Noted:
    with store.read() as cursor:
        stored = specs(cursor)
        names = {spec.vectors_id for spec in stored}
        return _Noted(stored, {name: n_encoded(cursor, name) for name in names})


def _is_of_rows(fault: Fault) -> bool:
    return fault.is_damage and fault.file != SPEC_NAME and not fault.file.startswith(FIT_NAME)


def _check_folder(folder: Path, noted: _Noted, progress: Progress | None) -> FolderReport:
    try:
        return _checked(folder, noted, progress)
    except VectorsUnreadable as error:
        labels = tuple(sorted(user.label for user in _users(folder, noted.specs)))
        fault = Fault(error.path.name, f"{error.why}: {error.todo}")
        size_bytes = tree_bytes(folder)
        return FolderReport(
            folder.name, None, labels, 0, 0, size_bytes, (fault,), is_readable=False
        )


def _checked(folder: Path, noted: _Noted, progress: Progress | None) -> FolderReport:
    spec, faults = _spec_of(folder, noted.specs)
    checked = Checked(0, [], []) if spec is None else check_rows(folder, spec, progress)
    if spec is not None:
        faults += checked.faults
        faults += _lost_rows(checked.n_rows, noted.n_rows.get(folder.name, 0))
        if checked.n_rows:
            faults += _fit_faults(folder, spec)
    labels = tuple(sorted(user.label for user in _users(folder, noted.specs)))
    size_bytes = tree_bytes(folder)
    n_rows = max(checked.n_rows, noted.n_rows.get(folder.name, 0))
    n_intact = checked.n_intact
    return FolderReport(folder.name, spec, labels, n_rows, n_intact, size_bytes, tuple(faults))


def _spec_of(folder: Path, stored: Sequence[Spec]) -> tuple[Spec | None, list[Fault]]:
    """What the folder is of, by its own word or else the store's; what is wrong with its word.

    None where it cannot be known, or where vectors of another spec lie under this name.
    """
    known = next((spec for spec in stored if spec.spec_id == folder.name), None)
    try:
        spec = read_spec(folder)
    except NotThere:
        is_begun = (folder / JOURNAL_NAME).exists()
        return known, [Fault(SPEC_NAME, "it is gone")] if is_begun else []
    except VectorsUnreadable:
        raise
    except VectorsDamaged as error:
        return known, [Fault(SPEC_NAME, f"it cannot be read: {error.why}")]
    if spec.spec_id != folder.name:
        return None, [Fault(SPEC_NAME, f"it is of {spec.label} ({spec.spec_id}), another spec")]
    if known is not None and (spec.dim, spec.sparse) != (known.dim, known.sparse):
        return known, [Fault(SPEC_NAME, f"it says dimension {spec.dim}, the store {known.dim}")]
    return spec, []


def _users(folder: Path, stored: Sequence[Spec]) -> Iterator[Spec]:
    return (spec for spec in stored if spec.vectors_id == folder.name)


def _lost_rows(n_rows: int, n_noted: int) -> Iterator[Fault]:
    """Rows that were once there: a journal that is gone, or older than the store, says nothing."""
    if n_rows < n_noted:
        yield Fault(JOURNAL_NAME, f"it names {n_rows:,} rows, the store has noted {n_noted:,}")


def _fit_faults(folder: Path, spec: Spec) -> Iterator[Fault]:
    fit = folder / FIT_NAME
    if fit.is_dir():
        yield from check_sums(fit)
    elif spec.identity.get("fit") is not None:
        yield Fault(FIT_NAME, "it is gone: no further text can be encoded")


def _finish_swaps(store: StoreFolder) -> None:
    for path in store.vectors_path.glob(f"*{REPAIRED}"):
        finish_swap(path.with_suffix(""))
