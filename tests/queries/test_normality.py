"""Normality of each model of a slice, in words where there are no numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from scipy.stats import skew

from patcache.cli import cli
from patcache.queries.normality import normality_of_models
from patcache.queries.question import Question
from tests.queries.fill import STUDY, Tuples, fill


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
