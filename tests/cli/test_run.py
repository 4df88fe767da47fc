"""`patcache run`: what is missing is done, once; a second run does nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patcache.cli import cli
from patcache.queries.sql import run_sql
from patcache.store import StoreFolder
from tests.corpus import write_patents

STUDY = """
corpus = "patents*.parquet"
store = "mine"

[sample.main]
targets = 9
seed = 1

[[model]]
name = "tfidf"
tokenizer = "regex"

[[model]]
name = "random"
"""


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["run", str(folder / "study.toml"), *arguments])


@pytest.fixture
def study(tmp_path: Path) -> Path:
    write_patents(tmp_path / "patents.parquet")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted((folder / "mine/vectors").rglob("*.*"))}


def rci(folder: Path) -> list[tuple[object, ...]]:
    store = StoreFolder(folder / "mine", create=False)
    return list(run_sql(store, "SELECT model, tuple_id, footrule FROM rci ORDER BY ALL"))


def test_one_command_does_everything_and_a_second_nothing(study: Path) -> None:
    first = run(study)
    assert first.exit_code == 0, first.output
    assert "108 added" in first.stderr
    assert "18 tuples in 2 of 4 cells" in first.stderr
    assert "main · tfidf: 18 tuples scored" in first.stderr
    assert first.stdout.splitlines()[0].startswith("sample main · 18 tuples")
    models = [line.split()[1] for line in first.stdout.splitlines()[2:4]]
    assert models == ["tfidf", "random"]
    before, scores = files(study), rci(study)
    second = run(study)
    assert second.exit_code == 0
    assert second.stdout == ""
    assert second.stderr.startswith("everything is up to date (2 models, 1 sample) · ")
    assert files(study) == before
    assert rci(study) == scores


def test_a_new_model_touches_nothing_of_the_old(study: Path) -> None:
    run(study)
    before, scores = files(study), rci(study)
    with (study / "study.toml").open("a", encoding="utf-8") as stream:
        stream.write('\n[[model]]\nname = "random"\nlabel = "another"\nseed = 2\n')
    added = run(study)
    assert added.exit_code == 0, added.output
    assert "another  " in added.stderr
    assert "up to date" not in added.stderr
    after = files(study)
    assert {path: after[path] for path in before} == before
    assert [row for row in rci(study) if row[0] != "another"] == scores
    assert len(rci(study)) == len(scores) * 3 // 2


def test_a_new_year_adds_its_cells_and_no_other_tuple_changes(study: Path) -> None:
    run(study)
    store = StoreFolder(study / "mine")
    sql = "SELECT tuple_id, target, candidate FROM tuples WHERE year < 2021 ORDER BY ALL"
    before = list(run_sql(store, sql))
    write_patents(study / "patents-2021.parquet", years=[2021])
    more = run(study)
    assert more.exit_code == 0, more.output
    assert "9 new tuples in 1 of 2 new cells" in more.stderr
    assert list(run_sql(store, sql)) == before
    assert list(run_sql(store, "SELECT DISTINCT year FROM tuples ORDER BY 1")) == [
        (2019,),
        (2020,),
        (2021,),
    ]
    assert "up to date" in run(study).stderr


def test_a_sample_drawn_in_another_way_is_refused(study: Path) -> None:
    run(study)
    text = STUDY.replace("targets = 9", "targets = 5")
    (study / "study.toml").write_text(text, encoding="utf-8")
    refused = run(study)
    assert refused.exit_code == 2
    assert "sample main was drawn in another way" in refused.stderr
    assert "targets 9, not 5" in refused.stderr


def test_where_the_store_is(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = STUDY.replace('store = "mine"\n', "")
    (study / "study.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(study)
    monkeypatch.setenv("PATCACHE_STORE", str(study / "env"))
    run(study)
    monkeypatch.delenv("PATCACHE_STORE")
    run(study)
    run(study, "--store", str(study / "named"))
    names = sorted(path.name for path in study.iterdir())
    assert names == ["env", "named", "patents.parquet", "study", "study.toml"]
    monkeypatch.chdir(study / "env")
    assert "up to date" in run(study).stderr


def test_refused_rows_are_said_by_the_exit_code(study: Path) -> None:
    (study / "patents-bad.csv").write_text(
        "publication_number,title,ipc,year\nX1,a,A61F  BAD,2019\n", encoding="utf-8"
    )
    text = STUDY.replace('"patents*.parquet"', '["patents.parquet", "patents-bad.csv"]')
    (study / "study.toml").write_text(text, encoding="utf-8")
    assert run(study).exit_code == 5
    assert run(study).exit_code == 0  # nothing new was refused
