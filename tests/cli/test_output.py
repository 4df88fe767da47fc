"""Listings come out in every format, and nothing in them can break one."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import dataclass
from decimal import Decimal

import pytest

from patcache.cli.output import use_utf8, write_listing, write_rows
from patcache.listing import Listing, column
from patcache.report.grid import cell_text


@dataclass(frozen=True, slots=True)
class Fruit:
    name: str
    weight: float | None = column("kg", fmt=".2f")
    count: int = column()
    secret: str = column(hidden=True)


FRUITS = Listing(
    Fruit,
    (Fruit("apple|red", 0.123456, 12345, "x"), Fruit("梨 [b] 50%", float("nan"), 7, "y")),
    ("two fruits",),
    ("that is all",),
)


def output(capsys: pytest.CaptureFixture[str], fmt: str) -> str:
    write_listing(FRUITS, fmt)
    return capsys.readouterr().out


def test_a_table_is_aligned_by_the_width_on_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "table").splitlines() == [
        "two fruits",
        " name          kg   count",
        " apple|red   0.12  12,345",
        " 梨 [b] 50%     –       7",
        "that is all",
    ]


def test_markdown_escapes_its_own_bars(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, "md").splitlines()
    assert lines[2:5] == [
        "| name | kg | count |",
        "|---|---:|---:|",
        r"| apple\|red | 0.12 | 12,345 |",
    ]


def test_latex_escapes_its_specials_and_comments_its_caption(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = output(capsys, "latex").splitlines()
    assert lines[0] == "% two fruits"
    assert r"梨 [b] 50\% & – & 7 \\" in lines
    assert lines[1:3] == [r"\begin{tabular}{lrr}", r"\toprule"]


def test_machines_get_every_field_unrounded_and_no_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_listing(FRUITS, "json")
    captured = capsys.readouterr()
    assert json.loads(captured.out) == [
        {"name": "apple|red", "weight": 0.123456, "count": 12345, "secret": "x"},
        {"name": "梨 [b] 50%", "weight": None, "count": 7, "secret": "y"},
    ]
    assert captured.err == "two fruits\nthat is all\n"
    assert [json.loads(line)["count"] for line in output(capsys, "jsonl").splitlines()] == [
        12345,
        7,
    ]
    rows = list(csv.reader(io.StringIO(output(capsys, "csv"))))
    assert rows[0] == ["name", "weight", "count", "secret"]
    assert rows[2] == ["梨 [b] 50%", "", "7", "y"]


def test_values_of_sql_are_written_as_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    row = (Decimal("12"), Decimal("0.5"), b"\x01\xff", ["a", None], {"k": 1}, None, True)
    write_rows(tuple("abcdefg"), [row], "jsonl")
    assert json.loads(capsys.readouterr().out) == {
        "a": 12,
        "b": 0.5,
        "c": "01ff",
        "d": ["a", None],
        "e": {"k": 1},
        "f": None,
        "g": True,
    }


def test_no_number_is_a_zero_with_a_minus() -> None:
    assert cell_text(-0.0004, "+.3f") == "+0.000"
    assert cell_text(-0.0004, ".3f") == "0.000"
    assert cell_text(-0.0, ".1%") == "0.0%"
    assert cell_text(-0.0005001, "+.3f") == "-0.001"
    assert [cell_text(-0.0004), cell_text(0), cell_text(-10)] == ["-0.0004", "0", "-10"]


def test_whole_numbers_of_sql_are_not_grouped(capsys: pytest.CaptureFixture[str]) -> None:
    row = (2019, Decimal("12345"), [2019, 2020], 0.123456, True)
    for fmt, line in (
        ("table", " 2019  12345  2019, 2020  0.1235  yes"),
        ("md", "| 2019 | 12345 | 2019, 2020 | 0.1235 | yes |"),
        ("latex", r"2019 & 12345 & 2019, 2020 & 0.1235 & yes \\"),
    ):
        write_rows(("year", "n", "years", "share", "is"), [row], fmt)
        assert line in capsys.readouterr().out.splitlines()


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(("text",), [("a\x1b[31mred\nb",)], "table")
    assert capsys.readouterr().out.splitlines() == [" text", " a [31mred b"]


def test_a_file_is_utf8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()  # as standard output into a file is on Windows
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="cp1252"))
    use_utf8()
    write_rows(("text",), [("梨 ●",)], "csv")
    sys.stdout.flush()
    assert raw.getvalue() == "text\n梨 ●\n".encode()


def test_an_empty_result_is_its_headings(capsys: pytest.CaptureFixture[str]) -> None:
    for fmt in ("table", "md", "csv"):
        write_rows(("a", "b"), [], fmt)
        assert "a" in capsys.readouterr().out
