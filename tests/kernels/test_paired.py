"""Paired tests from counts of differences: equal to scipy on the differences themselves."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from patcache.kernels.outcomes import Outcome
from patcache.kernels.paired import SignedRank, permutation_test, signed_rank
from patcache.records import Alternative

if TYPE_CHECKING:
    from patcache.records import IntArray

ALTERNATIVES: tuple[Alternative, ...] = ("greater", "less", "two-sided")


def counted(differences: list[int] | IntArray) -> tuple[IntArray, IntArray, int, IntArray]:
    """Counts of positive and negative differences over |difference| (V,), zeros, magnitudes."""
    d = np.asarray(differences)
    magnitudes = np.unique(np.abs(d[d != 0]))
    positive = np.array([np.sum(d == m) for m in magnitudes], dtype=np.int64)
    negative = np.array([np.sum(d == -m) for m in magnitudes], dtype=np.int64)
    return positive, negative, int(np.sum(d == 0)), magnitudes


def test_zeros_take_the_lowest_ranks_and_win_nothing() -> None:
    # |d| = 0 1 2 2: ranks 1, 2, 3.5, 3.5; positive are 1 and one of the 2s: W = 2 + 3.5 = 5.5.
    positive, negative, n_zero, _ = counted([0, 1, 2, -2])
    found = signed_rank(positive, negative, np.array(n_zero))
    assert (found.w.item(), found.n.item()) == (5.5, 4)


def test_every_reference_value_is_reproduced(shared: Path) -> None:
    cases: list[dict[str, Any]] = json.loads((shared / "golden/tests.json").read_text())["tests"]
    n_checked = 0
    for case in cases:
        for zero_method in ("wilcox", "pratt"):
            wanted = case.get(f"signed_rank_greater_{zero_method}")
            if wanted is None:
                continue
            positive, negative, n_zero, _ = counted(np.array(case["a"]) - np.array(case["b"]))
            found = signed_rank(
                positive, negative, np.array(n_zero), "greater", zero_method=zero_method
            )
            assert found.w.item() == wanted["w"], case["note"]
            assert found.pvalue.item() == pytest.approx(wanted["pvalue"], rel=1e-12, abs=1e-12)
            n_checked += 1
    assert n_checked == 8


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("zero_method", ["pratt", "wilcox"])
def test_equals_scipy_on_heavy_ties(alternative: Alternative, zero_method: Any) -> None:
    from scipy.stats import wilcoxon

    rng = np.random.default_rng(1)
    for _ in range(100):
        differences = rng.integers(-4, 6, size=rng.integers(5, 200))
        positive, negative, n_zero, _ = counted(differences)
        found = signed_rank(positive, negative, np.array(n_zero), alternative, zero_method)
        wanted = wilcoxon(
            differences, alternative=alternative, zero_method=zero_method, method="asymptotic"
        )
        assert found.pvalue.item() == pytest.approx(wanted.pvalue, rel=1e-12, abs=1e-12)


def test_equals_scipy_far_in_the_tail() -> None:
    from scipy.stats import wilcoxon

    differences = np.random.default_rng(2).integers(-2, 9, size=2_000)
    positive, negative, n_zero, _ = counted(differences)
    found = signed_rank(positive, negative, np.array(n_zero)).pvalue.item()
    wanted = wilcoxon(differences, alternative="greater", zero_method="pratt", method="asymptotic")
    assert found == pytest.approx(wanted.pvalue, rel=1e-9, abs=0)
    assert found < 1e-100


def test_a_matrix_of_pairs_is_one_call() -> None:
    counts = np.random.default_rng(3).integers(0, 9, size=(2, 3, 3, 5))
    n_zero = np.arange(9).reshape(3, 3)
    found: SignedRank = signed_rank(counts[0], counts[1], n_zero)
    for i, j in np.ndindex(3, 3):
        one = signed_rank(counts[0, i, j], counts[1, i, j], n_zero[i, j])
        assert found.pvalue[i, j] == one.pvalue


def test_all_differences_zero_is_no_difference_and_few_are_too_few() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    with np.errstate(all="raise"):
        equal = signed_rank(nothing, nothing, np.array(100))
        few = signed_rank(np.array([1]), np.array([1]), np.array(0))
        none = signed_rank(nothing, nothing, np.array(0))
    assert (equal.pvalue.item(), Outcome(equal.outcome.item())) == (1.0, Outcome.NO_DIFFERENCE)
    assert Outcome(few.outcome.item()) is Outcome(none.outcome.item()) is Outcome.TOO_FEW
    assert np.isnan(few.pvalue.item())


def test_flipping_signs_at_random_approaches_flipping_them_every_way() -> None:
    differences = [3, 3, 1, 1, -1, 0, 4, -2, 5]
    found, hits = sum(differences), np.zeros(3)
    for signs in product((1, -1), repeat=len(differences)):
        flipped = sum(s * d for s, d in zip(signs, differences, strict=True))
        hits += [flipped >= found, flipped <= found, abs(flipped) >= abs(found)]
    positive, negative, n_zero, magnitudes = counted(differences)
    test = permutation_test(positive, negative, n_zero, magnitudes / 18, np.random.default_rng(1))
    assert test.outcome is Outcome.TESTED
    wanted = hits / 2 ** len(differences)
    assert [test.greater, test.less, test.two_sided] == pytest.approx(
        wanted.tolist(), abs=0.015
    )  # 3 sd of 9,999


def test_the_same_seed_gives_the_same_permutation_pvalue() -> None:
    positive, negative, n_zero, magnitudes = counted([1, 2, 2, -1, 3, 0, -2])
    tests = {
        permutation_test(positive, negative, n_zero, magnitudes / 1, np.random.default_rng(7))
        for _ in range(3)
    }
    assert len(tests) == 1


def test_permutation_knows_no_difference_and_too_few() -> None:
    rng, nothing = np.random.default_rng(1), np.zeros(0, dtype=np.int64)
    equal = permutation_test(nothing, nothing, 50, nothing.astype(float), rng)
    assert (equal.two_sided, equal.outcome) == (1.0, Outcome.NO_DIFFERENCE)
    few = permutation_test(np.array([2]), np.array([0]), 0, np.array([1.0]), rng)
    assert few.outcome is Outcome.TOO_FEW
    assert np.isnan(few.greater)
