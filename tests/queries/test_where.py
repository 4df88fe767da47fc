"""Where a model wins and loses: every slice and rival against scipy on the raw distances."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.errors import NotThere, PatcacheError
from patcache.queries.question import Question
from patcache.queries.where import WhereRow, where
from patcache.report.grids.where import grid_of_where
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, Tuples, Value, fill
from tests.queries.test_comparison import SHORT, STRENGTH, drawn, raw

FDR = Question(correction="bh")


@pytest.fixture(scope="module")
def tuples() -> Tuples:
    return drawn([STUDY, SHORT], undefined=0.05)


@pytest.fixture(scope="module")
def scored(tuples: Tuples, tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    return fill(tmp_path_factory.mktemp("where") / "store", tuples)


def inside(tuples: Tuples, row: WhereRow) -> Any:
    """Which tuples are in the slice of a row."""
    years, sections = np.array(tuples.years), np.array(tuples.sections)
    return (row.year is None or years == row.year) & (
        row.section is None or sections == row.section
    )


def test_every_section_and_year_is_compared_with_every_rival(scored: StoreFolder) -> None:
    rows = where(scored, "weak")
    assert len(rows) == (3 + 3) * 3
    assert {row.other for row in rows} == set(STRENGTH) - {"weak"}
    slices = {(row.year, row.section) for row in rows}
    assert slices == {(None, s) for s in "ABC"} | {(y, None) for y in (2010, 2011, 2012)}
    assert len(where(scored, "weak", by="year")) == 9
    assert len(where(scored, "weak", by="cell")) == 27


@pytest.mark.parametrize("test", ["u", "signed-rank"])
def test_p_superiority_and_difference_equal_scipy_on_the_raw_distances(
    scored: StoreFolder, tuples: Tuples, test: Any
) -> None:
    from scipy.stats import mannwhitneyu, wilcoxon

    for row in where(scored, "weak", Question(test=test, correction="bh")):
        x, y = (raw(tuples, model)[inside(tuples, row)] for model in ("weak", row.other))
        both = np.round((x - y)[~np.isnan(x - y)], 10)
        x, y = x[~np.isnan(x)], y[~np.isnan(y)]
        u = mannwhitneyu(x, y, alternative="two-sided", method="asymptotic")
        wanted = u.pvalue
        if test == "signed-rank":
            wanted = wilcoxon(both, zero_method="pratt", method="asymptotic").pvalue
        assert row.p == pytest.approx(wanted, rel=1e-11, abs=1e-12)
        assert row.superiority == pytest.approx(u.statistic / len(x) / len(y), abs=1e-12)
        assert row.n == len(both)
        assert row.difference == pytest.approx(both.mean(), abs=1e-9)
        assert row.low is not None
        assert row.high is not None
        assert row.low <= both.mean() <= row.high


@pytest.mark.parametrize("correction", ["bh", "by"])
def test_q_is_the_false_discovery_rate_over_all_rows(scored: StoreFolder, correction: Any) -> None:
    from scipy.stats import false_discovery_control

    rows = where(scored, "middling", Question(correction=correction))
    wanted = false_discovery_control([row.p for row in rows], method=correction)
    assert [row.q for row in rows] == pytest.approx(wanted.tolist(), rel=1e-12)
    for row in rows:
        assert row.q is not None
        assert row.difference is not None
        decided = ("wins" if row.difference > 0 else "loses") if row.q < 0.05 else "not separable"
        assert row.verdict == decided
    name = {"bh": "Hochberg", "by": "Yekutieli"}[correction]
    assert f"(two-sided), Benjamini-{name} over 18 tests: 6 slices x 3 rivals" in rows.caption[1]


def test_wins_come_first_then_losses_each_by_size(scored: StoreFolder) -> None:
    rows = where(scored, "middling")
    verdicts = [row.verdict for row in rows]
    assert verdicts == sorted(verdicts, key=("wins", "loses", "not separable").index)
    assert {"wins", "loses"} < set(verdicts)
    for verdict in set(verdicts):
        sizes = [abs(row.difference or 0) for row in rows if row.verdict == verdict]
        assert sizes == sorted(sizes, reverse=True)
    counted = [verdicts.count(v) for v in ("wins", "loses", "not separable")]
    wins, loses, rest = counted
    assert rows.notes[0] == f"wins {wins} · loses {loses} · not separable {rest} · too few 0"


def test_top_keeps_rows_of_each_verdict_and_the_family(scored: StoreFolder) -> None:
    every, few = where(scored, "middling"), where(scored, "middling", top=2)
    for verdict in ("wins", "loses", "not separable"):
        kept = [row for row in few if row.verdict == verdict]
        assert kept == [row for row in every if row.verdict == verdict][:2]
    assert few.caption == every.caption
    assert "shown: at most 2 of each that was tested" in few.notes[0]


def test_one_rival_is_a_family_of_its_own(scored: StoreFolder) -> None:
    rows = where(scored, "weak", against="random", by="section")
    alone = where(scored, "weak", Question(correction="bh", models=("random",)), by="section")
    assert rows.rows == alone.rows
    assert {row.other for row in rows} == {"random"}
    assert "over 3 tests: 3 slices x 1 rival" in rows.caption[1]
    assert not any("positive dependence" in note for note in rows.notes)
    common = Question(correction="bh", is_common=True)
    n_common = {row.section: row.n for row in where(scored, "weak", common, by="section")}
    few = where(scored, "weak", common, against="random", by="section")
    assert {row.section: row.n for row in few} == n_common  # common to all, not to these two


def test_mirrored_fields_are_a_win_and_a_loss_worked_by_hand(tmp_path: Path) -> None:
    # In A all four of a are right and b is 2 ranks off; in B the other way round.
    right: list[Value | None] = [(0, 15)] * 4
    off: list[Value | None] = [(120, 13)] * 4
    values = {"a": [*right, *off], "b": [*off, *right]}
    tuples = Tuples([STUDY] * 8, [2020] * 8, ["A"] * 4 + ["B"] * 4, values)
    rows = {row.section: row for row in where(fill(tmp_path / "s", tuples), "a", FDR)}
    # U = 16 of 16, ties (64 - 4) * 2: variance 16/12 (9 - 120 / 56) = 9.142857,
    # z = (16 - 8 - 0.5) / 3.023716 = 2.480392, two-sided p = 0.013124.
    # Three tests, the year's p is 1: q = 0.013124 * 3 / 2.
    for section, verdict, sign in (("A", "wins", 1), ("B", "loses", -1)):
        row = rows[section]
        assert row.p == pytest.approx(0.013124, abs=1e-6)
        assert row.q == pytest.approx(0.013124 * 3 / 2, abs=2e-6)
        assert (row.verdict, row.n) == (verdict, 4)
        assert row.difference == pytest.approx(sign * 2 / 18)
        assert (row.low, row.high) == pytest.approx((sign * 2 / 18,) * 2)
        assert row.superiority == (1.0 if sign > 0 else 0.0)
    assert (rows[None].verdict, rows[None].difference) == ("not separable", 0.0)


def test_equal_models_are_not_separable_and_stay_in_the_family(tmp_path: Path) -> None:
    equal: list[Value | None] = [(600, 5)] * 100
    tuples = Tuples([STUDY] * 100, [2020] * 100, ["A"] * 100, {"a": equal, "b": equal})
    rows = where(fill(tmp_path / "s", tuples), "a")
    assert [(row.p, row.q, row.verdict, row.superiority) for row in rows] == [
        (1.0, 1.0, "not separable", 0.5)
    ] * 2
    assert "over 2 tests" in rows.caption[1]


def test_slices_of_few_tuples_are_outside_the_family_and_last(tmp_path: Path) -> None:
    sections = ["A"] * 20 + ["B"] * 2 + ["C"]
    values: dict[str, list[Value | None]] = {
        "a": [*((0, 15) for _ in range(20)), (0, 15), (0, 15), None],
        "b": [*((120 * (i % 4), 9) for i in range(20)), (0, 15), (120, 13), (0, 15)],
    }
    tuples = Tuples([STUDY] * 23, [2020] * 23, sections, values)
    rows = where(fill(tmp_path / "s", tuples), "a", by="section")
    assert [(row.section, row.verdict) for row in rows] == [
        ("A", "wins"),
        ("B", "too few"),
        ("C", "too few"),
    ]
    assert [(row.p, row.q) for row in rows[1:]] == [(None, None)] * 2
    assert (rows[2].n, rows[2].difference, rows[2].superiority) == (0, None, None)
    assert "over 1 test: 3 slices x 1 rival, 2 with too few tuples left out" in rows.caption[1]
    assert "nan" not in str(grid_of_where(rows)).lower()


def test_the_two_tests_disagreeing_is_counted(tmp_path: Path) -> None:
    # b is a with 2 ranks more in half the tuples: U is nearly blind to it, signed-rank is not.
    rng = np.random.default_rng(1)
    a = rng.integers(0, 8, size=80) * 120
    b = a + 120 * rng.integers(0, 2, size=80)
    values: dict[str, list[Value | None]] = {
        "a": [(int(x), 0) for x in a],
        "b": [(int(x), 0) for x in b],
    }
    store = fill(tmp_path / "s", Tuples([STUDY] * 80, [2020] * 80, ["A"] * 80, values))
    notes = where(store, "a").notes
    words = "U-test and signed-rank test disagree on 2 of 2 rows: not separable -> wins 2"
    assert words in notes
    assert {row.verdict for row in where(store, "a", Question(test="signed-rank"))} == {"wins"}


def test_what_cannot_be_compared_is_refused(scored: StoreFolder, tmp_path: Path) -> None:
    with pytest.raises(NotThere, match="no scores of best for sample main"):
        where(scored, "best")
    with pytest.raises(NotThere, match="no scores of best"):
        where(scored, "weak", against="best")
    with pytest.raises(PatcacheError, match="weak cannot be compared with itself"):
        where(scored, "weak", against="weak")
    with pytest.raises(PatcacheError, match="weak has no rival here"):
        where(scored, "weak", Question(models=("weak",)))
