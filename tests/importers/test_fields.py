"""Which column is taken for which field."""

from __future__ import annotations

import pytest

from patcache.errors import ImportRefused
from patcache.importers.fields import choose_columns


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        (
            ["#", "Display Key", "Lens ID", "Publication Date", "Publication Year", "Title",
             "Abstract", "CPC Classifications", "IPCR Classifications"],
            {"publication_number": "Display Key", "ipc": "IPCR Classifications", "title": "Title",
             "abstract": "Abstract", "year": "Publication Year",
             "publication_date": "Publication Date"},
        ),
        (
            ["patent_id", "patent_date", "patent_title", "patent_abstract", "ipcr"],
            {"publication_number": "patent_id", "ipc": "ipcr", "title": "patent_title",
             "abstract": "patent_abstract", "publication_date": "patent_date"},
        ),
        (
            ["公开（公告）号", "公开（公告）日", "名称", "分类号", "主分类号", "摘要", "主权项"],
            {"publication_number": "公开（公告）号", "ipc": "分类号", "title": "名称",
             "abstract": "摘要", "claims": "主权项", "publication_date": "公开（公告）日"},
        ),
        (
            ["id", "Titel", "Zusammenfassung", "IPC", "Jahr", "Sprache"],
            {"publication_number": "id", "ipc": "IPC", "title": "Titel",
             "abstract": "Zusammenfassung", "year": "Jahr"},
        ),
        (
            ["ID", "Title", "title", "ipc", "year"],
            {"publication_number": "ID", "ipc": "ipc", "title": "Title", "year": "year"},
        ),
    ],
)  # fmt: skip
def test_columns_of_real_exports_are_recognised(columns: list[str], chosen: dict[str, str]) -> None:
    assert choose_columns(columns, {}, "file") == chosen


def test_a_named_column_goes_before_a_guess_and_may_be_named_loosely() -> None:
    columns = ["id", "number", "title", "Main Heading", "ipc", "year"]
    chosen = choose_columns(columns, {"number": "id", "title": "main_heading"}, "file")
    assert chosen["publication_number"] == "id"
    assert chosen["title"] == "Main Heading"


def test_a_column_is_one_field_only() -> None:
    chosen = choose_columns(["id", "ipc", "title", "date"], {"year": "date"}, "file")
    assert chosen["year"] == "date"
    assert "publication_date" not in chosen


def test_an_empty_column_leaves_a_field_out() -> None:
    chosen = choose_columns(["id", "ipc", "title", "claims", "year"], {"claims": ""}, "file")
    assert "claims" not in chosen


@pytest.mark.parametrize(
    ("columns", "missing"),
    [
        (["ipc", "title", "year"], "publication_number"),
        (["id", "title", "year"], "ipc"),
        (["id", "ipc", "year"], "title or abstract"),
        (["id", "ipc", "abstract"], "year or publication_date"),
    ],
)
def test_a_missing_column_is_refused_with_the_columns_there_are(
    columns: list[str], missing: str
) -> None:
    with pytest.raises(ImportRefused, match=f"no column for {missing}") as caught:
        choose_columns(columns, {}, "file.csv")
    assert caught.value.why == "its columns are " + ", ".join(columns)


def test_a_wrong_map_is_refused() -> None:
    with pytest.raises(ImportRefused, match="no column 'Titel' for title"):
        choose_columns(["id", "ipc", "title", "year"], {"title": "Titel"}, "file")
    with pytest.raises(ImportRefused, match="unknown field 'inventor'"):
        choose_columns(["id", "ipc", "title", "year"], {"inventor": "id"}, "file")
