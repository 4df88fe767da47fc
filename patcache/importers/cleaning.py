"""Records of text become patents, or rejects with a reason: whole columns at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from patcache.hashing import text_key
from patcache.importers.codes import CodeColumn, read_codes, why_no_code
from patcache.importers.dates import DateReading, read_date

if TYPE_CHECKING:
    from patcache.records import BoolArray

# How exports say that they have no text, in lower case, white space around it left out.
BLANKS = ("", "-", "--", "---", "–", "—", ".", "n/a", "nan", "none", "null", "<na>")
LONGEST_BLANK = max(map(len, BLANKS)) * 3  # bytes
MAX_VALUE = 1_000  # characters of a refused value that are kept
NO_TEXT = "no text: title and abstract are empty"
WHOLE_RECORD = "(record)"
LEVELS = ("section", "ipc_class", "subclass", "main_group", "code")
REJECT_SCHEMA = pa.schema(
    [
        ("row_number", pa.int64()),
        ("publication_number", pa.string()),
        ("column_name", pa.string()),
        ("value", pa.string()),
        ("reason", pa.string()),
        ("is_excluded", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A batch of records, each either a patent or a reject.

    patents: the columns of data.patents but the ids, and row_number. rejects: REJECT_SCHEMA.
    n_codes_ignored: texts listed among the codes of a kept patent that are none.
    n_dates_ignored: kept patents whose year is known although a date is unreadable.
    """

    patents: pa.Table
    rejects: pa.Table
    n_codes_ignored: int
    n_dates_ignored: int

    @property
    def n_rows(self) -> int:
        return int(self.patents.num_rows + self.rejects.num_rows)


