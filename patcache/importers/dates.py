"""Dates as exports write them: the year where it is certain, the day where it is known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

Precision = Literal["day", "month", "year"]

MIN_YEAR = 1600  # the first patents with a number are not much younger
MAX_YEAR = 2100  # 9999-12-31 is how databases say that they do not know

YEAR_FIRST = re.compile(
    r"([0-9]{4})(?:\.0+)?"  # 2015, also 2015.0 as data frames write it
    r"|([0-9]{4})([0-9]{2})([0-9]{2})?(?:\.0+)?"  # 20150302, 201503
    r"|([0-9]{4})\s?[-/.年]\s?([0-9]{1,2})(?:\s?[-/.月]\s?([0-9]{1,2})日?|月)?(?:[T\s].*)?"
)
YEAR_LAST = re.compile(r"([0-9]{1,2})\s?[-/.]\s?([0-9]{1,2})\s?[-/.]\s?([0-9]{4})(?:[T\s].*)?")
TWO_DIGITS = re.compile(r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2}(?:[T\s].*)?")


@dataclass(frozen=True, slots=True)
class DateReading:
    """What a text says of a date: a year and perhaps its day, or the reason why nothing."""

    year: int | None
    day: date | None = None
    precision: Precision = "year"
    reason: str = ""


def read_date(text: str, *, dayfirst: bool = False) -> DateReading:
    """The date that a text gives; never raises, and never takes one order of parts for another.

    A day or month that does not exist (00, 30 February) is unknown; the year before it stands.
    dd/mm/yyyy is read with `dayfirst` only.
    """
    text = text.strip()
    if not text:
        return DateReading(None, reason="empty")
    matched = YEAR_FIRST.fullmatch(text)
    if matched is not None:
        parts = [int(part) for part in matched.groups() if part is not None]
        return _reading(*parts)
    matched = YEAR_LAST.fullmatch(text)
    if matched is not None:
        if not dayfirst:
            return DateReading(None, reason="day or month first? say --dayfirst for dd/mm/yyyy")
        day, month, year = map(int, matched.groups())
        return _reading(year, month, day)
    if TWO_DIGITS.fullmatch(text):
        return DateReading(None, reason="year of two digits")
    return DateReading(None, reason="not a date")


def _reading(year: int, month: int = 0, day: int = 0) -> DateReading:
    if year == 0:
        return DateReading(None, reason="unknown year")
    if not MIN_YEAR <= year <= MAX_YEAR:
        return DateReading(None, reason=f"year outside {MIN_YEAR} to {MAX_YEAR}")
    if not 1 <= month <= 12:
        return DateReading(year)
    try:
        return DateReading(year, date(year, month, day), "day")
    except ValueError:
        return DateReading(year, None, "month")
