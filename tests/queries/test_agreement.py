"""Agreement of models: equal to scipy on the raw values of their common tuples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from patcache.queries import tuple_values
from patcache.queries.agreement import agreement
from patcache.queries.question import Question
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, Tuples, Value, fill
from tests.queries.test_comparison import SHORT, drawn, raw


@pytest.fixture(scope="module")
def tuples() -> Tuples:
    return drawn([STUDY, SHORT], undefined=0.1)


@pytest.fixture(scope="module")
def scored(tuples: Tuples, tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    return fill(tmp_path_factory.mktemp("agreement") / "store", tuples)


@pytest.mark.parametrize("indicator", ["footrule", "concordance"])
@pytest.mark.parametrize("is_common", [False, True])
def test_correlations_are_scipys_on_the_raw_values(
    scored: StoreFolder, tuples: Tuples, indicator: str, is_common: bool
) -> None:
    question = Question(indicator=indicator, is_common=is_common)  # type: ignore[arg-type]
    values = {model: raw(tuples, model, indicator) for model in tuples.values}
    everyone = ~np.isnan(np.stack(list(values.values()))).any(axis=0)
    listing = agreement(scored, question)
    assert len(listing) == 6
    for row in listing:
        x, y = values[row.model], values[row.other]
        common = everyone if is_common else ~np.isnan(x) & ~np.isnan(y)
        x, y = x[common], y[common]
        assert (row.n, row.outcome) == (len(x), "compared")
        assert row.spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert row.pearson == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
        assert row.mean_difference == pytest.approx(np.abs(x - y).mean(), abs=1e-9)
        difference, section = np.abs(x - y), np.array(tuples.sections)[common]
        means = {s: difference[section == s].mean() for s in "ABC"}
        assert row.section == max(means, key=lambda s: means[s])
        assert row.section_difference == pytest.approx(max(means.values()), abs=1e-9)
        assert row.section_n == np.count_nonzero(section == row.section)
        years = np.array(tuples.years)[common]
        of_years = {int(year): difference[years == year].mean() for year in np.unique(years)}
        assert row.year == max(of_years, key=lambda year: of_years[year])
        assert row.year_difference == pytest.approx(max(of_years.values()), abs=1e-9)


def test_a_slice_is_what_its_tuples_alone_give(scored: StoreFolder, tuples: Tuples) -> None:
    question = Question(years=(2010, 2012), sections=("B",), models=("strong", "weak"))
    (row,) = agreement(scored, question)
    inside = np.isin(tuples.years, [2010, 2012]) & (np.array(tuples.sections) == "B")
    x, y = raw(tuples, "strong")[inside], raw(tuples, "weak")[inside]
    common = ~np.isnan(x) & ~np.isnan(y)
    wanted = stats.spearmanr(x[common], y[common]).statistic
    assert row.spearman == pytest.approx(wanted, abs=1e-12)


def test_pieces_give_what_the_whole_gives(
    scored: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = agreement(scored)
    monkeypatch.setattr(tuple_values, "WINDOW_TUPLES", 50)
    for one, other in zip(whole, agreement(scored), strict=True):
        assert (one.n, one.spearman, one.pearson) == (other.n, other.spearman, other.pearson)
        assert one.mean_difference == pytest.approx(other.mean_difference, rel=1e-12)


def test_constant_models_and_few_tuples_are_words(tmp_path: Path) -> None:
    n = 19  # too few for any section or year to be named
    values: dict[str, list[Value | None]] = {
        "varying": [(120 * (i % 4), 15 - i % 4) for i in range(n)],
        "flat": [(700, 0)] * n,
        "rare": [(120 * i, 15 - i) if i < 2 else None for i in range(n)],
    }
    store = fill(tmp_path / "s", Tuples([STUDY] * n, [2020] * n, ["A"] * n, values))
    listing = agreement(store)
    rows = {frozenset((row.model, row.other)): row for row in listing}
    flat = rows[frozenset(("varying", "flat"))]
    assert (flat.outcome, flat.spearman, flat.pearson) == ("constant: flat", None, None)
    assert flat.mean_difference is not None
    assert (flat.section, flat.year) == (None, None)
    assert rows[frozenset(("varying", "rare"))].outcome == "too few"
    assert "no correlation with a model that never varies: constant: flat" in listing.notes
    alone = agreement(store, Question(models=("flat",)))
    assert (len(alone), alone.notes) == (0, ("one model: no pair to compare",))
