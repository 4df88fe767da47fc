"""trend, fields, where and compare on the command line, and their figures."""

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
BAD = [(120 * (3 + i % 6), 12 - i % 9) for i in range(40)]
VALUES: dict[str, list[Value | None]] = {
    "good": [*GOOD, *BAD, (0, 15), (0, 15)],
    "bad": [*BAD, *GOOD, (120, 13), None],
}
YEARS = [2017] * 40 + [2019] * 40 + [2021] * 2
TUPLES = Tuples([STUDY] * 82, YEARS, ["A"] * 40 + ["H"] * 42, VALUES)
COMMANDS = (("trend",), ("fields",), ("where", "good"), ("compare", "--split", "2018"))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("slices") / "store", TUPLES).path


def run(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--store", str(path)])


def test_a_trend_is_a_line_a_year_and_a_column_a_model(path: Path) -> None:
    found = run(path, "trend")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0] == (
        "sample main · 82 tuples · all years · all sections · RCI (chance 0.352) · "
        "U-test, Holm over 2 tests in each of 3 years"
    )
    assert lines[1] == "whether a model beats the other one · * the most in the line"
    assert lines[2].split() == ["year", "tuples", "good", "bad"]
    assert [line.split() for line in lines[3:6]] == [
        ["2017", "40", "1*", "0"],
        ["2019", "40", "0", "1*"],
        ["2021", "2", "too", "few"],
    ]
    assert "no tuples in 2018, 2020" in lines
    assert "nan" not in found.output.lower()


def test_fields_say_what_a_section_is_about(path: Path) -> None:
    lines = run(path, "fields", "--show", "rci").stdout.splitlines()
    assert lines[1] == "mean RCI ± half of its 95 % interval · * the highest in the line"
    assert lines[3].split()[:3] == ["A", "Human", "necessities"]
    # 40 tuples, ten each of 0, 2, 4 and 6 ranks off: 1 - 3 / 18.
    assert lines[3].split()[4].startswith("0.833±.0")
    assert lines[3].split()[4].endswith("*")
    assert not lines[3].split()[5].endswith("*")


def test_where_names_the_slice_the_rival_and_the_verdict(path: Path) -> None:
    found = run(path, "where", "good", "--by", "section")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[1] == (
        "where good wins and loses: U-test (two-sided), Benjamini-Hochberg over 2 tests: "
        "2 slices x 1 rival"
    )
    words = "slice against n difference 95 % interval superiority p q verdict"
    assert lines[2].split() == words.split()
    won, lost = lines[3].split(), lines[4].split()
    assert (won[:3], won[-1]) == (["A", "bad", "40"], "wins")
    assert (lost[:3], lost[-1]) == (["H", "bad", "41"], "loses")
    assert won[-3:-1] == ["<.001", "<.001"]
    assert "wins 1 · loses 1 · not separable 0 · too few 0" in lines


def test_where_takes_by_and_top_and_a_rival(path: Path) -> None:
    rows = json.loads(run(path, "where", "good", "--top", "1", "--format", "json").stdout)
    assert [row["verdict"] for row in rows] == ["wins", "loses"]
    few = run(path, "where", "good", "--by", "year", "--against", "bad").stdout
    assert "over 2 tests: 3 slices x 1 rival, 1 with too few tuples left out" in few
    holm = run(path, "where", "good", "--correction", "holm").stdout
    assert "Holm over 4 tests" in holm


def test_compare_shows_both_sides_and_their_difference(path: Path) -> None:
    found = run(path, "compare", "--split", "2018")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0].startswith("before 2018: sample main · 40 tuples · 2017 ·")
    assert lines[1].startswith("from 2018: sample main · 42 tuples · 2019, 2021 ·")
    assert lines[2] == "U-test (two-sided, independent samples), Holm over 2 tests"
    rows = {line.split()[0]: line.split() for line in lines[5:7]}
    assert rows["good"][-4:] == ["lower", "1", "->", "2"]
    assert rows["bad"][-4:] == ["higher", "2", "->", "1"]
    assert rows["good"][1] == "0.833"


def test_compare_takes_another_store_or_sample(path: Path, tmp_path: Path) -> None:
    other = fill(tmp_path / "other", TUPLES)
    found = run(path, "compare", "--with-store", str(other.path))
    assert found.exit_code == 0, found.output
    assert "main (store): sample main" in found.stdout
    assert "main (other): sample main" in found.stdout
    missing = run(path, "compare", "--with-store", str(tmp_path / "none"))
    assert missing.exit_code == 3
    assert "none" in missing.output


@pytest.mark.parametrize("command", COMMANDS)
def test_records_carry_every_field_and_words_go_to_stderr(
    path: Path, command: tuple[str, ...]
) -> None:
    found = run(path, *command, "--format", "csv")
    assert found.exit_code == 0, found.output
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert {row["model"] for row in rows} <= {"good", "bad"}
    assert rows[0]["indicator"] == "footrule"
    assert "sample main" in found.stderr
    assert "nan" not in found.output.lower()


@pytest.mark.parametrize("fmt", ["md", "latex"])
@pytest.mark.parametrize("command", COMMANDS)
def test_papers_formats_hold_the_same_table(path: Path, command: tuple[str, ...], fmt: str) -> None:
    found = run(path, *command, "--format", fmt)
    assert found.exit_code == 0, found.output
    assert ("| " if fmt == "md" else r"\begin{tabular}") in found.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_each_has_a_figure(path: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    out = tmp_path / f"{command[0]}.svg"
    found = run(path, "figure", *command, "--out", str(out))
    assert found.exit_code == 0, found.output
    assert out.read_text(encoding="utf-8").startswith("<?xml")
    assert f"{out} is written" in found.output


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (("trend", "--years", "1990"), 3, "no tuples in this slice"),
        (("fields", "--show", "p"), 2, "'p' is not one of"),
        (("where", "best"), 3, "no scores of best"),
        (("where", "good", "--against", "good"), 2, "cannot be compared with itself"),
        (("where", "good", "--alternative", "less"), 2, "--alternative"),
        (("compare",), 2, "compare with what?"),
        (("compare", "--split", "1990"), 3, "no tuples before 1990"),
        (("compare", "--split", "2018", "--years", "1990"), 3, "no tuples in this slice"),
        (("compare", "--split", "2018", "--years", "2017"), 3, "one year cannot be split"),
        (("compare", "--split", "2018", "--sections", "A"), 3, "its years here: 2017\n"),
        (("where", "good", "--models", "good"), 3, "no rival here"),
        (("efficiency", "--batch", "4"), 2, "--batch: only with --measure"),
        (("tuples", "--between", "good,good"), 2, "good does not differ from itself"),
        (("compare", "--split", "2018", "--test", "u"), 2, "--test"),
    ],
)
def test_exit_codes_say_what_happened(
    path: Path, arguments: tuple[str, ...], exit_code: int, words: str
) -> None:
    found = run(path, *arguments)
    assert found.exit_code == exit_code, found.output
    assert words in found.output


@pytest.mark.parametrize("command", ["equivalence", "power", "agreement"])
def test_one_model_is_said_to_have_no_pair(path: Path, command: str) -> None:
    found = run(path, command, "--models", "good")
    assert found.exit_code == 0, found.output
    assert "one model: no pair to compare" in found.stdout.splitlines()


def test_intervals_of_few_resamples_are_said_to_be_rough(path: Path) -> None:
    few = run(path, "leaderboard", "--resamples", "20")
    assert "20 resamples, seed 1; fewer than 1,000 leave their ends to luck" in few.stdout
    assert "to luck" not in run(path, "leaderboard", "--resamples", "1000").stdout
