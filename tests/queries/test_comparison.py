"""Leaderboard, matrix and cells from counts: equal to scipy on the raw distances."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from patcache.errors import NotThere, PatcacheError
from patcache.kernels.corrections import adjust
from patcache.kernels.footrule import score
from patcache.queries.cells import cells
from patcache.queries.leaderboard import leaderboard
from patcache.queries.matrix import PairRow, matrix
from patcache.queries.question import Question
from patcache.records import Alternative, Shape, TestName
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, Tuples, Value, fill

if TYPE_CHECKING:
    from patcache.records import DoubleArray

SHORT = Shape((1, 2, 3))
CENSUS = {STUDY: (60 * 18, 15), SHORT: (6 * 4, 3)}  # largest distance in units, cross pairs
N_TUPLES = 240
STRENGTH = {"strong": 1.5, "middling": 0.7, "weak": 0.65, "random": 0.0}


def drawn(shapes: list[Shape], n: int = N_TUPLES, undefined: float = 0.0) -> Tuples:
    """Tuples whose models follow the gold order with different strength, ties included."""
    rng = np.random.default_rng(5)
    of_tuple = [shapes[i % len(shapes)] for i in range(n)]
    values: dict[str, list[Value | None]] = {}
    for model, strength in STRENGTH.items():
        values[model] = []
        for shape in of_tuple:
            noise = rng.normal(size=shape.n_candidates)
            similarities = np.round(noise + strength * np.arange(shape.n_candidates), 0)
            found = score(similarities[None, :], shape)
            value = (int(found.footrule[0]), int(found.concordance[0]))
            values[model].append(None if rng.random() < undefined else value)
    years = [2010 + i % 3 for i in range(n)]
    sections = ["ABC"[(i // 3) % 3] for i in range(n)]
    return Tuples(of_tuple, years, sections, values)


def raw(tuples: Tuples, model: str, indicator: str = "footrule") -> DoubleArray:
    """A model's RCI or Kendall value in every tuple, NaN where undefined."""
    found = []
    for shape, value in zip(tuples.shapes, tuples.values[model], strict=True):
        largest, n_cross = CENSUS[shape]
        if value is None:
            found.append(np.nan)
        else:
            rci, kendall = (largest - value[0]) / largest, value[1] / n_cross
            found.append(rci if indicator == "footrule" else kendall)
    return np.round(np.array(found), 12)  # equal fractions of two shapes are equal doubles


@pytest.fixture(scope="module")
def tuples() -> Tuples:
    return drawn([STUDY, SHORT], undefined=0.05)


