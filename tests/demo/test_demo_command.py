"""`patcache demo` from start to end: what it shows is neither chance nor perfect, nor one order."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from patcache.api import Store
from patcache.cli import cli

CHANCE = 19 / 54


@pytest.mark.slow
def test_the_demo_runs_once_and_shows_models_that_differ_by_slice(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    first = CliRunner().invoke(cli, ["demo", str(folder)])
    assert first.exit_code == 0, first.output
    assert "sample demo · " in first.stdout
    assert f"next: cd {folder}" in first.stdout

    store = Store(folder, create=False)
    board = store.leaderboard("demo")
    assert len(board) >= 2
    for row in board:
        assert row.mean is not None
        assert CHANCE + 0.10 < row.mean < 0.90, row

    order = [row.model for row in board]
    slices = [{"sections": section} for section in "ABCDEFGH"]
    slices += [{"years": year} for (year,) in store.sql("SELECT DISTINCT year FROM tuples")]
    reversals = [
        (pair.model, pair.other, part)
        for part in slices
        for pair in store.matrix("demo", correction="holm", **part)
        if pair.beats and order.index(pair.model) > order.index(pair.other)
    ]
    assert reversals

    second = CliRunner().invoke(cli, ["demo", str(folder)])
    assert second.exit_code == 0
    assert second.stdout == first.stdout
    assert "encoded" not in second.stderr


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ada", encoding="utf-8")
    refused = CliRunner().invoke(cli, ["demo", str(tmp_path)])
    assert refused.exit_code == 1
    assert "something else than the demo" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
