"""What verifying found, a row for each fault and each folder that is fine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patcache.listing import Listing, column
from patcache.steps.verifying import NO_SPEC, FolderReport


@dataclass(frozen=True, slots=True)
class DamageRow:
    """A fault, or a folder without one; rows: those it concerns, counted from 0."""

    state: str = column("state")  # fine, damaged, as given
    model: str | None = column("model")
    folder: str = column("vectors")
    n_rows: int = column("rows")
    size_bytes: int = column("bytes")
    file: str | None = column("file")
    rows: str | None = column("rows concerned")
    why: str = column("what is found")


def damage_rows(reports: Sequence[FolderReport]) -> Listing[DamageRow]:
    """The faults of all folders, folder by folder."""
    n_damaged = sum(report.is_damaged for report in reports)
    n_fine = len(reports) - n_damaged
    n_bytes = sum(report.size_bytes for report in reports)
    what = f"{n_bytes:,} bytes read · {n_fine} of {len(reports)} vector folders fine"
    can_repair = any(report.is_repairable and report.is_damaged for report in reports)
    notes = ["patcache verify --repair keeps the intact blocks"] if can_repair else []
    notes += [
        f"vectors/{report.folder} cannot be repaired: restore a copy of what is damaged, or delete "
        "the folder and embed again"
        for report in reports
        if report.is_damaged and report.is_readable and not report.is_repairable
    ]
    rows = [row for report in reports for row in _rows(report)]
    return Listing(DamageRow, tuple(rows), caption=(what,), notes=tuple(notes))


def _rows(report: FolderReport) -> Iterator[DamageRow]:
    model = ", ".join(report.labels) or None
    facts = (model, report.folder, report.n_rows, report.size_bytes)
    if not report.faults:
        yield DamageRow("fine", *facts, None, None, "" if model else NO_SPEC)
    for fault in report.faults:
        state = "damaged" if fault.is_damage else "as given"
        yield DamageRow(state, *facts, fault.file, fault.rows, fault.why)
