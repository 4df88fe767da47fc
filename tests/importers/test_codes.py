"""Columns of IPC codes: the main code, the order, and the same answer as one code at a time."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patcache import ipc
from patcache.importers.codes import read_codes, why_no_code

spellings = st.sampled_from(
    [
        "A61B 5/00",
        "A61B   5/00",
        "A61B0005000000",
        "H01L 21/02 20060101AFI20070316BHEP",
        "H01L 21/02 20060101ALI20070316BHEP",
        "G06F015/16",
        "A61F  BAD",
        "0205",
        "",
        " ",
        "A61B 5/00; G06F 17/30",
    ]
)


def lists_of(column: pa.ChunkedArray) -> list[list[str]]:
    lists: list[list[str]] = read_codes(column).lists().to_pylist()
    return lists


def by_hand(texts: list[str]) -> list[str]:
    """The codes of one record, one at a time."""
    readings = [ipc.read(part) for text in texts for part in ipc.split(text)]
    good = [reading for reading in readings if reading.code is not None]
    ordered = [r for r in good if r.is_first] + [r for r in good if not r.is_first]
    return list(dict.fromkeys(str(reading.code) for reading in ordered))


def test_the_first_listed_code_is_the_main_one_and_repeats_are_left_out() -> None:
    column = pa.chunked_array([["A61B 5/00; A61F  537;A61B005/00", "G06F015/16"]])
    codes = read_codes(column)
    assert codes.lists().to_pylist() == [["A61B 5/00", "A61F 5/37"], ["G06F 15/16"]]
    assert codes.level("code").to_pylist() == ["A61B 5/00", "G06F 15/16"]
    assert codes.level("main_group").to_pylist() == ["A61B 5", "G06F 15"]


def test_the_code_flagged_first_is_the_main_one_wherever_it_stands() -> None:
    listed = ["A21D 2/36 20060101ALI20131001BHJP", "A21D 10/00 20060101AFI20131001BHJP"]
    codes = read_codes(pa.chunked_array([[listed]]))
    assert codes.lists().to_pylist() == [["A21D 10/00", "A21D 2/36"]]


def test_a_bad_code_beside_a_good_one_is_counted_and_left_out() -> None:
    codes = read_codes(pa.chunked_array([["B29C; B29C-033/62", "A61F  BAD", None]]))
    assert codes.lists().to_pylist() == [["B29C 33/62"], [], []]
    assert codes.n_ignored.tolist() == [1, 1, 0]
    assert codes.level("section").to_pylist() == ["B", None, None]


@given(st.lists(st.none() | st.lists(spellings, max_size=4), max_size=12))
def test_a_column_of_lists_is_read_like_its_records(records: list[list[str] | None]) -> None:
    column = pa.chunked_array([records], pa.list_(pa.string()))
    assert lists_of(column) == [by_hand(texts or []) for texts in records]


@given(st.lists(st.none() | spellings, max_size=12))
def test_a_column_of_texts_is_read_like_its_records(records: list[str | None]) -> None:
    column = pa.chunked_array([records], pa.string())
    assert lists_of(column) == [by_hand([text or ""]) for text in records]


def test_chunks_make_no_difference() -> None:
    column = pa.chunked_array([["A61B 5/00"], [], ["G06F015/16", None]], pa.string())
    assert lists_of(column) == [["A61B 5/00"], ["G06F 15/16"], []]


@pytest.mark.parametrize(
    ("texts", "reason", "is_excluded"),
    [
        ([], "no IPC code", True),
        ([" ", ""], "no IPC code", True),
        (["0205"], "class of designs or plants, not an IPC code", True),
        (["D14-341", "PLT-161"], "class of designs or plants, not an IPC code", True),
        (["A61F  BAD"], "no group", False),
        (["0205; A61B"], "subclass only", False),
        (["Y02E 10/50"], "section Y is CPC only", False),
    ],
)
def test_out_of_scope_is_told_from_fault(texts: list[str], reason: str, is_excluded: bool) -> None:
    assert why_no_code(texts) == (reason, is_excluded)
