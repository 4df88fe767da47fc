"""Real patents, real models: every slice's tests by counts are scipy's on the raw distances."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from patcache.api import Store
from patcache.kernels.outcomes import MIN_DEFINED, Outcome
from patcache.queries.comparison import compare
from patcache.queries.counts import By
from patcache.queries.question import Question
from tests.conftest import shared_path

if TYPE_CHECKING:
    from patcache.records import DoubleArray

MODELS = ("bm25", "random", "tfidf")
PARTS: tuple[By, ...] = ("all", "year", "section", "cell")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A sample of the real patents, scored for three models that need no weights."""
    store = Store(tmp_path_factory.mktemp("real") / "study")
    store.import_files(shared_path("data/patents_en.parquet"))
    store.sample("main", targets=12, seed=1)
    for model in MODELS:
        store.add(model)
    return store


@pytest.fixture(scope="module")
def raw(study: Store) -> dict[str, Any]:
    """Year, section and each model's agreement of every tuple, -distance, NaN where undefined."""
    rows = study.sql("SELECT year, section, model, -footrule FROM rci ORDER BY model, tuple_id")
    year, section, model, value = (np.array(c) for c in zip(*rows, strict=True))
    one = model == MODELS[0]
    values = {m: value[model == m].astype(float) for m in MODELS}
    return {"year": year[one], "section": section[one], **values}


def inside(raw: dict[str, Any], part: Any) -> Any:
    here = np.ones(len(raw["year"]), dtype=bool)
    if part.year is not None:
        here &= raw["year"] == part.year
    if part.section is not None:
        here &= raw["section"] == part.section
    return here


def wanted_pvalue(test: str, a: DoubleArray, b: DoubleArray) -> float:
    from scipy.stats import mannwhitneyu, wilcoxon

    if test == "u":
        a, b = a[~np.isnan(a)], b[~np.isnan(b)]
        return float(mannwhitneyu(a, b, alternative="greater", method="asymptotic").pvalue)
    d = (a - b)[~np.isnan(a - b)]
    found = wilcoxon(d, alternative="greater", zero_method="pratt", method="asymptotic")
    return float(found.pvalue)


@pytest.mark.parametrize("test", ["u", "signed-rank"])
def test_every_slice_of_real_patents_equals_scipy(
    study: Store, raw: dict[str, Any], test: Any
) -> None:
    n_tested = n_few = 0
    for by in PARTS:
        found = compare(study, Question(test=test), by)
        for part, where in enumerate(found.counts.parts):
            here = inside(raw, where)
            for i, j in permutations(range(len(MODELS)), 2):
                a, b = (raw[found.labels[k]][here] for k in (i, j))
                pvalue, outcome = found.tests.pvalue[part, i, j], found.tests.outcome[part, i, j]
                if (
                    min(np.count_nonzero(~np.isnan(a)), np.count_nonzero(~np.isnan(b)))
                    < MIN_DEFINED
                ):
                    assert outcome == Outcome.TOO_FEW
                    n_few += 1
                elif outcome == Outcome.NO_DIFFERENCE:
                    assert pvalue == 1.0
                    assert np.array_equal(a, b)
                else:
                    wanted = wanted_pvalue(test, a, b)
                    assert pvalue == pytest.approx(wanted, rel=1e-12, abs=1e-12), (where, i, j)
                    n_tested += 1
    assert n_tested > 600
    assert n_few > 50  # the real patents have small cells, and they are told from the others


def test_means_and_their_intervals_are_those_of_the_tuples(
    study: Store, raw: dict[str, Any]
) -> None:
    largest = 18 * 60
    for row in study.leaderboard():
        rci = 1 + raw[row.model] / largest
        cells = [
            rci[(raw["year"] == y) & (raw["section"] == s)]
            for y, s in sorted(set(zip(raw["year"].tolist(), raw["section"].tolist(), strict=True)))
        ]
        n = sum(len(cell) for cell in cells)
        single = np.array([cell[0] for cell in cells if len(cell) == 1])
        strata = [cell for cell in cells if len(cell) > 1] + [single] * (len(single) > 1)
        error = np.sqrt(sum((len(s) / n) ** 2 * s.var(ddof=1) / len(s) for s in strata))
        assert row.mean == pytest.approx(rci.mean(), abs=1e-12)
        assert row.low is not None
        assert row.high is not None
        assert (row.high - row.low) / 2 / 1.96 == pytest.approx(error, rel=0.01)
