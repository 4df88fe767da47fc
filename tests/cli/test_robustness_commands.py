"""robustness and efficiency on the command line: what is done once, said in words, and drawn."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from patcache.api import Store
from patcache.cli import cli
from patcache.embedders import random as module
from patcache.embedders.base import Encoded
from patcache.embedders.random import RandomEmbedder
from patcache.errors import ModelRefused
from patcache.records import Role
from tests.corpus import write_patents


def run(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), env={"PATCACHE_STORE": str(path)})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("robustness")
    store = Store(folder / "store")
    store.import_files(write_patents(folder / "patents.parquet"))
    store.sample("main", targets=3)
    store.add("random")
    store.add("random", label="second", seed=2)
    return store.path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "store"))


def test_one_command_draws_embeds_scores_and_shows_and_a_second_shows_only(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    encode = RandomEmbedder.encode

    def noted(self: RandomEmbedder, some: Sequence[str], role: Role) -> Encoded:
        encoded.extend(some)
        return encode(self, some, role)

    monkeypatch.setattr(RandomEmbedder, "encode", noted)
    first = run(path, "robustness", "main", "--seeds", "1-3")
    assert first.exit_code == 0, first.output
    assert "main-seed2: 6 tuples in 2 of 4 cells" in first.stderr
    n_new = len(encoded) // 2  # of each of the two models
    assert f"random  {n_new} new texts" in first.stderr
    assert f"second  {n_new} texts encoded" in first.stderr
    assert "random  12 tuples of 2 draws scored" in first.stderr
    lines = first.stdout.splitlines()
    assert lines[0].startswith("sample main, 3 draws (seed 1-3) · 6 tuples · all years")
    headings = "model draws RCI above chance sd lowest highest mean rank ranks first"
    assert lines[1].split() == headings.split()
    assert {line.split()[0] for line in lines[2:4]} == {"random", "second"}
    assert "Kendall's W" in first.stdout
    board = run(path, "leaderboard")  # as the base is of every question
    assert board.stdout.startswith("sample main · 6 tuples")
    encoded.clear()
    second = run(path, "robustness", "--seeds", "1-3")  # the oldest sample is the base of all
    assert second.exit_code == 0, second.output
    assert second.stdout == first.stdout
    assert (
        second.stderr.strip()
        == "nothing to do: 3 draws and 2 models are drawn, embedded and scored"
    )
    assert encoded == []


def test_show_only_computes_nothing(path: Path) -> None:
    found = run(path, "robustness", "main", "--seeds", "1-3", "--show-only")
    assert found.exit_code == 0, found.output
    assert "1 draw (seed 1)" in found.stdout
    assert "too few draws" in found.stdout
    assert "not drawn: seed 2-3" in found.stdout
    assert run(path, "robustness").stdout.splitlines()[0] == found.stdout.splitlines()[0]
    listed = json.loads(run(path, "sample", "list", "--format", "json").stdout)
    assert [row["sample"] for row in listed] == ["main"]
    none = run(path, "robustness", "main", "--candidates", "3", "--show-only")
    assert none.exit_code == 3
    assert "no draw of sample main is scored" in none.stderr


def test_both_sweeps_are_two_tables_and_one_of_records(path: Path) -> None:
    shown = run(
        path, "robustness", "main", "--seeds", "1,2", "--candidates", "3,6", "--show", "draws"
    )
    assert shown.exit_code == 0, shown.output
    assert "seed  sample" in shown.stdout
    assert "m  sample" in shown.stdout
    found = run(path, "robustness", "main", "--show", "draws", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert [(row["vary"], row["seed"], row["m"]) for row in rows if row["model"] == "random"] == [
        ("seed", "1", "6"),
        ("seed", "2", "6"),
        ("candidates", "1", "3"),
        ("candidates", "1", "6"),
    ]
    for fmt in ("md", "latex", "jsonl"):
        assert "random" in run(path, "robustness", "main", "--format", fmt).stdout


def refuse_second(monkeypatch: pytest.MonkeyPatch) -> None:
    load = module.load

    def refuse(resolved: Any, context: Any) -> Any:
        if resolved.settings["seed"] == 2:
            raise ModelRefused("its package is not installed", "no module", "install it")
        return load(resolved, context)

    monkeypatch.setattr(module, "load", refuse)


def test_one_model_that_fails_does_not_lose_the_rest(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_second(monkeypatch)
    found = run(path, "robustness", "main", "--seeds", "1,2")
    assert found.exit_code == 1
    assert "error: second: its package is not installed" in found.stderr
    assert "not in all 2 draws, and so not ranked: second 1" in found.stdout
    named = run(path, "robustness", "main", "--seeds", "1,2", "--models", "random,second")
    assert named.exit_code == 1
    assert "random" in named.stdout


def test_a_draw_that_cannot_be_is_told_at_the_end_by_the_exit_code(path: Path) -> None:
    found = run(path, "robustness", "main", "--candidates", "3,20")
    assert found.exit_code == 1
    assert "error: sample main-m20: no patent has candidates at every level" in found.stderr
    assert "1 draw (m 3)" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (("--seeds", "3-1"), 2, "a span goes from a number"),
        (("--candidates", "2-5"), 2, "3 to 20 candidates"),
        (("--candidates", "3-99"), 2, "'3-99' is too much"),
        (("nobody", "--seeds", "1"), 3, "no sample 'nobody'"),
        (("main", "--sample", "other"), 2, "two samples are named"),
        (("main", "--seeds", "1", "--models", "nobody"), 3, "unknown model 'nobody'"),
    ],
)
def test_what_is_wrong_is_said(
    path: Path, arguments: tuple[str, ...], exit_code: int, words: str
) -> None:
    found = run(path, "robustness", *arguments)
    assert (found.exit_code, words in found.output) == (exit_code, True), found.output


def test_efficiency_measures_shows_and_fails_at_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run(path, "efficiency")
    assert plain.exit_code == 0, plain.output
    headings = "model dim device batch s/text s/tuple texts/s vector RCI 95 % interval front"
    assert plain.stdout.splitlines()[1].split() == headings.split()
    assert "1.0 kB" in plain.stdout
    assert run(path, "efficiency", "--show", "batch").exit_code == 3
    refuse_second(monkeypatch)
    options = ("--measure", "--batch", "1,4", "--tuples", "2", "--repeats", "2")
    found = run(path, "efficiency", *options)
    assert found.exit_code == 1
    assert "14 texts of 2 tuples in batches of 1, 4 on cpu · fastest" in found.stderr
    assert "error: second was not measured: its package is not installed" in found.stderr
    assert "no time: second" in found.stdout
    batch = run(path, "efficiency", "--show", "batch", "--format", "json")
    assert [(row["model"], row["batch"]) for row in json.loads(batch.stdout)] == [
        ("random", 1),
        ("random", 4),
    ]
    assert "not measured: second" in batch.stderr


def test_figures_are_drawn_and_the_same_each_time(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run(path, "robustness", "main", "--seeds", "1,2", "--models", "random")
    run(path, "efficiency", "--sample", "main", "--measure", "--batch", "1,2", "--tuples", "1")
    for name, arguments in (
        ("robustness", ("main",)),
        ("robustness", ("main", "--candidates", "6", "--dmax", "paper")),
        ("efficiency", ("--sample", "main")),
        ("efficiency", ("--sample", "main", "--show", "batch")),
    ):
        contents = []
        for number in range(2):
            out = tmp_path / f"{number}.svg"
            done = run(path, "figure", name, *arguments, "--out", str(out))
            assert done.exit_code == 0, done.output
            contents.append(out.read_bytes())
        assert contents[0] == contents[1]
