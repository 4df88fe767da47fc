"""IPC codes: every spelling found in real files, and what two codes share."""

from __future__ import annotations

import csv
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patcache.ipc import (
    IpcCode,
    IpcInvalid,
    is_design_or_plant,
    parse,
    read,
    read_all,
    shared_level,
    split,
)

subclasses = st.builds(
    "{}{:02d}{}".format,
    st.sampled_from("ABCDEFGH"),
    st.integers(1, 99),
    st.sampled_from("ABCDKLMNPQZ"),
)
groups = st.integers(1, 999).map(str)
subgroups = st.text("0123456789", min_size=2, max_size=6)
codes = st.builds("{} {}/{}".format, subclasses, groups, subgroups)


def fixed_width(code: str) -> str:
    """ST.8 without a slash: the group right-aligned in three columns, the subgroup after it."""
    group, subgroup = code[5:].split("/")
    return f"{code[:4]}{group:>3}{subgroup}"


def test_every_golden_spelling_is_read_or_refused_as_said(shared: Path) -> None:
    with (shared / "golden" / "ipc_codes.tsv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == 35
    for row in rows:
        if row["reject_reason"]:
            with pytest.raises(IpcInvalid) as caught:
                parse(row["raw"])
            assert caught.value.reason == row["reject_reason"]
        else:
            levels = (row["section"], row["class"], row["subclass"], row["main_group"])
            assert parse(row["raw"]) == IpcCode(*levels, row["canonical"])


def test_four_notations_of_one_code_are_the_same_ipc() -> None:
    raws = ("A61F 5/37", "A61F  537", "A61F005/37", "A61F 5/37 20060101AFI20070316BHEP")
    for a, b in product(map(parse, raws), repeat=2):
        assert a == IpcCode("A", "A61", "A61F", "A61F 5", "A61F 5/37")
        assert shared_level(a, b) == 6


@pytest.mark.parametrize(
    ("a", "b", "level"),
    [
        ("A61K 3/00", "A61K 31/00", 4),  # a prefix of the text is no shared group
        ("B60R 7/006", "B60R 7/06", 5),  # subgroups are text, not numbers
        ("B60R 7/06", "B60R0007060000", 6),
        ("A61K 3/00", "A61B 3/00", 3),
        ("A61K 3/00", "A01K 3/00", 2),
        ("A61K 3/00", "B61K 3/00", 1),
    ],
)
def test_what_two_codes_share(a: str, b: str, level: int) -> None:
    assert shared_level(parse(a), parse(b)) == shared_level(parse(b), parse(a)) == level


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("6 A 21 D 13/02", "A21D 13/02"),
        ("A21D 8 02 20060101 A F I", "A21D 8/02"),
        ("A61K-0031/7088", "A61K 31/7088"),
        ("C07C143128", "C07C 143/128"),
        ("G05D 22/02 B", "G05D 22/02"),
        ("G06F 17/60A0", "G06F 17/60"),
        ("G01D 21/02 -", "G01D 21/02"),
        ("A21D 13/00 20060101A I20051008RMEP", "A21D 13/00"),
        ("\u3000Ａ６１Ｂ　５／００ ", "A61B 5/00"),  # full-width, as Chinese exports have it
        ("A61B\u00a05/00", "A61B 5/00"),
    ],
)
def test_spellings_of_other_real_files(raw: str, code: str) -> None:
    assert parse(raw).code == code


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("A21D 13/", "no subgroup"),
        ("A21D 13//00", "no subgroup"),
        ("A61B 5", "no subgroup"),
        ("G06Q 30 20230101AFI20240326BHUS", "no subgroup"),
        ("A61B 5 2006", "no subgroup"),
        ("A21D /", "no group"),
        ("B08B ()", "subclass only"),
        ("D24 ()", "class only"),
        ("A", "section only"),
        ("G06F2111/04", "groups of four digits are CPC only"),
        ("F04B 000/00 ()", "not an IPC code"),
        ("A00B 1/00", "not an IPC code"),
        ("A61B 5/0000001", "subgroup has more than six digits"),
        ("A61B 5/00 A61F 2/00", "more than one code"),
        ("A61B 5/00 *", "unknown text after the code"),
        ("A61B 5/00 (A61F)", "more than one code"),
        ("A٦١B ٥/٠٠", "not an IPC code"),  # digits, but not these
        ("146/32", "not an IPC code"),
        ("nan", "not an IPC code"),
        ("  ", "empty"),
    ],
)
def test_what_is_no_code_says_why(raw: str, reason: str) -> None:
    reading = read(raw)
    assert (reading.code, reading.reason) == (None, reason)


