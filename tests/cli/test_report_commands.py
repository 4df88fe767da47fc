"""report and figure matrix on the command line: what is written, said and refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patcache.api import Store
from patcache.cli import cli
from tests.report.small_study import small_study


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small_study(tmp_path_factory.mktemp("report") / "store")


def run(store: Store, *arguments: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, arguments), "--store", str(store.path)])


def test_a_report_is_written_and_said_on_stderr(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = run(store, "report", out, "--models", "letters", "--formats", "png", "--title", "A & B")
    assert found.exit_code == 0, found.output
    assert found.stdout == ""
    assert f"{out / 'index.html'} · " in found.stderr
    assert "<h1>A &amp; B</h1>" in (out / "index.html").read_text(encoding="utf-8")
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png"}


def test_a_folder_of_others_and_formats_that_are_none_are_refused(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    refused = run(store, "report", tmp_path, "--models", "letters", "--formats", "svg")
    assert refused.exit_code == 1
    assert refused.stderr.splitlines()[-3:] == [
        f"error: {tmp_path} holds other things",
        "  thesis.tex, and no patcache-report.sha256",
        "  name a new or an empty folder, or one of an earlier run",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert run(store, "report", tmp_path / "out", "--formats", "gif").exit_code == 2
    assert run(store, "report", tmp_path / "out", "--years", "1990").exit_code == 3


@pytest.mark.parametrize("show", ["p", "effect", "difference"])
def test_the_matrix_is_drawn(store: Store, tmp_path: Path, show: str) -> None:
    found = run(store, "figure", "matrix", "--show", show, "--out", tmp_path / "m.svg")
    assert found.exit_code == 0, found.output
    assert (tmp_path / "m.svg").read_text(encoding="utf-8").startswith("<?xml")
