"""What the corpus holds, and what was refused when it was imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patcache.listing import Listing, column

if TYPE_CHECKING:
    from patcache.store import StoreFolder

SUMMARY = """
SELECT count(*), min(year), max(year), count(*) FILTER (family_id IS NULL),
       count(*) FILTER (abstract IS NULL)
FROM data.patents"""
SECTIONS = "SELECT section, count(*) FROM data.patents GROUP BY section ORDER BY section"
SHARED_TEXTS = """
SELECT count(*) FROM (
    SELECT same_text_key FROM data.patents GROUP BY same_text_key HAVING count(*) > 1
)"""
# Of a file that was imported several times, the last time counts.
LAST_REJECTS = """
FROM data.rejects
WHERE import_id IN (SELECT max(import_id) FROM data.imports GROUP BY path)"""
REJECTS = f"""
SELECT path, row_number, publication_number, column_name, value, reason, is_excluded
{LAST_REJECTS} ORDER BY import_id, is_excluded, row_number"""
REASONS = f"""
SELECT path, column_name, reason, is_excluded, count(*), min(row_number), arg_min(value, row_number)
{LAST_REJECTS} GROUP BY path, column_name, reason, is_excluded
ORDER BY path, is_excluded, count(*) DESC, column_name, reason"""


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """A corpus in a few numbers; years are None where it is empty.

    n_shared_texts: groups of two or more patents with one text. n_title_only: without abstract.
    """

    n_patents: int
    first_year: int | None
    last_year: int | None
    n_by_section: dict[str, int]
    n_shared_texts: int
    n_family_unknown: int
    n_title_only: int


@dataclass(frozen=True, slots=True)
class RejectRow:
    """One record that is no patent of the corpus, and why.

    kind: 'rejected' for a fault, 'excluded' for what is out of scope.
    """

    path: str = column("file")
    row_number: int = column("row", fmt=",")
    publication_number: str | None = column("number")
    column_name: str = column("column")
    value: str | None = column("value")
    reason: str = column("reason")
    kind: str = column("kind")


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """How many records of a file have one fault, and the first of them."""

    path: str = column("file")
    kind: str = column("kind")
    column_name: str = column("column")
    reason: str = column("reason")
    n_rows: int = column("rows", fmt=",")
    first_row: int = column("first row", fmt=",")
    first_value: str | None = column("its value")


def corpus_summary(store: StoreFolder) -> CorpusSummary:
    """The corpus in a few numbers."""
    with store.read() as cursor:
        n_patents, first, last, n_family_unknown, n_title_only = cursor.execute(SUMMARY).fetchall()[
            0
        ]
        by_section = dict(cursor.execute(SECTIONS).fetchall())
        n_shared = cursor.execute(SHARED_TEXTS).fetchall()[0][0]
    return CorpusSummary(
        n_patents, first, last, by_section, n_shared, n_family_unknown, n_title_only
    )


def rejects(store: StoreFolder) -> Listing[RejectRow]:
    """Every record refused by the last import of each file, faults before what is out of scope."""
    with store.read() as cursor:
        rows = cursor.execute(REJECTS).fetchall()
    found = tuple(
        RejectRow(path, row, number, name, value, reason, _kind(is_excluded=is_excluded))
        for path, row, number, name, value, reason, is_excluded in rows
    )
    return Listing(RejectRow, found, _caption(row.kind for row in found))


def reject_reasons(store: StoreFolder) -> Listing[ReasonRow]:
    """The reasons of the last import of each file, the most frequent first."""
    with store.read() as cursor:
        rows = cursor.execute(REASONS).fetchall()
    found = tuple(
        ReasonRow(path, _kind(is_excluded=is_excluded), name, reason, *counted)
        for path, name, reason, is_excluded, *counted in rows
    )
    return Listing(ReasonRow, found, _caption(row.kind for row in found for _ in range(row.n_rows)))


def _kind(*, is_excluded: bool) -> str:
    return "excluded" if is_excluded else "rejected"


def _caption(kinds: Iterable[str]) -> tuple[str]:
    found = Counter(kinds)
    rejected = f"{found['rejected']:,} rejected (at fault)"
    return (f"{rejected} · {found['excluded']:,} excluded (out of scope)",)