@pytest.fixture(scope="module")
def scored(tuples: Tuples, tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    return fill(tmp_path_factory.mktemp("scored") / "store", tuples)


def by_pair(rows: Any) -> dict[tuple[str, str], PairRow]:
    return {(row.model, row.other): row for row in rows}


@pytest.mark.parametrize("indicator", ["footrule", "concordance"])
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_u_of_every_pair_equals_scipy_on_the_raw_distances(
    scored: StoreFolder, tuples: Tuples, indicator: Any, alternative: Alternative
) -> None:
    from scipy.stats import mannwhitneyu

    question = Question(indicator=indicator, alternative=alternative)
    pairs = by_pair(matrix(scored, question))
    assert len(pairs) == 12
    for (a, b), row in pairs.items():
        x, y = raw(tuples, a, indicator), raw(tuples, b, indicator)
        x, y = x[~np.isnan(x)], y[~np.isnan(y)]
        wanted = mannwhitneyu(x, y, alternative=alternative, method="asymptotic")
        assert (row.n, row.n_other) == (len(x), len(y))
        assert row.statistic == wanted.statistic
        assert row.p == pytest.approx(wanted.pvalue, rel=1e-12, abs=1e-12)
        assert row.superiority == pytest.approx(wanted.statistic / len(x) / len(y), abs=1e-12)
        assert row.median_difference == pytest.approx(np.median(x) - np.median(y), abs=1e-9)


@pytest.mark.parametrize("indicator", ["footrule", "concordance"])
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_signed_rank_of_every_pair_equals_scipy_on_the_common_tuples(
    scored: StoreFolder, tuples: Tuples, indicator: Any, alternative: Alternative
) -> None:
    from scipy.stats import wilcoxon

    question = Question(indicator=indicator, test="signed-rank", alternative=alternative)
    for (a, b), row in by_pair(matrix(scored, question)).items():
        difference = raw(tuples, a, indicator) - raw(tuples, b, indicator)
        difference = np.round(difference[~np.isnan(difference)], 10)
        wanted = wilcoxon(
            difference, alternative=alternative, zero_method="pratt", method="asymptotic"
        )
        assert row.n_common == len(difference)
        assert row.p == pytest.approx(wanted.pvalue, rel=1e-12, abs=1e-12)
        assert row.mean_difference == pytest.approx(difference.mean(), abs=1e-9)
        assert row.low is not None
        assert row.high is not None
        assert row.low <= difference.mean() <= row.high


def test_corrected_p_and_wins_are_those_of_the_named_family(scored: StoreFolder) -> None:
    listing = matrix(scored, Question(correction="holm", alpha=0.05))
    pvalues = np.array([row.p for row in listing])
    wanted = adjust(pvalues, np.ones(len(pvalues), dtype=bool), "holm")
    assert [row.p_adjusted for row in listing] == wanted.tolist()
    assert [row.beats for row in listing] == (wanted < 0.05).tolist()
    assert "U-test, Holm over 12 tests" in listing.caption[0]
    two_sided = matrix(scored, Question(alternative="two-sided"))
    assert "U-test (two-sided), Holm over 6 tests" in two_sided.caption[0]
    pairs = by_pair(two_sided)
    assert pairs["strong", "random"].p_adjusted == pairs["random", "strong"].p_adjusted
    assert pairs["strong", "random"].beats
    assert not pairs["random", "strong"].beats
    less = by_pair(matrix(scored, Question(alternative="less")))
    assert less["strong", "random"].beats  # though its p, of "strong is less", is near 1
    assert not less["random", "strong"].beats


def test_the_leaderboard_shows_means_intervals_wins_and_groups(
    scored: StoreFolder, tuples: Tuples
) -> None:
    listing = leaderboard(scored)
    assert [row.model for row in listing][::3] == ["strong", "random"]
    for row in listing:
        values = raw(tuples, row.model)
        assert row.mean == pytest.approx(np.nanmean(values), abs=1e-9)
        assert row.n == np.count_nonzero(~np.isnan(values))
        assert row.n + row.n_undefined == N_TUPLES
        assert row.low is not None
        assert row.high is not None
        error = np.nanstd(values) / np.sqrt(row.n)
        assert [row.low, row.high] == pytest.approx(
            [row.mean - 1.96 * error, row.mean + 1.96 * error], abs=0.2 * error
        )
        assert row.s_per_text == 0.025
    assert [row.beats for row in listing] == [3, 1, 1, 0]
    assert [row.beaten_by for row in listing] == [0, 1, 1, 3]
    assert [row.group for row in listing] == ["1", "2", "2", "3"]
    assert listing.caption[0].startswith(
        "sample main · 240 tuples · all years · all sections · RCI (chance 0.34"
    )
    assert "the level of chance is inside the interval of random" in listing.notes
    assert any("near-ties 0" in note for note in listing.notes)
    assert any("--common compares them on the same ones" in note for note in listing.notes)


def test_a_slice_is_what_its_tuples_alone_give(scored: StoreFolder, tuples: Tuples) -> None:
    listing = leaderboard(scored, Question(years=(2010, 2012), sections=("B",)))
    inside = [
        year in (2010, 2012) and section == "B"
        for year, section in zip(tuples.years, tuples.sections, strict=True)
    ]
    for row in listing:
        values = raw(tuples, row.model)[inside]
        assert row.mean == pytest.approx(np.nanmean(values), abs=1e-9)
        assert row.n + row.n_undefined == sum(inside)
    assert "2010, 2012 · section B" in listing.caption[0]


@pytest.mark.parametrize("test", ["u", "signed-rank"])
def test_common_keeps_the_tuples_that_every_model_defines(
    scored: StoreFolder, tuples: Tuples, test: Any
) -> None:
    from scipy.stats import mannwhitneyu, wilcoxon

    everyone = np.stack([raw(tuples, model) for model in STRENGTH])
    common = ~np.isnan(everyone).any(axis=0)
    listing = matrix(scored, Question(is_common=True, test=test, sections=("A", "B")))
    common &= np.isin(tuples.sections, ["A", "B"])
    for (a, b), row in by_pair(listing).items():
        x, y = raw(tuples, a)[common], raw(tuples, b)[common]
        assert row.n == row.n_other == row.n_common == np.count_nonzero(common)
        wanted = (
            mannwhitneyu(x, y, alternative="greater", method="asymptotic").pvalue
            if test == "u"
            else wilcoxon(
                np.round(x - y, 10),
                alternative="greater",
                zero_method="pratt",
                method="asymptotic",
            ).pvalue
        )
        assert row.p == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    assert f"common tuples only: {np.count_nonzero(common)} of 162" in " ".join(listing.notes)


def test_the_paper_maximum_changes_what_is_shown_and_no_test(
    scored: StoreFolder, tuples: Tuples
) -> None:
    exact, paper = (leaderboard(scored, Question(dmax=dmax)) for dmax in ("exact", "paper"))
    halves = {STUDY: 60 * 18, SHORT: 6 * 4.5}
    for row in paper:
        shown = [
            1 - value[0] / halves[shape]
            for shape, value in zip(tuples.shapes, tuples.values[row.model], strict=True)
            if value is not None
        ]
        assert row.mean == pytest.approx(np.mean(shown), abs=1e-12)
    assert [row.beats for row in paper] == [row.beats for row in exact]
    assert "as in the paper" in paper.caption[0]
    kendall = leaderboard(scored, Question(dmax="paper", indicator="concordance"))
    assert "Kendall (chance 0.000)" in kendall.caption[0]


def test_cells_are_the_matrices_of_their_slices(scored: StoreFolder) -> None:
    listing = cells(scored, by="cell")
    assert len(listing) == 9 * 4
    for row in listing:
        assert row.year is not None
        assert row.section is not None
        alone = leaderboard(scored, Question(years=(row.year,), sections=(row.section,)))
        one = next(other for other in alone if other.model == row.model)
        assert row.mean == pytest.approx(one.mean, abs=1e-12)
        assert (row.n, row.beats, row.beaten_by) == (one.n, one.beats, one.beaten_by)
        assert row.is_winner == (one.mean == alone[0].mean)
    assert "Holm over 12 tests in each of 9 cells" in listing.caption[0]


def test_a_sweep_is_one_family(scored: StoreFolder) -> None:
    sweep = cells(scored, by="year", family="sweep")
    assert "Holm over 36 tests of all 3 years" in sweep.caption[0]
    pvalues = [
        row.p for year in (2010, 2011, 2012) for row in matrix(scored, Question(years=(year,)))
    ]
    adjusted = adjust(np.array(pvalues), np.ones(36, dtype=bool), "holm")
    assert sum(row.beats for row in sweep) == np.count_nonzero(adjusted < 0.05)


def test_the_two_tests_disagreeing_is_said(tmp_path: Path) -> None:
    # b is a with 2 ranks more in half the tuples: U is nearly blind to it, signed-rank is not.
    rng = np.random.default_rng(1)
    a = rng.integers(0, 8, size=80) * 120
    b = a + 120 * rng.integers(0, 2, size=80)
    values: dict[str, list[Value | None]] = {
        "a": [(int(x), 0) for x in a],
        "b": [(int(x), 0) for x in b],
    }
    store = fill(tmp_path / "s", Tuples([STUDY] * 80, [2020] * 80, ["A"] * 80, values))
    notes = " ".join(leaderboard(store).notes)
    assert "U-test and signed-rank test disagree on 1 of 2 decisions" in notes
    assert "a > b by signed-rank test only" in notes
    paired = leaderboard(store, Question(test="signed-rank"))
    assert [row.beats for row in paired] == [1, 0]


def test_a_win_by_rank_without_one_by_mean_is_said(tmp_path: Path) -> None:
    # A constant model is ahead of a random one in 420 of 720 orders, and equal in the mean.
    orders = np.array(list(permutations(range(6))), dtype=float)
    random = score(orders, STUDY).footrule.tolist()
    values: dict[str, list[Value | None]] = {
        "constant": [(700, 0)] * 720,
        "random": [(x, 0) for x in random],
    }
    store = fill(tmp_path / "s", Tuples([STUDY] * 720, [2020] * 720, ["A"] * 720, values))
    notes = " ".join(leaderboard(store).notes)
    assert "the 95 % interval of the mean difference is not above 0: constant > random" in notes
    assert "the level of chance is inside the interval of" in notes


def test_equal_models_are_no_difference_and_share_a_group(tmp_path: Path) -> None:
    values: dict[str, list[Value | None]] = {"a": [(600, 5)] * 100, "b": [(600, 5)] * 100}
    store = fill(tmp_path / "s", Tuples([STUDY] * 100, [2020] * 100, ["A"] * 100, values))
    for test in ("u", "signed-rank"):
        listing = matrix(store, Question(test=test))
        assert [(row.p, row.outcome, row.beats) for row in listing] == [
            (1.0, "no difference", False)
        ] * 2
        assert "over 2 tests" in listing.caption[0]  # the pair still counts in the family
    assert [row.group for row in leaderboard(store)] == ["1", "1"]
    assert {row.outcome for row in cells(store)} == {"no difference"}


def test_parts_with_fewer_than_three_tuples_are_too_few_and_outside_the_family(
    tmp_path: Path,
) -> None:
    years = [2018] * 20 + [2019] * 2 + [2020]
    values: dict[str, list[Value | None]] = {
        "a": [*((i % 5 * 120, 0) for i in range(20)), (0, 0), (0, 0), None],
        "b": [*((i % 7 * 120, 0) for i in range(20)), (120, 0), (120, 0), (0, 0)],
    }
    store = fill(tmp_path / "s", Tuples([STUDY] * 23, years, ["A"] * 23, values))
    listing = cells(store, by="year", family="sweep")
    assert [row.outcome for row in listing] == ["tested"] * 2 + ["too few"] * 4
    assert not any(row.is_winner or row.beats for row in listing[2:])
    assert "over 2 tests" in listing.caption[0]
    assert any("too few in 2 of 3 parts" in note for note in listing.notes)
    alone = matrix(store, Question(years=(2020,)))
    assert {(row.outcome, row.p, row.p_adjusted) for row in alone} == {("too few", None, None)}
    board = leaderboard(store, Question(years=(2020,)))
    assert {row.model: (row.mean, row.group) for row in board} == {
        "b": (1.0, "too few"),
        "a": (None, "too few"),
    }


@pytest.mark.parametrize("is_common", [False, True])
@pytest.mark.parametrize("test", ["u", "signed-rank"])
def test_a_slice_without_a_defined_tuple_is_shown_as_too_few(
    tmp_path: Path, is_common: bool, test: TestName
) -> None:
    # With is_common each model has tuples, but no tuple is defined for both.
    worst, best = (60 * 18, -15), (0, 15)
    values = {"a": [worst, None] * 4, "b": [None, best] * 4} if is_common else {"a": [None] * 8}
    tuples = Tuples([STUDY] * 8, [2010] * 8, ["A"] * 8, {"nothing": [None] * 8, **values})
    question = Question(is_common=is_common, test=test, models=tuple(values))
    store = fill(tmp_path / "store", tuples)
    for row in leaderboard(store, question):
        assert (row.mean, row.group, round(row.chance, 4)) == (None, "too few", 0.3519)
    assert "RCI (chance 0.352)" in leaderboard(store, question).caption[0]
    for pair in matrix(store, question):
        assert (pair.outcome, pair.p, pair.median_difference) == ("too few", None, None)
    assert {row.outcome for row in cells(store, question)} == {"too few"}
    kendall = Question(is_common=is_common, indicator="concordance", models=tuple(values))
    assert [row.chance for row in leaderboard(store, kendall)] == [0.0] * len(values)
    paper = Question(is_common=is_common, dmax="paper", models=tuple(values))
    assert round(leaderboard(store, paper)[0].chance, 4) == 0.3519  # 6 * 6 / 2 = 18: the same


def test_a_model_named_twice_is_compared_once(scored: StoreFolder) -> None:
    twice = Question(models=("strong", "weak", "strong"))
    assert matrix(scored, twice) == matrix(scored, Question(models=("strong", "weak")))
    with pytest.raises(NotThere, match="no model is named"):
        matrix(scored, Question(models=()))


def test_what_is_not_there_is_named(scored: StoreFolder, tmp_path: Path) -> None:
    with pytest.raises(NotThere, match="no sample 'other'.*\nits samples: main"):
        leaderboard(scored, Question(sample="other"))
    with pytest.raises(NotThere, match="no scores of best for sample main\nscored: middling"):
        leaderboard(scored, Question(models=("strong", "best")))
    with pytest.raises(NotThere, match="no tuples in this slice\n1999 · all sections"):
        leaderboard(scored, Question(years=(1999,)))
    with pytest.raises(NotThere, match="no model is scored"):
        leaderboard(scored, Question(tie_tolerance=0.5))
    with pytest.raises(NotThere, match="no sample yet"):
        leaderboard(StoreFolder(tmp_path / "empty"))
    with pytest.raises(ValueError, match="'t' is none of u, signed-rank"):
        Question(test="t")  # type: ignore[arg-type]


def test_the_only_sample_needs_no_name_and_one_of_two_does(tmp_path: Path) -> None:
    tuples = drawn([STUDY], n=30)
    store = fill(tmp_path / "s", tuples)
    assert leaderboard(store) == leaderboard(store, Question(sample="main"))
    fill(tmp_path / "s", tuples, name="second", sample_id=2)
    with pytest.raises(PatcacheError, match="which sample\\?\nthere are main, second"):
        leaderboard(store)


def test_two_of_four_models_are_a_family_of_two(scored: StoreFolder) -> None:
    listing = matrix(scored, Question(models=("weak", "random")))
    assert [(row.model, row.other) for row in listing] == [("weak", "random"), ("random", "weak")]
    assert "over 2 tests" in listing.caption[0]


def test_a_single_model_has_a_mean_and_no_tests(scored: StoreFolder) -> None:
    listing = leaderboard(scored, Question(models=("weak",)))
    assert [(row.model, row.group, row.beats) for row in listing] == [("weak", "1", 0)]
    assert len(matrix(scored, Question(models=("weak",)))) == 0