@pytest.mark.parametrize(
    ("raw", "is_first"),
    [
        ("A61F 5/37 20060101AFI20070316BHEP", True),
        ("A61F 5/37 20060101ALI20070316BHEP", False),
        ("A21D 8 02 20060101 A F I", True),
        ("A01B 1/20 20130101 FI20240409BHUS", True),
        ("A61M  31/    00            A I", False),
        ("H04Q3/00(2006.01)I", False),
        ("G05D 22/02 F", False),  # a national letter, not a position
        ("A61F 5/37", False),
    ],
)
def test_the_flag_of_the_first_code_is_read(raw: str, is_first: bool) -> None:
    assert read(raw).is_first is is_first


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        ("A61B 5/00; A61F  537", ["A61B 5/00", "A61F  537"]),
        ("A61B 5/00;;A61F 2/00|A61K 1/00,A01B 1/00\nA01C 1/00", None),
        ('["A61B 5/00", "A61F  537"]', ["A61B 5/00", "A61F  537"]),
        ("['A61B 5/00' 'A61F 2/00']", ["A61B 5/00", "A61F 2/00"]),
        ("[A61B 5/00, A61F 2/00]", ["A61B 5/00", "A61F 2/00"]),
        ("A61B5/00；A61F2/00", ["A61B5/00", "A61F2/00"]),
        ("6 A 21 D 13/02, A 47 J 37/01", ["6 A 21 D 13/02", "A 47 J 37/01"]),
        ("[]", []),
        ('[{"code": "A61B 5/00", "first": true}]', ['[{"code": "A61B 5/00", "first": true}]']),
        (" ", []),
        ("A61B 5/00 ", ["A61B 5/00"]),
    ],
)
def test_a_list_in_one_text_is_split(raw: str, parts: list[str] | None) -> None:
    expected = ["A61B 5/00", "A61F 2/00", "A61K 1/00", "A01B 1/00", "A01C 1/00"]
    assert split(raw) == (expected if parts is None else parts)


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        ("0205", True),
        ("02-05", True),
        ("D14-341", True),
        ("d14/341", True),
        ("PLT-161", True),
        ("D01F 6/00", False),
        ("A61F  BAD", False),
        ("", False),
        ("D01F", False),
    ],
)
def test_designs_and_plants_are_told_from_faults(raw: str, answer: bool) -> None:
    assert is_design_or_plant(raw) is answer


@given(codes)
def test_a_canonical_code_is_read_as_itself(code: str) -> None:
    parsed = parse(code)
    assert parsed.code == code
    assert code.startswith(parsed.main_group + "/")
    assert parsed.main_group.startswith(parsed.subclass + " ")
    assert parsed.subclass.startswith(parsed.ipc_class)
    assert parsed.ipc_class.startswith(parsed.section)


@given(codes, st.sampled_from(["", " ()", " (20060101)", "(2006.01)I", " 20060101ALI20240409BHUS"]))
def test_all_notations_of_a_code_agree(code: str, suffix: str) -> None:
    subclass, rest = code.split(" ")
    group, subgroup = rest.split("/")
    spellings = [
        code,
        code.lower(),
        f"{subclass}{rest}",
        f"{subclass}{int(group):4d}/{subgroup}",
        f"{subclass}-{int(group):03d}/{subgroup}",
        f"{subclass}-{int(group):04d}/{subgroup}",
        fixed_width(code),
    ]
    assert {parse(spelling + suffix).code for spelling in spellings} == {code}


@given(codes)
def test_the_fourteen_character_form_keeps_the_subgroup(code: str) -> None:
    group, subgroup = code[5:].split("/")
    long = f"{code[:4]}{int(group):04d}{subgroup.ljust(6, '0')}"
    trimmed = subgroup.rstrip("0").ljust(2, "0")  # trailing zeros are filler in that form
    assert parse(long).code == f"{code[:4]} {group}/{trimmed}"


@given(st.text(max_size=40) | st.text("A61B 5/0-();F", max_size=20))
def test_any_text_is_either_a_code_or_a_reason(raw: str) -> None:
    reading = read(raw)
    assert (reading.code is None) == bool(reading.reason)
    if reading.code is not None:
        assert parse(reading.code.code) == reading.code


@given(st.lists(codes | st.text(max_size=12)))
def test_a_column_is_read_like_its_members(raws: list[str]) -> None:
    assert read_all(raws) == [read(raw) for raw in raws]


@given(st.lists(codes, max_size=5), st.sampled_from([";", "; ", ",", " | ", ";;", "\n"]))
def test_splitting_undoes_joining(parts: list[str], separator: str) -> None:
    assert split(separator.join(parts)) == parts


@given(codes, codes)
def test_levels_are_those_of_the_parts_that_agree(a: str, b: str) -> None:
    x, y = parse(a), parse(b)
    pairs = [
        (x.section, y.section),
        (x.ipc_class, y.ipc_class),
        (x.subclass, y.subclass),
        (x.main_group, y.main_group),
        (x.code, y.code),
    ]
    assert shared_level(x, y) == 1 + sum(p == q for p, q in pairs)


def test_the_parser_needs_neither_numpy_nor_duckdb() -> None:
    code = (
        "import sys, patcache.ipc; print(sorted({'numpy', 'duckdb', 'pyarrow'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_code_of_the_scheme_is_read_in_both_of_its_forms(shared: Path) -> None:
    import pyarrow.parquet as pq

    scheme = pq.read_table(shared / "data" / "ipc_scheme_2020.parquet").to_pylist()
    full = [row for row in scheme if "/" in row["symbol"]]
    assert len(full) == 75_043
    assert [
        reading.code.code for reading in read_all(r["symbol"] for r in full) if reading.code
    ] == [row["symbol"] for row in full]
    assert [r.code.code for r in read_all(row["code14"] for row in full) if r.code] == [
        row["symbol"] for row in full
    ]
