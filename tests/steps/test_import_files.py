"""Every kind of file: encodings, line ends, separators, compression, faults in the file itself."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from patcache.errors import ImportRefused
from patcache.steps.importing import import_files
from patcache.store import StoreFolder
from patcache.store.patents import Counts
from tests.steps.import_tools import HEADER, WRITERS, import_one, patent, query, rejects, write_csv


@pytest.mark.parametrize("size", [140_000, 5_000_000])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_b07_long_fields_are_imported_whole(
    store: StoreFolder, tmp_path: Path, size: int, suffix: str
) -> None:
    claims = '1. A claim, "said" so.\n' * (size // 22)
    row = {**dict(zip(HEADER, patent("US1"), strict=True)), "claims": claims}
    WRITERS[suffix](tmp_path / f"a.{suffix}", [row])
    assert import_one(store, tmp_path / f"a.{suffix}").counts.n_added == 1
    assert query(store, "SELECT claims FROM patents") == [(claims,)]


UMLAUTS = [patent(f"DE{i}", text=f"Rührgerät für Äpfel Nr. {i}") for i in range(5)]


CHINESE = [patent(f"CN{i}", text=f"一种钢筋混凝土轨枕{i}") for i in range(5)]


def encoded(rows: Sequence[Sequence[str]], encoding: str) -> bytes:
    stream = io.StringIO()
    csv.writer(stream).writerows([HEADER, *rows])
    return stream.getvalue().encode(encoding)


@pytest.mark.parametrize("rows", [UMLAUTS, CHINESE], ids=["latin", "chinese"])
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [("utf-8-sig", b""), ("utf-16", b""), ("utf-16-be", b"\xfe\xff"), ("utf-32", b"")],
)
def test_b08_files_with_a_byte_order_mark_need_no_encoding(
    store: StoreFolder, tmp_path: Path, rows: list[list[str]], encoding: str, mark: bytes
) -> None:
    (tmp_path / "a.csv").write_bytes(mark + encoded(rows, encoding))
    report = import_one(store, tmp_path / "a.csv")
    assert report.taken.mapping["publication_number"] == "number"
    assert query(store, "SELECT abstract FROM patents") == [(row[2],) for row in rows]


@pytest.mark.parametrize(
    ("rows", "encoding", "first_wrong"),
    [(UMLAUTS, "latin-1", b"\xfc"), (UMLAUTS, "cp1252", b"\xfc"), (CHINESE, "gb18030", b"\xd6")],
)
def test_b08_other_encodings_are_refused_until_they_are_named(
    store: StoreFolder, tmp_path: Path, rows: list[list[str]], encoding: str, first_wrong: bytes
) -> None:
    content = encoded(rows, encoding)
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(ImportRefused, match="a.csv is not utf-8") as caught:
        import_one(store, tmp_path / "a.csv")
    assert f"offset {content.index(first_wrong):,}" in caught.value.why
    assert "--encoding" in caught.value.todo
    assert query(store, "SELECT count(*) FROM patents") == [(0,)]
    report = import_one(store, tmp_path / "a.csv", encoding=encoding)
    assert report.taken.encoding is not None
    assert query(store, "SELECT abstract FROM patents") == [(row[2],) for row in rows]


def test_b08_a_wrong_encoding_is_refused_with_its_offset_in_any_chunk(
    store: StoreFolder, tmp_path: Path
) -> None:
    content = encoded(CHINESE, "gb18030") * 60_000 + b"\xff\xff"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content, 1))
    with pytest.raises(ImportRefused, match="is not gb18030") as caught:
        import_one(store, tmp_path / "a.csv.gz", encoding="gb18030")
    assert f"offset {len(content) - 2:,} of the decompressed bytes" in caught.value.why
    with pytest.raises(ImportRefused, match="unknown encoding 'klingon'"):
        import_one(store, tmp_path / "a.csv.gz", encoding="klingon")
    (tmp_path / "b.csv").write_bytes(encoded(UMLAUTS, "utf-16-le"))
    with pytest.raises(ImportRefused, match="not UTF-8 text") as caught:
        import_one(store, tmp_path / "b.csv")
    assert "utf-16-le" in caught.value.todo
    assert import_one(store, tmp_path / "b.csv", encoding="utf-16-le").counts.n_added == 5


def test_malformed_records_are_refused_by_number_and_the_others_kept(
    store: StoreFolder, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(
        "number,title,ipc,year\n"
        'US1,"two\nlines",A61B 5/00,2015\n'
        "US2,a,b,c,d,e\n"
        "US3,few\n"
        "US4,fine,A61B 5/00,2015\n"
        'US5,"unclosed" text,A61B 5/00,2015\n'
        "US6,fine,A61B,2015\n"
        "\n  \n"
    )
    report = import_one(store, tmp_path / "a.csv")
    assert report.counts == Counts(n_rows=6, n_added=2, n_rejected=4)
    assert [(row[0], row[2], row[4]) for row in rejects(store)] == [
        (2, "(record)", "more fields than the header"),
        (3, "(record)", "fewer fields than the header"),
        (5, "(record)", "quotes do not match (for files that quote nothing: --quote none)"),
        (6, "ipc", "subclass only"),
    ]
    assert rejects(store)[0][3] == "US2,a,b,c,d,e"


def test_malformed_records_are_numbered_in_large_files_too(
    store: StoreFolder, tmp_path: Path
) -> None:
    lines = [f"US{i},title {i} {'x' * 2000},A61B 5/{i % 90 + 10},2015" for i in range(1, 30_001)]
    for number in (7, 12_345, 29_999):
        lines[number - 1] = f"US{number},broken"
    lines[19_999] = "US20000,title,A61B,2015"
    (tmp_path / "a.csv").write_text("\n".join(["number,title,ipc,year", *lines]))
    report = import_one(store, tmp_path / "a.csv")
    assert report.counts == Counts(n_rows=30_000, n_added=29_996, n_rejected=4)
    assert [(row[0], row[4]) for row in rejects(store)] == [
        (7, "fewer fields than the header"),
        (12_345, "fewer fields than the header"),
        (20_000, "subclass only"),
        (29_999, "fewer fields than the header"),
    ]


@pytest.mark.parametrize(
    "ends",
    [("\n", "\n"), ("\r\n", "\r\n"), ("\r", "\r"), ("\r\n", "\n"), ("\n", "\r\n")],
    ids=repr,
)
@pytest.mark.parametrize("header", ["number,title,ipc,year", 'number,"ti\r\ntle",ipc,year'])
def test_every_kind_of_line_end_is_read(
    store: StoreFolder, tmp_path: Path, ends: tuple[str, str], header: str
) -> None:
    lines = [header, *(f"US{i},title,A61B 5/00,2015" for i in range(6))]
    text = "".join(line + ends[i % 2] for i, line in enumerate(lines))
    (tmp_path / "a.csv").write_bytes(text.encode())
    if ends[0] == "\r" and "\r\n" in header:
        pytest.skip("a header that mixes both is no real file")
    assert (
        import_one(
            store,
            tmp_path / "a.csv",
            mapping={"title": "title"} if "\r" not in header else {"title": "ti\r\ntle"},
        ).counts.n_added
        == 6
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_separator_is_seen_in_the_header_and_said(
    store: StoreFolder, tmp_path: Path, delimiter: str
) -> None:
    with (tmp_path / "a.csv").open("w", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows(
            [["id", "title, or; name", "ipc", "year"], ["US1", "a, b; c", "A61B 5/00", "2015"]]
        )
    report = import_one(store, tmp_path / "a.csv", mapping={"title": "title, or; name"})
    assert report.taken.delimiter == delimiter
    assert query(store, "SELECT title FROM patents") == [("a, b; c",)]


def test_files_that_quote_nothing_are_read_as_they_are(store: StoreFolder, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('id\ttitle\tipc\tyear\nUS1\t"Best of\tA61B 5/00\t2015\n')
    assert import_one(store, tmp_path / "a.tsv", quote="").counts.n_added == 1
    assert query(store, "SELECT title FROM patents") == [('"Best of',)]


def test_json_records_are_refused_by_line_and_lists_are_read(
    store: StoreFolder, tmp_path: Path
) -> None:
    lines = [
        '{"id": "US1", "title": "a", "ipc": ["A61B 5/00", "A61F  537"], "year": 2015,'
        ' "claims": ["1. One.", "2. Two."], "a/b": 1}',
        '{"id": "US2", "title":',
        "",
        "[1, 2]",
        '{"id": 668832, "title": "caf\\u00e9 \\ud83d\\ude00", "ipc": "A61B 5/00", "year": "2015"}',
        '{"id": "US5", "title": {"text": "a", "lang": "en"}, "ipc": "A61B 5/00", "year": 2015}',
        '{"id": "US6", "title": "\\ud800", "ipc": "A61B 5/00", "year": 2015}',
    ]
    (tmp_path / "a.jsonl").write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8")
    report = import_one(store, tmp_path / "a.jsonl")
    assert report.counts == Counts(n_rows=6, n_added=2, n_rejected=4)
    assert query(store, "SELECT publication_number, title, codes, claims FROM patents") == [
        ("US1", "a", ["A61B 5/00", "A61F 5/37"], "1. One.\n2. Two."),
        ("668832", "café 😀", ["A61B 5/00"], None),
    ]
    assert [(row[0], row[4]) for row in rejects(store)] == [
        (2, "not valid JSON"),
        (4, "not a JSON object"),
        (6, "an object, not text"),
        (7, "not valid JSON"),
    ]


def test_a_json_array_is_read_too(store: StoreFolder, tmp_path: Path) -> None:
    rows = [{"id": f"US{i}", "title": "a", "ipc": "A61B 5/00", "year": 2015} for i in range(3)]
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=1))
    assert import_one(store, tmp_path / "a.json").counts.n_added == 3


def test_a_file_name_of_other_bytes_than_utf8_is_shown_with_marks(
    store: StoreFolder, tmp_path: Path
) -> None:
    name = os.fsencode(tmp_path) + b"/\xe9.csv"
    try:
        Path(os.fsdecode(name)).touch()
    except OSError:
        pytest.skip("this file system has UTF-8 names only")
    path = write_csv(Path(os.fsdecode(name)), [patent("US1"), patent("US2", ipc="Z")])
    assert import_one(store, path).counts.n_added == 1
    assert query(store, "SELECT path FROM rejects") == [(f"{tmp_path}/\ufffd.csv",)]


def test_a_compressed_file_may_have_several_parts(store: StoreFolder, tmp_path: Path) -> None:
    text = Path(write_csv(tmp_path / "a.csv", [patent(f"P{i}") for i in range(40)])).read_bytes()
    half = text.index(b"P20")  # not at the end of a line: the parts are one text
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"  # as pzstd puts before each part
    zstd = [pa.compress(part, codec="zstd", asbytes=True) for part in (text[:half], text[half:])]
    (tmp_path / "b.csv.zst").write_bytes(skipped + zstd[0] + skipped + zstd[1])
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]))
    assert import_one(store, tmp_path / "b.csv.zst").counts.n_added == 40
    assert import_one(store, tmp_path / "c.csv.gz").counts.n_unchanged == 40


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_compressed_files_are_known_by_their_bytes(
    store: StoreFolder, tmp_path: Path, suffix: str, compression: str
) -> None:
    plain = tmp_path / f"a.{suffix}"
    WRITERS[suffix](plain, [dict(zip(HEADER, patent(f"US{i}"), strict=True)) for i in range(3)])
    packed = tmp_path / f"b.{suffix}.{'gz' if compression == 'gzip' else 'zst'}"
    with pa.output_stream(str(packed), compression=compression) as stream:
        stream.write(plain.read_bytes())
    report = import_one(store, packed)
    assert (report.counts.n_added, report.taken.file_format) == (3, suffix)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_standard_input_is_recognised_by_its_bytes(
    store: StoreFolder, tmp_path: Path, suffix: str
) -> None:
    WRITERS[suffix](tmp_path / "a", [dict(zip(HEADER, patent("US1"), strict=True))])
    with (tmp_path / "a").open("rb") as stdin:
        (report,) = import_files(store, ["-"], stdin=stdin).files
    assert (report.counts.n_added, report.taken.file_format) == (1, suffix)
    assert query(store, "SELECT path FROM imports") == [("-",)]


def test_patterns_name_files_in_order_and_nothing_is_refused(
    store: StoreFolder, tmp_path: Path
) -> None:
    for i in (2, 1):
        write_csv(tmp_path / f"us-{i}.csv", [patent(f"US{i}")])
    report = import_files(store, [str(tmp_path / "us-*.csv"), str(tmp_path / "us-1.csv")])
    assert [Path(file.path).name for file in report.files] == ["us-1.csv", "us-2.csv"]
    assert report.counts == Counts(n_rows=2, n_added=2)
    for name in ("de-*.csv", "nothing.csv", "."):
        with pytest.raises(ImportRefused):
            import_files(store, [str(tmp_path / name)])


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n\n", "is empty"),
        ("a.csv", b"<!DOCTYPE html><html>", "is a web page or XML"),
        ("a.csv", b"PK\x03\x04....", "is an Excel workbook or a zip file"),
        ("a.csv", b"id;title\n1;2\n", "has no column for ipc"),
        ("a.jsonl", b"[]", "has no JSON objects"),
        ("a.jsonl", b"1\n2\n", "has no JSON objects"),
        ("a.jsonl", b"", "has no JSON objects"),
        ("a.parquet", b"PAR1 and then nothing", "cannot read"),
        ("a.parquet", b"id,title", "cannot read"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00 cut off", "cannot read"),
        ("a.csv", b"\xff\xfe\x00", "is not utf-16"),
    ],
)
def test_files_that_are_no_tables_are_refused(
    store: StoreFolder, tmp_path: Path, name: str, content: bytes, what: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ImportRefused, match=what):
        import_one(store, tmp_path / name)
    assert query(store, "SELECT count(*) FROM imports") == [(0,)]


def test_a_table_with_a_header_only_is_an_import_of_nothing(
    store: StoreFolder, tmp_path: Path
) -> None:
    assert import_one(store, write_csv(tmp_path / "a.csv", [])).counts == Counts()


def test_a_column_of_structures_is_refused(store: StoreFolder, tmp_path: Path) -> None:
    rows = [{"id": "US1", "title": [{"text": "a"}], "ipc": "A61B 5/00", "year": 2015}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    with pytest.raises(ImportRefused, match="column 'title' of .* cannot be title"):
        import_one(store, tmp_path / "a.parquet")
