"""Normality of each model of a slice, in words where there are no numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from scipy.stats import skew

from patcache import Store
from patcache.cli import cli
from patcache.queries.normality import normality_of_models
from patcache.queries.question import Question
from tests.queries.fill import STUDY, Tuples, Value, fill


def test_models_that_vary_stand_still_or_are_undefined(tmp_path: Path) -> None:
    n = 12
    store = fill(
        tmp_path / "store",
        Tuples(
            [STUDY] * n,
            [2019] * 10 + [2020] * 2,
            ["A"] * n,
            {
                "varying": [(60 * (i % 5), 15 - 2 * (i % 5)) for i in range(n)],
                "constant": [(700, 0)] * n,
                "undefined": [None] * n,
            },
        ),
    )
    rows = {row.model: row for row in normality_of_models(store)}
    assert {name: row.outcome for name, row in rows.items()} == {
        "varying": "tested",
        "constant": "constant",
        "undefined": "too few",
    }
    assert rows["varying"].n == n
    assert rows["constant"].w is None
    assert rows["constant"].skewness is None
    rcis = [1 - (i % 5) / 18 for i in range(n)]
    assert rows["varying"].skewness == pytest.approx(skew(rcis), abs=1e-12)
    assert not rows["varying"].is_approximate
    few = normality_of_models(store, Question(years=(2020,), models=("varying",)))
    assert [(row.outcome, row.n) for row in few] == [("too few", 2)]

    shown = CliRunner().invoke(cli, ["normality", "--store", str(store.path), "--format", "json"])
    assert shown.exit_code == 0, shown.output
    assert [row["outcome"] for row in json.loads(shown.stdout)] == [
        "tested",
        "constant",
        "too few",
    ]
    assert "nan" not in CliRunner().invoke(cli, ["normality", "--store", str(store.path)]).stdout


def test_python_asks_as_the_command_does(tmp_path: Path) -> None:
    values: list[Value | None] = [(60 * rank, 0) for rank in (0, 2, 4, 4, 6, 8)]
    fill(tmp_path, Tuples([STUDY] * 6, [2020] * 6, ["A"] * 6, {"one": values}))
    (row,) = Store(tmp_path).normality("main")
    # RCI 1 - rank / 18 of 9, 8, 7, 7, 6, 5 ninths: symmetric about 7.
    assert (row.model, row.n, row.outcome) == ("one", 6, "tested")
    assert row.skewness == pytest.approx(0, abs=1e-12)
