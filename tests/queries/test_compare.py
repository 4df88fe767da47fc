"""Two sides against each other: scipy on the raw distances, and what a reader must be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.errors import NotThere, PatcacheError
from patcache.queries.compare import CompareRow, compare
from patcache.queries.question import Question
from patcache.report.grids.compare import grid_of_compare
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, Tuples, Value, fill
from tests.queries.test_comparison import SHORT, STRENGTH, drawn, raw


@pytest.fixture(scope="module")
def tuples() -> Tuples:
    return drawn([STUDY, SHORT], undefined=0.05)


@pytest.fixture(scope="module")
def scored(tuples: Tuples, tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    return fill(tmp_path_factory.mktemp("compare") / "store", tuples)


def by_model(rows: Any) -> dict[str, CompareRow]:
    return {row.model: row for row in rows}


def plain(values: dict[str, list[Value | None]], years: list[int] | None = None) -> Tuples:
    """Tuples of one section."""
    n = len(next(iter(values.values())))
    return Tuples([STUDY] * n, years or [2020] * n, ["A"] * n, values)


def test_a_split_equals_scipy_on_the_raw_distances(scored: StoreFolder, tuples: Tuples) -> None:
    from scipy.stats import mannwhitneyu

    later = np.array(tuples.years) >= 2012
    rows = by_model(compare(scored, split=2012))
    pvalues = {}
    for model in STRENGTH:
        x, y = raw(tuples, model)[later], raw(tuples, model)[~later]
        x, y = x[~np.isnan(x)], y[~np.isnan(y)]
        wanted, row = mannwhitneyu(x, y, method="asymptotic"), rows[model]
        pvalues[model] = wanted.pvalue
        assert (row.first, row.second) == ("before 2012", "from 2012")
        assert (row.n_first, row.n_second) == (len(y), len(x))
        assert row.p == pytest.approx(wanted.pvalue, rel=1e-11)
        assert row.statistic == wanted.statistic
        assert row.superiority == pytest.approx(wanted.statistic / len(x) / len(y), abs=1e-12)
        assert row.mean_first == pytest.approx(y.mean(), abs=1e-9)
        assert row.difference == pytest.approx(x.mean() - y.mean(), abs=1e-9)
        error = np.sqrt(x.var(ddof=1) / len(x) + y.var(ddof=1) / len(y))
        assert row.low == pytest.approx(row.difference - 1.96 * error, abs=0.15 * error)
        assert row.high == pytest.approx(row.difference + 1.96 * error, abs=0.15 * error)
    order = sorted(pvalues, key=lambda model: pvalues[model])
    largest = 0.0
    for step, model in enumerate(order):  # Holm, worked anew
        largest = max(largest, min(1.0, (len(order) - step) * pvalues[model]))
        assert rows[model].p_adjusted == pytest.approx(largest, rel=1e-11)


def test_means_are_those_of_the_two_slices(scored: StoreFolder) -> None:
    from patcache.queries.leaderboard import leaderboard

    rows = by_model(compare(scored, Question(sections=("B",)), split=2011))
    for row in leaderboard(scored, Question(sections=("B",), years=(2010,))):
        found = rows[row.model]
        assert (found.mean_first, found.low_first, found.high_first) == (
            row.mean,
            row.low,
            row.high,
        )
    boards = [
        [row.model for row in leaderboard(scored, Question(sections=("B",), years=years))]
        for years in ((2010,), (2011, 2012))
    ]
    for model, one in rows.items():
        assert one.rank_first == boards[0].index(model) + 1
        assert one.rank_second == boards[1].index(model) + 1


def test_a_model_that_gets_worse_is_lower_worked_by_hand(tmp_path: Path) -> None:
    # a: four right before, four 2 ranks off after; b the other way round. U = 0 of 16, and as in
    # the test of `where` p = 0.013124 each; Holm over two: 0.026248.
    right: list[Value | None] = [(0, 15)] * 4
    off: list[Value | None] = [(120, 13)] * 4
    values = {"a": [*right, *off], "b": [*off, *right]}
    store = fill(tmp_path / "s", plain(values, [2017] * 4 + [2019] * 4))
    listing = compare(store, split=2018)
    rows = by_model(listing)
    for model, verdict, sign in (("a", "lower", -1), ("b", "higher", 1)):
        row = rows[model]
        assert row.verdict == verdict
        assert row.p == pytest.approx(0.013124, abs=1e-6)
        assert row.p_adjusted == pytest.approx(0.026248, abs=2e-6)
        assert row.difference == pytest.approx(sign * 2 / 18)
        assert row.superiority == (1 + sign) / 2
    assert (rows["a"].rank_first, rows["a"].rank_second) == (1, 2)
    assert listing.notes[0] == (
        "ranking: Kendall's tau-b -1.000 between the sides; ranks that change: a 1 -> 2; b 2 -> 1"
    )
    assert listing.caption[2] == "U-test (two-sided, independent samples), Holm over 2 tests"


def test_the_question_s_own_test_and_direction_are_not_asked(scored: StoreFolder) -> None:
    odd = Question(test="signed-rank", alternative="greater")
    assert compare(scored, odd, split=2012) == compare(scored, split=2012)


def test_two_stores_are_matched_by_label(tmp_path: Path) -> None:
    values: dict[str, list[Value | None]] = {
        "a": [(120 * (i % 3), 15) for i in range(20)],
        "b": [(120 * (i % 5), 12) for i in range(20)],
        "c": [(120 * (i % 7), 9) for i in range(20)],
    }
    one = fill(tmp_path / "one", plain(values))
    two = fill(tmp_path / "two", plain({"b": values["a"], "a": values["b"], "d": values["c"]}))
    listing = compare(one, with_store=two)
    assert [row.model for row in listing] == ["a", "b"]
    assert (listing[0].first, listing[0].second) == ("main (one)", "main (two)")
    assert "only in main (one): c" in listing.notes
    assert "only in main (two): d" in listing.notes
    assert not any("two specs" in note for note in listing.notes)
    with two.write() as cursor:
        cursor.execute("UPDATE data.specs SET label = 'x' WHERE label = 'b'")
        cursor.execute("UPDATE data.specs SET label = 'b' WHERE label = 'd'")
    relabelled = compare(one, with_store=two)
    words = "one label, two specs: b is not the same model on both"
    assert words in relabelled.notes
    spec = next(row for row in relabelled if row.model == "b")
    assert (spec.spec_first, spec.spec_second) == ("b", "d")
    with two.write() as cursor:
        cursor.execute("UPDATE data.specs SET label = label || '!'")
    with pytest.raises(
        NotThere, match="no model is on both sides\n.*a, b, c; .*\nmodels are matched"
    ):
        compare(one, with_store=two)


def test_other_shapes_have_other_levels_of_chance_and_it_is_said(tmp_path: Path) -> None:
    stores = [
        fill(tmp_path / name, drawn([shape], n=90))
        for name, shape in (("six", STUDY), ("t", SHORT))
    ]
    listing = compare(stores[0], with_store=stores[1])
    row = by_model(listing)["random"]
    # Three levels: costs over all ranks (1 + 2/3 + 1) and 4 at most: chance 1 - 8/3/4 = 1/3.
    assert (row.chance_first, row.chance_second) == pytest.approx((1 - 35 / 3 / 18, 1 / 3))
    assert row.difference is not None
    assert row.beyond_chance == pytest.approx(row.difference + (1 - 35 / 3 / 18) - 1 / 3)
    assert any(
        note.startswith("levels of chance differ (0.352 and 0.333)") for note in listing.notes
    )
    assert "beyond chance" in grid_of_compare(listing).headings
    assert all(one.beyond_chance is None for one in compare(stores[0], split=2012))


def test_targets_on_both_sides_are_counted(tmp_path: Path) -> None:
    values: dict[str, list[Value | None]] = {"a": [(0, 15), (120, 13)] * 5}
    store = fill(tmp_path / "s", plain(values))
    fill(tmp_path / "s", plain(values), name="second", sample_id=2)
    with store.write() as cursor:
        cursor.execute(
            "INSERT INTO data.patents SELECT i, 'P' || i, 2020, 'year', NULL, 'year', 'A', 'A01', "
            "'A01B', 'A01B 1', 'A01B 1/00', ['A01B 1/00'], 't', 'a', NULL, NULL, NULL, 'k'::BLOB, "
            "1 FROM range(20) r(i)"
        )
        cursor.execute("UPDATE data.tuples SET target = tuple_id + (sample_id - 1) * 7")
    listing = compare(store, Question(sample="main"), with_sample="second")
    assert any(
        note.startswith("3 of the 10 and 10 targets are the same patents") for note in listing.notes
    )
    assert (listing[0].first, listing[0].second) == ("main", "second")
    assert (listing[0].difference, listing[0].superiority) == (0.0, 0.5)


def test_constant_values_on_both_sides_are_no_difference(tmp_path: Path) -> None:
    values: dict[str, list[Value | None]] = {"a": [(600, 5)] * 40, "b": [(600, 5)] * 40}
    store = fill(tmp_path / "s", plain(values, [2017] * 20 + [2018] * 20))
    listing = compare(store, split=2018)
    assert [(row.p, row.verdict, row.superiority) for row in listing] == [
        (1.0, "not separable", 0.5)
    ] * 2
    assert (listing[0].low, listing[0].high) == pytest.approx((0, 0), abs=1e-12)
    assert [(row.rank_first, row.rank_second) for row in listing] == [(1, 1)] * 2
    assert listing.notes[0] == "ranking: fewer than two models whose means differ on both sides"
    assert "+0.000 to +0.000" in grid_of_compare(listing).cells[0]


def test_a_side_of_few_or_undefined_tuples_is_too_few(tmp_path: Path) -> None:
    values: dict[str, list[Value | None]] = {
        "a": [*((120 * (i % 3), 9) for i in range(20)), (0, 15), (0, 15), (0, 15)],
        "b": [*((120 * (i % 4), 9) for i in range(20)), (0, 15), (0, 15), None],
        "c": [*((120 * (i % 5), 9) for i in range(20)), None, None, None],
    }
    store = fill(tmp_path / "s", plain(values, [2017] * 20 + [2018] * 3))
    listing = compare(store, split=2018)
    rows = by_model(listing)
    assert {model: row.verdict for model, row in rows.items()} == {
        "a": "not separable",
        "b": "too few",
        "c": "too few",
    }
    assert (rows["b"].p, rows["b"].n_second, rows["b"].mean_second) == (None, 2, 1.0)
    assert (rows["c"].mean_second, rows["c"].difference, rows["c"].rank_second) == (None,) * 3
    assert rows["a"].p == rows["a"].p_adjusted  # a family of one
    assert "Holm over 1 test" in listing.caption[2]
    assert "nan" not in str(grid_of_compare(listing)).lower()


def test_what_cannot_be_compared_is_refused(scored: StoreFolder, tmp_path: Path) -> None:
    with pytest.raises(PatcacheError, match="compare with what"):
        compare(scored)
    with pytest.raises(PatcacheError, match="two questions"):
        compare(scored, split=2012, with_sample="main")
    with pytest.raises(PatcacheError, match="both sides are sample main"):
        compare(scored, with_sample="main")
    with pytest.raises(NotThere, match="no sample 'other'"):
        compare(scored, with_sample="other")
    with pytest.raises(NotThere, match="no tuples before 2010\nits years here: 2010-2012"):
        compare(scored, split=2010)
    with pytest.raises(NotThere, match="no tuples from 2013 on"):
        compare(scored, split=2013)
    two = fill(tmp_path / "two", plain({"weak": [(0, 15)] * 4}))
    fill(tmp_path / "two", plain({"weak": [(0, 15)] * 4}), name="more", sample_id=2)
    with pytest.raises(PatcacheError, match="which sample of .*two.*\n.*main, more"):
        compare(scored, with_store=two)


def test_a_verdict_by_rank_against_the_means_is_said(tmp_path: Path) -> None:
    # From 2012 on two thirds are a little better and one third much worse: U says higher (200 of
    # 300 pairs are), while the mean falls by 20 / 3 of 18.
    values: dict[str, list[Value | None]] = {
        "swung": [(120, 0)] * 30 + [(60, 0)] * 200 + [(1080, 0)] * 100,
        "later": [None] * 30 + [(0, 0)] * 300,
        "poor": [(1080, 0)] * 330,
    }
    years = [2010] * 30 + [2012] * 300
    store = fill(tmp_path / "store", Tuples([STUDY] * 330, years, ["A"] * 330, values))
    listing = compare(store, split=2012)
    assert [row.model for row in listing] == ["swung", "poor", "later"]  # a mean on one side: last
    swung = listing[0]
    assert (swung.verdict, swung.high is not None and swung.high < 0) == ("higher", True)
    assert any("is not on that side of 0: swung" in note for note in listing.notes)
    assert not any("too narrow" in note for note in listing.notes)
    few = compare(store, Question(models=("poor",), years=(2010, 2012)), split=2012)
    assert not any("is not on that side" in note for note in few.notes)
