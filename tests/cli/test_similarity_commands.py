"""distribution, levels, agreement and tuples on the command line, as tables, records, figures."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from patcache.cli import cli
from tests.queries.fill import STUDY, fill, from_similarities
from tests.steps.study_by_hand import add_patents

N = 30


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four models on 30 tuples of patents whose titles hold escape codes and line ends."""
    rng = np.random.default_rng(4)
    gold = np.arange(6) / 10
    rows = {
        "good": gold + 0.1 * rng.normal(size=(N, 6)),
        "poor": gold / 3 + 0.1 * rng.normal(size=(N, 6)),
        "flat": np.full((N, 6), 0.25),
        "none": np.full((N, 6), np.nan),
    }
    years, sections = [2019 + i % 2 for i in range(N)], ["AB"[i % 2] for i in range(N)]
    similarities = {name: of.tolist() for name, of in rows.items()}
    tuples = from_similarities([STUDY] * N, years, sections, similarities)
    store = fill(tmp_path_factory.mktemp("cli") / "store", tuples)
    title = "A very long title\x1b[2J\nwith codes that clear the screen"
    add_patents(store, [(title, "abstract")] * 7)
    with store.write() as cursor:
        cursor.execute("UPDATE data.tuples SET target = 6, candidates = [0, 1, 2, 3, 4, 5]")
    return store.path


def run(path: Path, *arguments: str) -> Result:
    n = 2 if arguments[0] == "figure" else 1
    return CliRunner().invoke(cli, [*arguments[:n], "--store", str(path), *arguments[n:]])


COMMANDS = (
    ("distribution",),
    ("distribution", "--by", "level"),
    ("distribution", "--of", "rci"),
    ("levels",),
    ("levels", "--confusion"),
    ("agreement",),
    ("agreement", "--show", "pairs"),
    ("tuples",),
    ("tuples", "--between", "good,poor"),
    ("tuples", "--show", "3"),
)


@pytest.mark.parametrize("fmt", ["table", "md", "latex", "csv", "json", "jsonl"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_format_has_words_and_never_nan_or_escape_codes(
    path: Path, command: tuple[str, ...], fmt: str
) -> None:
    found = run(path, *command, "--format", fmt)
    assert found.exit_code == 0, found.output
    assert "good" in found.stdout
    assert "nan" not in found.output.lower()
    assert "inf" not in found.output.lower()
    assert "\x1b" not in found.output or fmt == "csv"
    if fmt == "csv":
        assert len(list(csv.DictReader(io.StringIO(found.stdout)))) > 1


def test_the_distribution_is_a_line_a_model(path: Path) -> None:
    lines = run(path, "distribution").stdout.splitlines()
    assert lines[0] == (
        "sample main · 30 tuples · all years · all sections · similarities of target and candidate"
    )
    headings = "model n mean sd skewness lowest 95 % of them highest histogram"
    assert lines[1].split() == headings.split()
    flat = next(line for line in lines if line.startswith(" flat"))
    assert flat.split()[1:5] == ["180", "0.250", "0.000", "constant"]
    assert flat.split()[-1].strip("·") == "█"
    none = next(line for line in lines if line.startswith(" none"))
    assert none.split()[1:6] == ["0", "–", "–", "too", "few"]
    assert "undefined tuples left out: none 30" in lines


def test_records_have_the_histogram_as_numbers(path: Path) -> None:
    rows = json.loads(run(path, "distribution", "--format", "json").stdout)
    good = next(row for row in rows if row["model"] == "good")
    assert (len(good["histogram"]), sum(good["histogram"])) == (40, 180)
    assert good["bins_from"] == min(r["lowest"] for r in rows if r["lowest"] is not None)


def test_levels_have_a_column_for_two_neighbours(path: Path) -> None:
    lines = run(path, "levels").stdout.splitlines()
    assert lines[1].split() == ["model", "targets", "1<2", "2<3", "3<4", "4<5", "5<6"]
    flat = next(line for line in lines if line.startswith(" flat"))
    assert flat.split()[:4] == ["flat", "30", "0.500", "±.168"]  # Wilson's, 15 of 30
    one = run(path, "levels", "--confusion", "--models", "flat").stdout
    assert one.count("16.7%") == 36
    assert "tie tolerance" not in one


def test_agreement_is_a_matrix_with_words_for_constant_models(path: Path) -> None:
    lines = run(path, "agreement", "--models", "good,poor,flat").stdout.splitlines()
    assert lines[1] == "Spearman correlation over common tuples"
    assert lines[2].split() == ["1", "2", "3"]
    assert lines[5].count("constant") == 2 or lines[4].count("constant") == 2
    pairs = json.loads(run(path, "agreement", "--format", "json").stdout)
    good = next(row for row in pairs if {row["model"], row["other"]} == {"good", "poor"})
    assert good["n"] == 30
    assert good["section"] is None  # 15 tuples a section are too few to be named


def test_titles_are_shortened_in_tables_and_whole_in_records(path: Path) -> None:
    table = run(path, "tuples", "--top", "2").stdout
    assert "A very long title [2J with…" in table
    assert "1 good · 2 poor" in table
    rows = json.loads(run(path, "tuples", "--top", "2", "--format", "json").stdout)
    assert rows[0]["title"].endswith("clear the screen")
    assert set(rows[0]["values"]) == {"good", "poor", "flat", "none"}
    assert rows[0]["mean"] <= rows[1]["mean"]


def test_one_tuple_has_ties_as_spans_of_ranks(path: Path) -> None:
    shown = run(path, "tuples", "--show", "3").stdout
    assert shown.count("0.250  1-6") == 6
    assert "none undefined" in shown
    assert shown.splitlines()[2].split()[:5] == ["level", "patent", "code", "title", "1"]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (("tuples", "--show", "77"), 3, "its tuples are numbered 0 to 29"),
        (("tuples", "--between", "good"), 2, "'good' does not name two models"),
        (("tuples", "--between", "good,best"), 3, "no scores of best"),
        (("tuples", "--top", "0"), 2, "--top"),
        (("distribution", "--of", "rci", "--by", "level"), 2, "RCIs have no level"),
        (("levels", "--years", "1990"), 3, "no tuples in this slice"),
        (("agreement", "--sample", "no"), 3, "no sample 'no'"),
        (("agreement", "--test", "u"), 2, "No such option"),
    ],
)
def test_refusals_say_what_happened(
    path: Path, arguments: tuple[str, ...], exit_code: int, words: str
) -> None:
    found = run(path, *arguments)
    assert found.exit_code == exit_code
    assert words in found.output


@pytest.mark.parametrize(
    "command",
    [
        ("distribution",),
        ("distribution", "--by", "level"),
        ("distribution", "--of", "rci"),
        ("levels",),
        ("agreement", "--show", "difference"),
        ("agreement", "--models", "flat"),
        ("levels", "--models", "none"),
    ],
    ids=" ".join,
)
def test_figures_are_written(path: Path, command: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "drawn.svg"
    found = run(path, "figure", *command, "--out", str(out))
    assert found.exit_code == 0, found.output
    assert out.read_text(encoding="utf-8").startswith("<?xml")
