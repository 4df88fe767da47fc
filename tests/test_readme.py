"""README says what is there: commands, views, presets, extras, and the command that CI runs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from patcache.cli import COMMANDS
from patcache.cli.figures import FIGURES
from patcache.embedders.catalogue import PRESETS
from patcache.queries.sql import run_sql
from patcache.steps.study_file import read_study
from patcache.store import StoreFolder

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command: str) -> None:
    assert f"`patcache {command}`" in README


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_in_the_readme(preset: str) -> None:
    assert f"`{preset}`" in README


@pytest.mark.parametrize("extra", sorted(set(PROJECT["optional-dependencies"]) - {"test"}))
def test_every_extra_is_in_the_readme(extra: str) -> None:
    assert re.search(rf"[\[,`]{extra}[\],`]", README)


def test_every_view_is_in_the_readme_and_no_other(store: StoreFolder) -> None:
    sql = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'"
    views = {name for (name,) in run_sql(store, sql)}
    section = README.split("## SQL")[1].split("## ")[0]
    listed = {
        name
        for line in section.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert listed == views


def test_the_study_of_the_readme_can_be_read(tmp_path: Path) -> None:
    text = README.split("```toml\n")[1].split("```")[0]
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    study = read_study(tmp_path / "study.toml")
    assert [model.label or model.name for model in study.models] == [
        "tfidf",
        "minilm@mean",
        "minilm@cls",
    ]


def test_ci_runs_the_readmes_test_command() -> None:
    block = README.split("<!-- ci: test -->\n```sh\n")[1].split("\n```")[0]
    commands = block.splitlines()
    assert len(commands) == 1
    assert commands[0].startswith("python3 -m venv .venv && ")
    assert commands[0].endswith("&& pip install -e '.[all]' && pytest")
    assert "<!-- ci: test -->" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_pictures_of_the_readme_are_there_and_made_by_commands_it_names() -> None:
    pictures = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", README)
    assert sorted(Path(path).name for _, path in pictures) == [
        "efficiency.svg",
        "fields.svg",
        "matrix.svg",
    ]
    for _, path in pictures:
        drawn = (ROOT / path).read_text(encoding="utf-8")
        assert "<svg" in drawn
        assert "<image" not in drawn  # no raster, nothing from elsewhere
        name = Path(path).stem
        assert name in FIGURES
        assert re.search(rf"`patcache figure {name} [^`]*--out {name}.svg`", README)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_in_the_readme(name: str) -> None:
    assert re.search(rf"patcache figure ([a-z|]*\|)?{name}\b", README)
