"""neighbors and index as people type them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patcache.cli import cli
from patcache.records import ModelRequest
from patcache.steps.embedding import embed
from patcache.store import StoreFolder
from tests.steps.study_by_hand import LetterEmbedder, add_patents
from tests.steps.test_neighbors import ENCODER

TITLES = ["Wheel [of a cart]", "Wheel | rim", "Battery", "Wheels and a very long title of a cart"]


def patcache(store: StoreFolder, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--store", str(store.path)])


@pytest.fixture
def wheels(store: StoreFolder) -> StoreFolder:
    add_patents(store, [(title, None) for title in TITLES])
    for label in ("letters", "others"):
        embedder = LetterEmbedder(label, of=label)
        embed(store, ModelRequest(label), embedder=embedder, all_texts=True, samples=())
    return store


def test_titles_stand_as_they_are(wheels: StoreFolder) -> None:
    result = patcache(wheels, "neighbors", "P3", "--model", "letters", "-k", "2")
    assert result.exit_code == 0, result.output
    assert "Wheel [of a cart]" in result.stdout
    assert result.stdout.startswith("nearest to P3 · 2000 · D01B 1/00 · Wheels and a very long")
    assert "letters · exact cosine\nall 4 patents searched · all years" in result.stdout


def test_the_table_is_as_wide_as_the_terminal(
    wheels: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    result = patcache(wheels, "neighbors", "P0", "--model", "letters")
    table = [line for line in result.stdout.splitlines() if " P" in line and line.startswith(" ")]
    assert len(table) == 3
    assert max(map(len, table)) <= 60
    assert "  Wheels and a" in result.stdout
    assert "long title" not in result.stdout
    assert "…" in result.stdout


def test_csv_tells_models_and_patents_apart(wheels: StoreFolder) -> None:
    result = patcache(
        wheels, "neighbors", "P0", "P2", "--model", "letters", "--model", "others", "-k", "1",
        "--format", "csv",
    )  # fmt: skip
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert [(row["model"], row["query"]) for row in rows] == [
        ("letters", "P0"),
        ("letters", "P2"),
        ("others", "P0"),
        ("others", "P2"),
    ]
    assert rows[0]["publication_number"] == "P3"
    assert "exact cosine" in result.stderr


def test_a_file_is_one_text(store: StoreFolder, tmp_path: Path) -> None:
    code, text = tmp_path / "counting.py", tmp_path / "text.txt"
    code.write_text(ENCODER)
    text.write_text("aaa\nb", encoding="utf-8-sig")
    add_patents(store, [(None, "aaab"), (None, "b")])
    request = ModelRequest(f"python:{code}:encode", "encode")
    embed(store, request, all_texts=True, samples=())
    result = patcache(
        store, "neighbors", "--text-file", str(text), "--model", "encode", "--format", "jsonl"
    )
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["publication_number"] for row in rows] == ["P0", "P1"]
    assert rows[0]["query"] == "“aaa b”"
    assert rows[0]["similarity"] == pytest.approx(1.0)


def test_a_file_that_is_no_text_is_refused_with_its_first_wrong_byte(
    wheels: StoreFolder, tmp_path: Path
) -> None:
    (tmp_path / "latin.txt").write_bytes("a wheel for \xe4 car".encode("latin-1"))
    result = patcache(
        wheels, "neighbors", "--text-file", str(tmp_path / "latin.txt"), "--model", "letters"
    )
    assert result.exit_code == 2
    assert "is not UTF-8: its byte 12 is 0xe4" in " ".join(result.stderr.replace("│", "").split())


def test_what_is_wrong_is_said_with_its_exit_code(wheels: StoreFolder) -> None:
    nobody = patcache(wheels, "neighbors", "P00", "--model", "letters")
    assert (nobody.exit_code, nobody.stdout) == (3, "")
    assert "the most similar numbers are P0" in nobody.stderr
    assert patcache(wheels, "neighbors", "--model", "letters").exit_code == 2
    assert patcache(wheels, "neighbors", "P0", "--model", "nobody").exit_code == 3
    assert patcache(wheels, "index", "--kind", "hnsw").exit_code == 2
    assert patcache(wheels, "index", "letters", "--rebuild").exit_code == 2


def test_an_index_is_made_listed_and_used(wheels: StoreFolder) -> None:
    made = patcache(wheels, "index", "letters", "--kind", "hnsw", "--format", "json")
    (row,) = json.loads(made.stdout)
    assert (row["model"], row["kind"], row["n_rows"], row["recall"]) == ("letters", "hnsw", 4, 1.0)
    used = patcache(wheels, "neighbors", "P0", "--model", "letters", "--index", "hnsw", "-k", "1")
    assert "letters · hnsw index, recall 1.000 of 4 stored texts" in used.stdout
    assert "P3" in used.stdout
    assert "ivf" in patcache(wheels, "index", "others", "--kind", "ivf").stdout
    assert "2 indexes" in patcache(wheels, "index").stdout
