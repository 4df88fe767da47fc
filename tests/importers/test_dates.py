"""Dates: the year where it is certain, the day where it is known, never one order for another."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patcache.importers.dates import read_date


@pytest.mark.parametrize(
    ("text", "year", "day", "precision"),
    [
        ("20121000", 2012, None, "month"),
        ("20120000", 2012, None, "year"),
        ("2015-02-30", 2015, None, "month"),
        ("2015-13-01", 2015, None, "year"),
        ("2015", 2015, None, "year"),
        ("2015.0", 2015, None, "year"),
        ("201503", 2015, None, "month"),
        ("2015-03", 2015, None, "month"),
        ("20150302", 2015, date(2015, 3, 2), "day"),
        ("2015-03-02", 2015, date(2015, 3, 2), "day"),
        ("2015/3/2", 2015, date(2015, 3, 2), "day"),
        ("2013.01.02", 2013, date(2013, 1, 2), "day"),
        ("2013年1月2日", 2013, date(2013, 1, 2), "day"),
        ("2015-03-02 00:00:00", 2015, date(2015, 3, 2), "day"),
        ("2015-03-02T00:00:00Z", 2015, date(2015, 3, 2), "day"),
        (" 2015-03-02 ", 2015, date(2015, 3, 2), "day"),
        ("20240229", 2024, date(2024, 2, 29), "day"),
        ("20230229", 2023, None, "month"),
    ],
)
def test_a_certain_year_is_kept_and_an_impossible_day_is_unknown(
    text: str, year: int, day: date | None, precision: str
) -> None:
    reading = read_date(text)
    assert (reading.year, reading.day, reading.precision) == (year, day, precision)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("00000000", "unknown year"),
        ("0000", "unknown year"),
        ("9999-12-31", "year outside 1600 to 2100"),
        ("0015-03-02", "year outside 1600 to 2100"),
        ("15/03/2015", "day or month first? say --dayfirst for dd/mm/yyyy"),
        ("03.02.2015", "day or month first? say --dayfirst for dd/mm/yyyy"),
        ("15/03/15", "year of two digits"),
        ("42078", "not a date"),
        ("0", "not a date"),
        ("March 2015", "not a date"),
        ("1425254400", "not a date"),
        ("２０１５", "not a date"),
    ],
)
def test_no_year_is_made_up(text: str, reason: str) -> None:
    reading = read_date(text)
    assert (reading.year, reading.reason) == (None, reason)


def test_dayfirst_reads_the_day_first() -> None:
    assert read_date("15/03/2015", dayfirst=True).day == date(2015, 3, 15)
    assert read_date("03.02.2015", dayfirst=True).day == date(2015, 2, 3)
    assert read_date("03/15/2015", dayfirst=True).precision == "year"  # there is no 15th month
    assert read_date("2015-03-02", dayfirst=True).day == date(2015, 3, 2)


@given(st.dates(date(1600, 1, 1), date(2100, 12, 31)))
def test_every_date_is_read_in_every_notation(day: date) -> None:
    for notation in ("%Y%m%d", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"):
        assert read_date(day.strftime(notation)).day == day
    assert read_date(f"{day.day}/{day.month}/{day.year}", dayfirst=True).day == day


@given(st.text(max_size=20) | st.text("0123456789-/. ", max_size=12))
def test_any_text_is_either_a_year_or_a_reason(text: str) -> None:
    reading = read_date(text)
    assert (reading.year is None) == bool(reading.reason)
    assert reading.day is None or reading.day.year == reading.year
