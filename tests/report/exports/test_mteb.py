"""Result files in MTEB's shape: its fields and folders, patcache's numbers, and who made them."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from patcache.cli import cli
from patcache.report.exports.names import file_names
from tests.report.small_study import HARD, small_study


def test_each_model_has_a_file_with_the_fields_that_mteb_reads(tmp_path: Path) -> None:
    store = small_study(tmp_path / "store")
    arguments = ["export", "mteb", str(tmp_path / "out"), "--store", str(store.path)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    rows = {row.model: row for row in store.leaderboard()}
    for label, name in zip(rows, file_names(list(rows)), strict=True):
        path = tmp_path / "out" / name / rows[label].spec_id / "PatcacheIPC-main.json"
        result = json.loads(path.read_text(encoding="utf-8"))
        assert result["dataset_revision"] == "digest"
        assert result["task_name"] == "PatcacheIPC-main"
        assert (result["mteb_version"], result["evaluation_time"]) == (None, None)
        assert "MTEB did not make it" in result["made_by"]
        assert result["model"]["label"] == label
        (scores,) = result["scores"]["test"]
        assert scores["hf_subset"] == "default"
        assert scores["languages"] == ["und-Zyyy"]  # the small study names none
        assert scores["main_score"] == scores["rci"] == rows[label].mean
        assert scores["rci_low"] < scores["rci"] < scores["rci_high"]
        years = store.cells(by="year")
        of_2001 = next(row for row in years if (row.year, row.model) == (2001, label))
        assert scores["rci_year_2001"] == of_2001.mean
        assert scores["n_tuples_year_2001"] == of_2001.n
        assert {f"rci_section_{s}" for s in "ABCDEFGH"} <= set(scores)


def test_names_of_files_are_safe_and_never_the_same() -> None:
    labels = ["a/b", "a:b", "A_B", "minilm@cls", "..", "..", "ü", HARD]
    found = file_names(labels)
    assert found == ["a_b", "a_b-2", "A_B-3", "minilm@cls", "_", "_-2", "_-3", "org_b_q_b_x__y_"]
