"""Records into the corpus: each is added, known, excluded or rejected with a reason."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from patcache.errors import StoreBusy, WriteFailed
from patcache.steps import importing
from patcache.steps.importing import import_files
from patcache.store import StoreFolder
from patcache.store.patents import Counts
from tests.steps.import_tools import HEADER, WRITERS, import_one, patent, query, rejects, write_csv


def test_b01_notations_of_one_code_are_one_and_faults_are_named(
    store: StoreFolder, tmp_path: Path
) -> None:
    raws = ["A61F 5/37", "A61F  537", "A61F005/37", "A61F 5/37 20060101AFI20070316BHEP"]
    rows = [patent(f"US{i}", raw) for i, raw in enumerate([*raws, "A61F  BAD", ""])]
    report = import_one(store, write_csv(tmp_path / "a.csv", rows))
    assert report.counts == Counts(n_rows=6, n_added=4, n_excluded=1, n_rejected=1)
    levels = "SELECT DISTINCT section, ipc_class, subclass, main_group, code, codes FROM patents"
    assert query(store, levels) == [("A", "A61", "A61F", "A61F 5", "A61F 5/37", ["A61F 5/37"])]
    assert rejects(store) == [
        (5, "US4", "ipc", "A61F  BAD", "no group", False),
        (6, "US5", "ipc", None, "no IPC code", True),
    ]


def test_b03_designs_and_plants_are_excluded_with_a_reason(
    store: StoreFolder, tmp_path: Path
) -> None:
    rows = [patent(f"US{i}") for i in range(20)]
    rows += [["USD668832", "Chair", "", "0205", "2015"], ["USPP12345", "Rose", "", "", "2015"]]
    report = import_one(store, write_csv(tmp_path / "a.csv", rows))
    assert report.counts == Counts(n_rows=22, n_added=20, n_excluded=2)
    assert query(store, "SELECT section, n_patents FROM cells") == [("A", 20)]
    assert [row[3:] for row in rejects(store)] == [
        ("0205", "class of designs or plants, not an IPC code", True),
        (None, "no IPC code", True),
    ]


def test_b04_years_are_kept_where_certain_and_dates_never_made_up(
    store: StoreFolder, tmp_path: Path
) -> None:
    dates = ["20121000", "2015-02-30", "00000000", "2015", "15/03/2015", "", "2015-03-15"]
    rows = [patent(f"US{i}", year=text) for i, text in enumerate(dates)]
    path = write_csv(tmp_path / "a.csv", rows, [*HEADER[:4], "publication date"])
    assert import_one(store, path).counts == Counts(n_rows=7, n_added=4, n_rejected=3)
    found = query(
        store,
        "SELECT publication_number, year, publication_date, date_precision, year_source"
        " FROM patents ORDER BY ALL",
    )
    assert found == [
        ("US0", 2012, None, "month", "publication_date"),
        ("US1", 2015, None, "month", "publication_date"),
        ("US3", 2015, None, "year", "publication_date"),
        ("US6", 2015, date(2015, 3, 15), "day", "publication_date"),
    ]
    assert [(row[0], *row[2:5]) for row in rejects(store)] == [
        (3, "publication date", "00000000", "unknown year"),
        (5, "publication date", "15/03/2015", "day or month first? say --dayfirst for dd/mm/yyyy"),
        (6, "publication date", None, "empty"),
    ]
    assert import_one(store, path, dayfirst=True).counts.n_added == 1


def test_the_year_column_goes_before_the_date_and_a_bad_date_beside_it_is_counted(
    store: StoreFolder, tmp_path: Path
) -> None:
    rows = [
        ["US1", "t", "A61B 5/00", "2014", "2015-03-15"],
        ["US2", "t", "A61B 5/00", "", "2015-03-15"],
        ["US3", "t", "A61B 5/00", "2014", "15/03/2015"],
        ["US4", "t", "A61B 5/00", "2o14", "2015"],
        ["US5", "t", "A61B 5/00", "2o14", ""],
    ]
    path = write_csv(tmp_path / "a.csv", rows, ["id", "title", "ipc", "year", "date"])
    report = import_one(store, path)
    assert (report.counts.n_added, report.n_dates_ignored) == (4, 2)
    assert query(
        store, "SELECT year, publication_date, year_source FROM patents ORDER BY publication_number"
    ) == [
        (2014, date(2015, 3, 15), "year"),
        (2015, date(2015, 3, 15), "publication_date"),
        (2014, None, "year"),
        (2015, None, "publication_date"),
    ]
    assert rejects(store) == [(5, "US5", "year", "2o14", "not a date", False)]


IDS = [
    "D668832",
    "0668832",
    "668832",
    "066-451-545-602-00X",
    "1e5",
    "1.0",
    " US 1 ",
    "007",
    "NULLA",
]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_b05_ids_stay_text_unchanged(store: StoreFolder, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    rows = [dict(zip(HEADER, patent(number), strict=True)) for number in IDS]
    WRITERS[suffix](path, rows)
    assert import_one(store, path).counts.n_added == len(IDS)
    found = [number for (number,) in query(store, "SELECT publication_number FROM patents")]
    assert found == IDS


def test_numbers_as_ids_are_cast_to_text_and_that_is_said(
    store: StoreFolder, tmp_path: Path
) -> None:
    table = pa.table(
        {
            "id": pa.array([668832, 12345678901], pa.int64()),
            "family_id": pa.array([5.0, None], pa.float64()),
            "title": ["a", "b"],
            "ipc": pa.array([["A61B 5/00", "bad"], ["G06F 17/30"]]),
            "publication_date": pa.array([date(2015, 3, 2), date(2016, 1, 1)]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    report = import_one(store, tmp_path / "a.parquet")
    assert query(store, "SELECT publication_number, family_id, publication_date FROM patents") == [
        ("668832", "5", date(2015, 3, 2)),
        ("12345678901", None, date(2016, 1, 1)),
    ]
    assert report.taken.notes == (
        "id holds whole numbers: read as text, leading zeros were lost before",
        "family_id holds decimal numbers: read as whole numbers where they are",
    )
    assert report.n_codes_ignored == 1


def test_b06_blank_abstracts_are_null_and_no_text_is_excluded(
    store: StoreFolder, tmp_path: Path
) -> None:
    blanks: list[str | None] = ["", "   ", "-", None, "\u00a0", "–", "N/A", "nan"]
    rows = [
        {"id": f"{title}{i}", "title": title, "abstract": blank, "ipc": "A61B 5/00", "year": "2015"}
        for title in ("T", "")
        for i, blank in enumerate(blanks)
    ]
    rows.append({**rows[0], "id": "kept", "abstract": "-1 is &lt; 0 <p>"})
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    report = import_one(store, tmp_path / "a.parquet")
    assert report.counts == Counts(n_rows=17, n_added=9, n_excluded=8)
    assert query(
        store, "SELECT count(*) FROM patents WHERE abstract IS NULL AND is_title_only"
    ) == [(8,)]
    assert query(store, "SELECT abstract FROM patents WHERE publication_number = 'kept'") == [
        ("-1 is &lt; 0 <p>",)
    ]
    assert {row[2:] for row in rejects(store)} == {
        ("abstract", None, "no text: title and abstract are empty", True)
    }


def test_the_same_file_again_adds_nothing_and_more_adds_the_new(
    store: StoreFolder, tmp_path: Path
) -> None:
    rows = [patent("US1"), patent("US2"), patent("US3", "A61B")]
    path = write_csv(tmp_path / "a.csv", rows)
    first = import_one(store, path)
    again = import_one(store, path)
    assert first.counts == Counts(n_rows=3, n_added=2, n_rejected=1)
    assert again.counts == Counts(n_rows=3, n_unchanged=2, n_rejected=1)
    assert again.is_repeat
    assert again.taken == first.taken
    copy = write_csv(tmp_path / "copy.csv", rows)  # the same bytes elsewhere
    assert import_one(store, copy).is_repeat
    more = write_csv(tmp_path / "more.csv", [*rows, patent("US4")])
    assert import_one(store, more).counts == Counts(
        n_rows=4, n_added=1, n_unchanged=2, n_rejected=1
    )
    assert query(store, "SELECT list(patent_id ORDER BY patent_id) FROM data.patents") == [
        ([0, 1, 2],)
    ]
    imports = "SELECT n_rows, n_added, n_unchanged, n_excluded, n_rejected FROM imports"
    assert query(store, imports) == [(3, 2, 0, 0, 1), (4, 1, 2, 0, 1)]


def test_a_repeated_number_is_known_or_a_contradiction(store: StoreFolder, tmp_path: Path) -> None:
    first = patent("US1")
    rows = [first, first, [*first[:2], "Another text", *first[3:]], patent("US1", "A61B 5/01")]
    report = import_one(store, write_csv(tmp_path / "a.csv", rows))
    assert report.counts == Counts(n_rows=4, n_added=1, n_unchanged=1, n_rejected=2)
    assert rejects(store) == [
        (3, "US1", "abstract", "Another text",
         "another record with this number has a different abstract", False),
        (4, "US1", "ipc", "A61B 5/01",
         "another record with this number has a different ipc", False),
    ]  # fmt: skip
    without_abstract = [[first[0], first[1], first[3], first[4]]]
    header = ["number", "title", "ipc", "year"]
    report = import_one(store, write_csv(tmp_path / "b.csv", without_abstract, header))
    assert report.counts.n_unchanged == 1  # it says nothing else, only less


def test_texts_that_differ_in_case_and_white_space_share_a_key(
    store: StoreFolder, tmp_path: Path
) -> None:
    texts = ["One  text", "one text ", "ONE\nTEXT", "One texts"]
    rows = [patent(f"US{i}", text=text) for i, text in enumerate(texts)]
    rows.append(["US9", "one text", "", "A61B 5/00", "2015"])  # its title stands for an abstract
    import_one(store, write_csv(tmp_path / "a.csv", rows))
    keys = query(store, "SELECT same_text_key FROM data.patents ORDER BY patent_id")
    assert len({bytes(key) for (key,) in keys}) == 2
    assert len(bytes(keys[0][0])) == 16
    assert keys[0] == keys[4]


def test_the_language_named_is_that_of_records_without_one(
    store: StoreFolder, tmp_path: Path
) -> None:
    rows = [[*patent("US1"), "de"], [*patent("US2"), ""]]
    import_one(store, write_csv(tmp_path / "a.csv", rows, [*HEADER, "lang"]), language="en")
    assert query(store, "SELECT language FROM patents ORDER BY publication_number") == [
        ("de",),
        ("en",),
    ]


def test_what_was_committed_before_an_interruption_stays_and_the_rest_follows(
    store: StoreFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BLOCK_ROWS", 1)
    rows = [patent(f"US{i}", "A61B" if i % 10 == 0 else "A61B 5/00") for i in range(20_000)]
    path = write_csv(tmp_path / "a.csv", rows)

    def interrupt(done: int, total: int) -> None:
        assert total == 20_000
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_files(store, [path], progress=interrupt)
    (n_kept,) = query(store, "SELECT count(*) FROM patents")[0]
    assert 0 < n_kept < 18_000
    assert query(store, "SELECT count(*) FROM imports") == [(0,)]
    report = import_one(store, path)
    assert report.counts == Counts(
        n_rows=20_000, n_added=18_000 - n_kept, n_unchanged=n_kept, n_rejected=2_000
    )
    assert query(store, "SELECT count(*), count(DISTINCT row_number) FROM rejects") == [
        (2_000, 2_000)
    ]


def test_a_second_import_into_a_store_waits_and_then_says_why(
    store: StoreFolder, tmp_path: Path
) -> None:
    path = write_csv(tmp_path / "a.csv", [patent("US1")])
    patient = StoreFolder(store.path, wait_s=0.05)

    def meanwhile(done: int, total: int) -> None:
        with pytest.raises(StoreBusy, match="another import"):
            import_files(patient, [path])

    import_files(store, [path], progress=meanwhile)


def test_a_jobs_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    store = StoreFolder(tmp_path / "store")
    store.jobs_path.write_text("a file where the folder should be")
    (tmp_path / "patents.csv").write_text("publication_number,ipc,title,year\n")
    with pytest.raises(WriteFailed, match=r"cannot write .*import\.lock"):
        import_files(store, [str(tmp_path / "patents.csv")])
