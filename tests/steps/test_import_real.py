"""The real files of patents: counts known from their own documentation."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from patcache.store import StoreFolder
from patcache.store.patents import Counts
from tests.steps.import_tools import import_one, query


def test_the_english_patents_are_all_imported_with_the_main_codes_known_of_them(
    store: StoreFolder, shared: Path
) -> None:
    path = shared / "data" / "patents_en.parquet"
    assert import_one(store, path).counts == Counts(n_rows=13_879, n_added=13_879)
    sections = query(
        store, "SELECT section, count(*) FROM patents GROUP BY section ORDER BY section"
    )
    assert sections == [
        ("A", 3_690), ("B", 2_309), ("C", 2_220), ("D", 230),
        ("E", 627), ("F", 1_261), ("G", 2_298), ("H", 1_244),
    ]  # fmt: skip
    given = pq.read_table(path, columns=["publication_number", "ipc_main", "year"]).to_pylist()
    stored = query(
        store, "SELECT publication_number, code, year FROM data.patents ORDER BY patent_id"
    )
    assert stored == [(row["publication_number"], row["ipc_main"], row["year"]) for row in given]
    assert query(store, "SELECT count(*) FROM patents WHERE family_id IS NULL") == [(13_749,)]
    shared_texts = "SELECT count(*) n FROM data.patents GROUP BY {} HAVING count(*) > 1"
    by_word = query(store, f"SELECT count(*), sum(n) FROM ({shared_texts.format('abstract')})")
    by_key = query(store, f"SELECT count(*), sum(n) FROM ({shared_texts.format('same_text_key')})")
    assert by_word == [(963, 2_264)]
    assert by_key == [(964, 2_266)]  # one more pair differs in a capital letter only
    assert import_one(store, path).counts == Counts(n_rows=13_879, n_unchanged=13_879)


def test_titles_without_abstracts_are_imported_and_their_bad_codes_named(
    store: StoreFolder, shared: Path
) -> None:
    report = import_one(store, shared / "data" / "patents_titles.parquet")
    assert report.counts == Counts(n_rows=39_481, n_added=39_001, n_excluded=301, n_rejected=179)
    assert query(store, "SELECT count(*) FROM patents WHERE NOT is_title_only") == [(0,)]
    reasons = "SELECT reason, is_excluded, count(*) FROM rejects GROUP BY ALL ORDER BY 3 DESC, 1"
    assert query(store, reasons) == [
        ("no IPC code", True, 301),
        ("subclass only", False, 125),
        ("subgroup needs at least two digits", False, 28),
        ("no subgroup", False, 19),
        ("no group", False, 4),
        ("not an IPC code", False, 2),
        ("empty", False, 1),
    ]


def test_chinese_patents_are_imported_and_those_without_a_year_refused(
    store: StoreFolder, shared: Path
) -> None:
    report = import_one(store, shared / "data" / "patents_zh.parquet", language="zh")
    assert report.counts == Counts(n_rows=252, n_added=199, n_rejected=53)
    found = query(store, "SELECT DISTINCT column_name, reason FROM rejects")
    assert found == [("year", "empty")]
    first = "SELECT title, code, language FROM patents WHERE publication_number = 'CN202644312U'"
    assert query(store, first) == [("一种钢筋混凝土轨枕", "E01B 3/32", "zh")]
