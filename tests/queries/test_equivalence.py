"""Good enough, and how many tuples it takes: against scipy on the tuples themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.errors import PatcacheError
from patcache.kernels.corrections import adjust
from patcache.queries.equivalence import equivalence
from patcache.queries.leaderboard import leaderboard
from patcache.queries.power import power
from patcache.queries.question import Question
from patcache.records import Correction
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, Tuples, Value, fill

N = 200
RNG = np.random.default_rng(4)
RANKS = {"best": RNG.integers(0, 5, size=N) * 2}
RANKS["near"] = np.clip(RANKS["best"] + 2 * RNG.integers(-1, 2, size=N), 0, 18)
RANKS["far"] = np.clip(RANKS["best"] + 2 * RNG.integers(0, 5, size=N), 0, 18)
RANKS["same"] = RANKS["best"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    values: dict[str, list[Value | None]] = {
        model: [(int(rank) * 60, 0) for rank in ranks] for model, ranks in RANKS.items()
    }
    tuples = Tuples([STUDY] * N, [2020] * N, ["A"] * N, values)
    return fill(tmp_path_factory.mktemp("equivalence") / "store", tuples)


def difference(model: str, other: str) -> Any:
    return (RANKS[other] - RANKS[model]) / 18


def test_every_pair_is_two_one_sided_t_tests_corrected_together(store: StoreFolder) -> None:
    from scipy.stats import ttest_1samp

    listing = equivalence(store, margin=0.03)
    assert len(listing) == 12
    wanted = [
        ttest_1samp(difference(row.model, row.other), -0.03, alternative="greater").pvalue
        if {row.model, row.other} != {"best", "same"}
        else 0.0
        for row in listing
    ]
    corrected = adjust(np.array(wanted), np.ones(12, dtype=bool), "holm")
    for row, p in zip(listing, corrected, strict=True):
        assert row.p_not_worse == pytest.approx(p, rel=1e-9, abs=1e-15)
        assert row.mean_difference == pytest.approx(difference(row.model, row.other).mean())
    assert "Holm over 12 ordered pairs" in listing.caption[1]


def test_the_verdicts_are_what_one_would_say(store: StoreFolder) -> None:
    verdict = {(r.model, r.other): r.verdict for r in equivalence(store, margin=0.06)}
    assert verdict["near", "best"] == verdict["best", "near"] == "equivalent"
    assert verdict["same", "best"] == "equivalent"
    assert verdict["far", "best"] == "worse"
    assert verdict["best", "far"] == "not worse"
    strict = {(r.model, r.other): r.verdict for r in equivalence(store, margin=0.018)}
    assert strict["near", "best"] == "not shown"


def test_an_alpha_whose_interval_has_no_confidence_is_refused(store: StoreFolder) -> None:
    assert "2 % intervals of single" in equivalence(store, Question(alpha=0.49)).notes[-1]
    with pytest.raises(PatcacheError, match="alpha 0.5 is too large here"):
        equivalence(store, Question(alpha=0.5))


def test_the_interval_is_the_one_that_goes_with_the_tests(store: StoreFolder) -> None:
    from scipy.stats import ttest_1samp

    row = next(r for r in equivalence(store) if (r.model, r.other) == ("near", "best"))
    ends = ttest_1samp(difference("near", "best"), 0).confidence_interval(0.9)
    assert (row.low, row.high) == pytest.approx(tuple(ends), rel=1e-9)


def test_tuples_needed_are_reckoned_from_the_differences_at_hand(store: StoreFolder) -> None:
    # Holm's strictest step over 12 tests: z(1 - 0.05 / 12) = 2.6383, z(0.8) = 0.8416.
    rows = {(r.model, r.other): r for r in power(store, difference=0.02)}
    assert len(rows) == 6
    row = rows.get(("best", "near")) or rows["near", "best"]
    deviation = difference("best", "near").std(ddof=1)
    assert row.deviation == pytest.approx(deviation, rel=1e-9)
    assert row.n_paired == np.ceil((3.47989 * deviation / 0.02) ** 2)
    spread = np.sqrt(sum(np.var(RANKS[m] / 18, ddof=1) for m in ("best", "near")))
    assert row.n_independent == np.ceil((3.47989 * spread / 0.02) ** 2)
    assert row.smallest == pytest.approx(3.47989 * deviation / np.sqrt(N), rel=1e-5)


@pytest.mark.parametrize(("correction", "share"), [("none", 1), ("bh", 12), ("by", 12 * 3.1032107)])
def test_power_is_reckoned_at_the_strictest_step_of_the_correction(
    store: StoreFolder, correction: Correction, share: float
) -> None:
    # The least of 12 p-values counts below alpha / 12; by Benjamini-Yekutieli that is divided by
    # 1 + 1/2 + ... + 1/12 = 3.1032 as well.
    from scipy.stats import norm

    found = power(store, Question(correction=correction), difference=0.02)
    row = next(r for r in found if {r.model, r.other} == {"best", "near"})
    reach = norm.isf(0.05 / share) + norm.ppf(0.8)
    assert row.n_paired == np.ceil((reach * difference("best", "near").std(ddof=1) / 0.02) ** 2)
    assert ("at its strictest of 12 tests" in found.caption[1]) == (correction != "none")


def test_two_tuples_are_too_few_to_reckon_with(tmp_path: Path) -> None:
    values: dict[str, list[Value | None]] = {"a": [(0, 0), (0, 0)], "b": [(60, 0), (240, 0)]}
    small = fill(tmp_path / "two", Tuples([STUDY] * 2, [2020] * 2, ["A"] * 2, values))
    (row,) = power(small)
    assert (row.outcome, row.n_paired, row.n_independent, row.smallest) == (
        "too few",
        None,
        None,
        None,
    )
    assert row.mean_difference == pytest.approx(150 / 1080)


def test_nothing_to_reckon_with_is_told_in_words(store: StoreFolder, tmp_path: Path) -> None:
    equal = next(r for r in power(store) if {r.model, r.other} == {"best", "same"})
    assert (equal.outcome, equal.n_paired, equal.smallest) == ("no spread", None, None)
    few: dict[str, list[Value | None]] = {"a": [(0, 0), None], "b": [(60, 0), (0, 0)]}
    small = fill(tmp_path / "few", Tuples([STUDY] * 2, [2020] * 2, ["A"] * 2, few))
    assert {r.outcome for r in power(small)} == {"too few"}
    assert {r.verdict for r in equivalence(small)} == {"too few"}
    assert {r.p_not_worse for r in equivalence(small)} == {None}
    with pytest.raises(ValueError, match="a margin of 0 is not above 0"):
        equivalence(store, margin=0)


def test_the_leaderboard_says_what_its_tuples_could_show(store: StoreFolder) -> None:
    found = " ".join(leaderboard(store, Question(models=("best", "near"))).notes)
    smallest = power(store, Question(models=("best", "near")))[0].smallest
    assert smallest is not None
    assert f"a difference of {smallest:.3f} would be seen" in found
