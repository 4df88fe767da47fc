"""leaderboard, matrix and cells on the command line: what is printed, in words and in records."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patcache.cli import cli
from tests.queries.fill import STUDY, Tuples, Value, fill

GOOD = [(120 * (i % 4), 15 - i % 4) for i in range(40)]
BAD = [(120 * (i % 9), 15 - i % 9) for i in range(40)]
VALUES: dict[str, list[Value | None]] = {
    "good": [*GOOD, None, (0, 15)],
    "bad": [*BAD, (120, 13), (240, 11)],
    "twin": [*GOOD, None, (0, 15)],
}
TUPLES = Tuples([STUDY] * 42, [2019] * 20 + [2020] * 20 + [2021] * 2, ["A", "B"] * 21, VALUES)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("cli") / "store", TUPLES).path


def run(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments[:1], "--store", str(path), *arguments[1:]])


def test_the_leaderboard_reads_as_a_table(path: Path) -> None:
    found = run(path, "leaderboard")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0] == (
        "sample main · 42 tuples · all years · all sections · RCI (chance 0.352) · "
        "U-test, Holm over 6 tests"
    )
    headings = "group model RCI 95 % interval beats beaten by s/text n undefined"
    assert lines[1].split() == headings.split()
    # 41 tuples: ten each of 0, 2, 4 and 6 ranks, and one of 0: 1 - 120 / 41 / 18 = 0.837.
    assert lines[2].split()[:3] == ["1", "good", "0.837"]
    assert lines[2].split()[4] == "─●─"
    assert lines[3].split()[1] == "twin"
    assert lines[4].split()[:2] == ["2", "bad"]
    assert "the models have 41 to 42 tuples each; --common compares" in found.stdout
    assert "nan" not in found.output.lower()


def test_records_carry_every_field_and_words_go_to_stderr(path: Path) -> None:
    found = run(path, "leaderboard", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert [row["model"] for row in rows] == ["good", "twin", "bad"]
    assert float(rows[0]["mean"]) == pytest.approx(1 - 120 / 41 / 18, abs=1e-12)
    assert (rows[0]["n"], rows[0]["n_undefined"], rows[0]["beats"]) == ("41", "1", "1")
    assert "sample main" in found.stderr


def test_the_matrix_is_a_grid_of_corrected_p(path: Path) -> None:
    found = run(path, "matrix")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[1] == 'corrected p of "row beats column" · * the row wins at alpha 0.05'
    assert lines[2].split() == ["1", "2", "3", "beats"]
    good = lines[3].split()
    assert good[:3] == ["1", "good", "·"]
    assert good[4].startswith("<.001*")
    assert good[-1] == "1"
    assert "nan" not in found.output.lower()


@pytest.mark.parametrize("show", ["effect", "difference"])
def test_the_matrix_shows_effects_and_differences(path: Path, show: str) -> None:
    lines = run(path, "matrix", "--show", show).stdout.splitlines()
    good = lines[3].split()
    pairs = json.loads(run(path, "matrix", "--format", "json").stdout)
    record = next(row for row in pairs if (row["model"], row["other"]) == ("good", "bad"))
    if show == "effect":
        assert good[4] == f"{record['superiority']:.2f}*"
    else:
        assert good[4] == f"{record['mean_difference']:+.3f}*"
        assert record["low"] < record["mean_difference"] < record["high"]


def test_no_difference_and_too_few_are_words(path: Path) -> None:
    paired = run(path, "matrix", "--test", "signed-rank", "--models", "good,twin").stdout
    assert paired.count("no difference") == 2
    few = run(path, "matrix", "--years", "2021").stdout
    assert few.count("too few") == 7  # six cells and the note that says what it means
    assert "nan" not in (paired + few).lower()


def test_cells_name_the_winner_of_each_year(path: Path) -> None:
    found = run(path, "cells", "--models", "good,bad")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert "Holm over 2 tests in each of 3 years" in lines[0]
    assert lines[1].split() == ["year", "tuples", "undefined", "good", "bad", "winner", "beats"]
    assert lines[2].split()[0] == "2019"
    assert lines[2].split()[5:] == ["good", "1", "of", "1"]
    assert lines[4].startswith(" 2021")
    assert lines[4].split()[-2:] == ["too", "few"]
    sweep = run(path, "cells", "--by", "section", "--family", "sweep").stdout
    assert "Holm over 12 tests of all 2 sections" in sweep


def test_cells_in_json_have_a_record_for_each_part_and_model(path: Path) -> None:
    found = run(path, "cells", "--by", "cell", "--format", "jsonl")
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(rows) == 6 * 3
    few = [row for row in rows if row["year"] == 2021]
    assert {row["outcome"] for row in few} == {"too few"}
    assert [row["mean"] for row in few if row["model"] == "good"] == [None, 1.0]


@pytest.mark.parametrize("fmt", ["md", "latex"])
@pytest.mark.parametrize("command", ["leaderboard", "matrix", "cells"])
def test_papers_formats_hold_the_same_numbers(path: Path, command: str, fmt: str) -> None:
    found = run(path, command, "--format", fmt)
    assert found.exit_code == 0, found.output
    assert "good" in found.stdout
    assert ("| " if fmt == "md" else r"\begin{tabular}") in found.stdout


def test_kendall_and_the_paper_maximum_are_said(path: Path) -> None:
    kendall = run(path, "leaderboard", "--indicator", "concordance").stdout
    assert "Kendall (chance 0.000)" in kendall
    assert "as in the paper" in run(path, "cells", "--dmax", "paper").stdout


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (("leaderboard", "--sample", "no"), 3, "no sample 'no'"),
        (("matrix", "--models", "no"), 3, "no scores of no"),
        (("cells", "--years", "1990"), 3, "no tuples in this slice"),
        (("leaderboard", "--test", "t"), 2, "'t' is not one of"),
        (("leaderboard", "--alpha", "2"), 2, "--alpha"),
        (("matrix", "--tie-tolerance", "nan"), 2, "'nan' is not a finite number"),
        (("matrix", "--wait", "inf"), 2, "'inf' is not a finite number"),
    ],
)
def test_exit_codes_say_what_happened(
    path: Path, arguments: tuple[str, ...], exit_code: int, words: str
) -> None:
    found = run(path, *arguments)
    assert found.exit_code == exit_code
    assert words in found.output
