"""`patcache import` and `patcache rejects`: what they print, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patcache.cli import cli

HEADER = "Nummer;Titel;Abstract;IPCR;Jahr\n"
GOOD = "US1;Rotor;A rotor.;A61B 5/00;2015\nUS2;Rotor;A  rotor.;B60R 7/06;2016\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def imported(folder: Path, text: str, *options: str, name: str = "patents.csv") -> Result:
    (folder / name).write_text(text, encoding="utf-8")
    return run("import", str(folder / name), "--store", str(folder / "store"), *options)


def test_import_says_what_it_took_for_what_and_what_the_corpus_is(tmp_path: Path) -> None:
    result = imported(tmp_path, HEADER + GOOD, "--map", "number=Nummer,ipc=IPCR")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "  2 patents · 2015-2016 · A 1  B 1",
        "  0 refused · 1 groups of patents share one text · family unknown for 2",
    ]
    assert result.stderr.splitlines() == [
        "patents.csv: csv, separator ';', utf-8 · publication_number = 'Nummer', ipc = 'IPCR',"
        " title = 'Titel', abstract = 'Abstract', year = 'Jahr'",
        "  2 rows: 2 added · 0 known already · 0 excluded · 0 refused",
    ]


def test_refused_rows_make_exit_code_5_and_excluded_ones_do_not(tmp_path: Path) -> None:
    design = "USD1;Chair;;D14-341;2015\n"
    options = ("--map", "number=Nummer")
    assert imported(tmp_path, HEADER + GOOD + design, *options).exit_code == 0
    result = imported(tmp_path, HEADER + GOOD + design + "US3;x;y;A61F  BAD;2015\n", *options)
    assert result.exit_code == 5
    assert "  1 refused · 1 excluded · " in result.stdout
    assert "patcache rejects --by-reason" in result.stdout


def test_rejects_lists_the_last_import_of_each_file(tmp_path: Path) -> None:
    options = ("--map", "number=Nummer")
    imported(tmp_path, HEADER + "US3;x;y;A61F  BAD;2015\nUSD1;Chair;;0205;2015\n", *options)
    imported(tmp_path, HEADER + "US3;x;y;A61B;2015\nUSD1;Chair;;0205;2015\n", *options)
    store = str(tmp_path / "store")
    rows = json.loads(run("rejects", "--store", store, "--format", "json").stdout)
    assert [(r["row_number"], r["value"], r["reason"], r["kind"]) for r in rows] == [
        (1, "A61B", "subclass only", "rejected"),
        (2, "0205", "class of designs or plants, not an IPC code", "excluded"),
    ]
    counted = run("rejects", "--store", store, "--by-reason").stdout
    assert counted.startswith("1 rejected (at fault) · 1 excluded (out of scope)\n")


def test_a_file_that_cannot_be_read_is_refused_in_three_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("id,title,ipc,year\n1,Rührer,A61B 5/00,2015".encode("latin-1"))
    result = run("import", str(tmp_path / "a.csv"), "--store", str(tmp_path / "store"))
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"error: {tmp_path / 'a.csv'} is not utf-8",
        "  the byte 0xfc at offset 21 cannot be decoded",
        "  name its encoding: --encoding cp1252 (or latin-1, gb18030, utf-16, euc-kr ...)",
    ]


def test_a_map_that_is_no_map_is_misuse(tmp_path: Path) -> None:
    assert imported(tmp_path, HEADER + GOOD, "--map", "Nummer").exit_code == 2


@pytest.mark.parametrize("delimiter", ["semicolon", ";"])
def test_separators_have_names(tmp_path: Path, delimiter: str) -> None:
    options = ("--map", "number=Nummer", "--delimiter", delimiter, "--quote", "none")
    assert imported(tmp_path, HEADER + GOOD, *options).exit_code == 0