@dataclass(slots=True)
class _Verdicts:
    """The first reason found against each record."""

    reasons: list[str | None]
    columns: list[str] = field(default_factory=list)
    values: list[str | None] = field(default_factory=list)
    excluded: list[bool] = field(default_factory=list)

    @classmethod
    def of(cls, n_rows: int) -> _Verdicts:
        return cls([None] * n_rows, [""] * n_rows, [None] * n_rows, [False] * n_rows)

    def refuse(
        self, row: int, column: str, value: str | None, reason: str, *, excluded: bool = False
    ) -> None:
        if self.reasons[row] is None:
            self.reasons[row] = reason
            self.columns[row] = column
            self.values[row] = None if value is None else value[:MAX_VALUE]
            self.excluded[row] = excluded

    def is_kept(self) -> BoolArray:
        return np.array([reason is None for reason in self.reasons], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class _Years:
    """Year and date of n records. Shapes: all (n,); is_ignored: a date there is, but unreadable."""

    readings: list[DateReading]
    sources: list[str]
    is_ignored: BoolArray


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Reads the records of one file. mapping: field -> column, for the words of the rejects."""

    mapping: Mapping[str, str]
    dayfirst: bool = False
    language: str | None = None

    def clean(self, records: pa.Table) -> Cleaned:
        """Patents and rejects of a batch: one of them for each record."""
        verdicts = _Verdicts.of(records.num_rows)
        texts = {
            name: unblank(records[name])
            for name in ("publication_number", "title", "abstract", "claims", "family_id")
        }
        codes = read_codes(records["ipc"])
        years = self._years(records)
        self._judge_records(verdicts, records, texts)
        self._judge_codes(verdicts, records["ipc"], codes)
        self._judge_years(verdicts, records, years)
        is_kept = verdicts.is_kept()
        texts["language"] = self._languages(records)
        return Cleaned(
            _patents(records["row_number"], texts, codes, years, is_kept),
            _rejects(records, verdicts, ~is_kept),
            int(codes.n_ignored[is_kept].sum()),
            int(years.is_ignored[is_kept].sum()),
        )

    def _column(self, *fields: str) -> str:
        """What the file calls the first of these fields that it has."""
        return next((self.mapping[name] for name in fields if name in self.mapping), fields[0])

    def _judge_records(
        self, verdicts: _Verdicts, records: pa.Table, texts: Mapping[str, pa.Array]
    ) -> None:
        faults, values = records["fault"], records["fault_value"]
        for row in _where(pc.is_valid(faults)):
            verdicts.refuse(row, WHOLE_RECORD, values[row].as_py(), faults[row].as_py())
        for row in _where(pc.is_null(texts["publication_number"])):
            value = records["publication_number"][row].as_py()
            verdicts.refuse(row, self._column("publication_number"), value, "empty")
        for row in _where(pc.and_(pc.is_null(texts["title"]), pc.is_null(texts["abstract"]))):
            column = self._column("abstract", "title")
            verdicts.refuse(row, column, None, NO_TEXT, excluded=True)

    def _judge_codes(self, verdicts: _Verdicts, column: pa.ChunkedArray, codes: CodeColumn) -> None:
        for row in np.flatnonzero(codes.main < 0).tolist():
            listed = column[row].as_py()
            texts = [listed] if isinstance(listed, str) else [t for t in listed or () if t]
            reason, is_excluded = why_no_code(texts)
            value = "; ".join(texts) if listed is not None else None
            verdicts.refuse(row, self._column("ipc"), value, reason, excluded=is_excluded)

    def _years(self, records: pa.Table) -> _Years:
        """The year of the mapped column, else of the date; the day of the date where known."""
        by_year = _read_dates(records["year"], self.dayfirst)
        by_date = _read_dates(records["publication_date"], self.dayfirst)
        readings, sources, ignored = [], [], []
        for year, dated in zip(by_year, by_date, strict=True):
            if year.year is None:
                readings.append(
                    dated if dated.year is not None or dated.reason != "empty" else year
                )
                sources.append("publication_date")
                ignored.append(year.reason != "empty")
            else:
                readings.append(DateReading(year.year, dated.day, dated.precision))
                sources.append("year")
                ignored.append(dated.year is None and dated.reason != "empty")
        return _Years(readings, sources, np.array(ignored, dtype=np.bool_))

    def _judge_years(self, verdicts: _Verdicts, records: pa.Table, years: _Years) -> None:
        for row, reading in enumerate(years.readings):
            if reading.year is not None:
                continue
            value = records["publication_date"][row].as_py()
            if "year" in self.mapping and not (value or "").strip():
                value = records["year"][row].as_py()
                verdicts.refuse(row, self._column("year"), value, reading.reason)
            else:
                verdicts.refuse(row, self._column("publication_date"), value, reading.reason)

    def _languages(self, records: pa.Table) -> pa.Array:
        named = unblank(records["language"])
        return named if self.language is None else pc.fill_null(named, self.language)


def joined(parts: Sequence[Cleaned]) -> Cleaned:
    """Batches as one."""
    return Cleaned(
        pa.concat_tables([part.patents for part in parts]),
        pa.concat_tables([part.rejects for part in parts]),
        sum(part.n_codes_ignored for part in parts),
        sum(part.n_dates_ignored for part in parts),
    )


def same_text_key(text: str) -> bytes:
    """Equal for texts that are equal word for word: case and white space do not count."""
    is_even = text.isascii() and text.isprintable() and "  " not in text  # true of most texts
    words = text.strip(" ") if is_even else " ".join(text.split())
    return text_key(words.casefold())


def unblank(column: pa.ChunkedArray) -> pa.Array:
    """The texts as they are; those that say nothing as null."""
    array = column.combine_chunks()
    trimmed = pc.utf8_trim_whitespace(array)
    short = pc.if_else(pc.less_equal(pc.binary_length(trimmed), LONGEST_BLANK), trimmed, None)
    is_blank = pc.is_in(pc.utf8_lower(short), value_set=pa.array(BLANKS, pa.string()))
    return pc.if_else(is_blank, pa.scalar(None, pa.string()), array)


@lru_cache(maxsize=1 << 16)
def _read_date(text: str, dayfirst: bool) -> DateReading:
    return read_date(text, dayfirst=dayfirst)


def _read_dates(column: pa.ChunkedArray, dayfirst: bool) -> list[DateReading]:
    return [_read_date(text or "", dayfirst) for text in unblank(column).to_pylist()]


def _where(mask: pa.Array) -> list[int]:
    rows: list[int] = pc.indices_nonzero(mask).to_pylist()
    return rows


def _patents(
    row_numbers: pa.ChunkedArray,
    texts: Mapping[str, pa.Array],
    codes: CodeColumn,
    years: _Years,
    is_kept: BoolArray,
) -> pa.Table:
    kept = np.flatnonzero(is_kept).tolist()
    readings = [years.readings[row] for row in kept]
    columns: dict[str, pa.Array] = {
        "row_number": row_numbers.combine_chunks().take(pa.array(kept, pa.int64())),
        "publication_number": texts["publication_number"].take(pa.array(kept, pa.int64())),
        "year": pa.array([reading.year for reading in readings], pa.int16()),
        "year_source": pa.array([years.sources[row] for row in kept], pa.string()),
        "publication_date": pa.array([reading.day for reading in readings], pa.date32()),
        "date_precision": pa.array([reading.precision for reading in readings], pa.string()),
        **{name: codes.level(name).take(pa.array(kept, pa.int64())) for name in LEVELS},
        "codes": codes.lists().take(pa.array(kept, pa.int64())),
        **{
            name: texts[name].take(pa.array(kept, pa.int64()))
            for name in ("title", "abstract", "claims", "family_id", "language")
        },
    }
    shown = pc.coalesce(columns["abstract"], columns["title"]).to_pylist()
    columns["same_text_key"] = pa.array([same_text_key(text) for text in shown], pa.binary())
    return pa.table(columns)


def _rejects(records: pa.Table, verdicts: _Verdicts, is_refused: BoolArray) -> pa.Table:
    refused = np.flatnonzero(is_refused).tolist()

    def chosen(values: Sequence[object]) -> list[object]:
        return [values[row] for row in refused]

    return pa.table(
        {
            "row_number": records["row_number"].take(pa.array(refused, pa.int64())),
            "publication_number": records["publication_number"].take(pa.array(refused, pa.int64())),
            "column_name": chosen(verdicts.columns),
            "value": chosen(verdicts.values),
            "reason": chosen(verdicts.reasons),
            "is_excluded": chosen(verdicts.excluded),
        },
        schema=REJECT_SCHEMA,
    )
