from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patcache.cli import cli
from patcache.store import StoreFolder
from tests.plain_patents import PlainPatent, add_patents

CODES = ("A61B 5/00", "A61B 5/02", "A61B 50/00", "A61K 3/00", "A62B 5/00", "H01L 21/02")


@pytest.fixture
def here(store: StoreFolder) -> StoreFolder:
    patents = [PlainPatent(f"P{n}", 2001, (CODES[n % 6],), f"text {n}") for n in range(24)]
    add_patents(store, patents)
    return store


def patcache(store: StoreFolder, *words: str) -> Result:
    return CliRunner().invoke(cli, list(words), env={"PATCACHE_STORE": str(store.path)})


def test_a_sample_is_drawn_and_says_what_came_of_it(here: StoreFolder) -> None:
    done = patcache(here, "sample", "main", "--targets", "2", "--levels", "1,6")
    assert (done.exit_code, done.stdout) == (0, "")
    # A has 20 patents of five codes, H 4 of one: everybody has candidates at levels 1 and 6.
    assert "4 tuples in 2 of 2 cells · levels 1 6 · " in done.stderr
    assert "label noise: 0% of candidates" in done.stderr
    assert "short:" not in done.stderr


def test_options_may_come_before_the_name(here: StoreFolder) -> None:
    assert patcache(here, "sample", "--targets", "1", "main", "--levels", "1,6").exit_code == 0
    listed = json.loads(patcache(here, "sample", "list", "--format", "json").stdout)
    assert [(row["sample"], row["n_tuples"]) for row in listed] == [("main", 2)]


def test_shortages_are_shown_by_level(here: StoreFolder) -> None:
    done = patcache(here, "sample", "main", "--targets", "all", "--seed", "5")
    # H has candidates at levels 1 and 6 only; A61K and A62B none at levels 3 to 5.
    assert "short: " in done.stderr
    rows = json.loads(patcache(here, "shortages", "main", "--format", "json").stdout)
    assert {row["level"]: row["n_patents"] for row in rows} == {2: 4, 3: 8, 4: 12, 5: 16}
    noise = patcache(here, "shortages", "main", "--noise", "--by", "cell", "--format", "csv")
    assert noise.stdout.splitlines()[0] == "year,section,n_pairs,n_deeper,share"


def test_a_span_of_candidates_makes_a_sample_of_each(here: StoreFolder) -> None:
    done = patcache(here, "sample", "main", "--candidates", "3..5", "--targets", "1")
    assert done.exit_code == 0
    listed = json.loads(patcache(here, "sample", "list", "--format", "json").stdout)
    assert [(row["sample"], row["levels"]) for row in listed] == [
        ("main-m3", "1-2 6"),
        ("main-m4", "1-3 6"),
        ("main-m5", "1-4 6"),
    ]


def test_the_preset_of_the_study_allows_what_it_allowed(here: StoreFolder) -> None:
    assert patcache(here, "sample", "main", "--preset", "study", "--per", "section").exit_code == 0
    with here.read() as cursor:
        stored = cursor.execute("SELECT parameters FROM samples").fetchall()
    parameters = json.loads(stored[0][0])
    assert parameters["targets"] == 5000
    assert parameters["allow_same_text"] is parameters["allow_family"] is True


def test_extending_takes_no_option_of_a_draw(here: StoreFolder) -> None:
    patcache(here, "sample", "main", "--levels", "1,6")
    refused = patcache(here, "sample", "main", "--extend", "--seed", "2")
    assert refused.exit_code == 2
    assert "--seed cannot change that" in refused.stderr
    done = patcache(here, "sample", "main", "--extend")
    assert (done.exit_code, done.stderr.strip()) == (
        0,
        "nothing new: main has seen every cell of the corpus",
    )


def test_a_sample_goes_to_a_file_and_comes_back(here: StoreFolder, tmp_path: Path) -> None:
    patcache(here, "sample", "main", "--levels", "1,6")
    path = str(tmp_path / "main.parquet")
    assert "48 rows" in patcache(here, "sample", "export", "main", "--out", path).stderr
    done = patcache(here, "sample", "import", "copy", path)
    assert (done.exit_code, done.stderr.splitlines()[0]) == (
        0,
        "  24 tuples in 2 cells · levels 1 6",
    )


def test_refusals_have_three_lines_and_their_exit_code(here: StoreFolder) -> None:
    patcache(here, "sample", "main", "--levels", "1,6")
    taken = patcache(here, "sample", "main")
    assert taken.exit_code == 1
    assert taken.stderr.splitlines()[0] == "error: there is a sample 'main' already"
    absent = patcache(here, "shortages", "other")
    assert absent.exit_code == 3
    assert "there are: main" in absent.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--levels", "1-x"),
        ("--levels", "6-1"),
        ("--targets", "0"),
        ("--targets", "many"),
        ("--candidates", "3..100"),
        ("--seed", "-1"),
        ("--per", "month"),
    ],
)
def test_misuse_exits_with_two(here: StoreFolder, words: tuple[str, str]) -> None:
    assert patcache(here, "sample", "main", *words).exit_code == 2


def test_help_names_the_name_and_the_sub_commands(here: StoreFolder) -> None:
    helped = patcache(here, "sample", "--help").output
    assert "patcache sample NAME" in helped.replace("cli sample", "patcache sample")
    for word in ("export", "import", "list"):
        assert word in helped
    assert "--targets" in patcache(here, "sample", "main", "--help").output
