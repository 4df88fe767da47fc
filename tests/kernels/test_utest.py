"""Mann-Whitney U from counts: equal to scipy on the values themselves, far tails included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from patcache.kernels.axis import common_axis
from patcache.kernels.effects import cliffs_delta, medians, superiority
from patcache.kernels.outcomes import Outcome, upper_tail
from patcache.kernels.utest import u_test
from patcache.records import Alternative

if TYPE_CHECKING:
    from patcache.records import IntArray

ALTERNATIVES: tuple[Alternative, ...] = ("greater", "less", "two-sided")


def counted(*samples: list[int] | IntArray) -> tuple[IntArray, IntArray]:
    """Counts (len(samples), V) of each sample over the values (V,) that occur in any."""
    values = np.unique(np.concatenate([np.asarray(sample, dtype=np.int64) for sample in samples]))
    counts = [[int(np.sum(np.asarray(sample) == value)) for value in values] for sample in samples]
    return np.array(counts, dtype=np.int64).reshape(len(samples), len(values)), values


def test_u_counts_pairs_won_with_ties_as_half() -> None:
    # a = 1 3 3, b = 1 2 3: 1 beats none, ties 1 (0.5); each 3 beats two, ties one (2.5): 5.5.
    (a, b), _ = counted([1, 3, 3], [1, 2, 3])
    found = u_test(a, b)
    assert (found.u.item(), found.n_a.item(), found.n_b.item()) == (5.5, 3, 3)
    assert superiority(found.u, found.n_a, found.n_b).item() == 5.5 / 9


def test_every_reference_value_is_reproduced(shared: Path) -> None:
    cases: list[dict[str, Any]] = json.loads((shared / "golden/tests.json").read_text())["tests"]
    for case in cases:
        (a, b), values = counted(case["a"], case["b"])
        for alternative in ALTERNATIVES:
            found = u_test(a, b, alternative)
            wanted = case[f"u_{alternative}"]
            assert found.u.item() == wanted["u_a"], case["note"]
            assert found.pvalue.item() == pytest.approx(wanted["pvalue"], rel=1e-12, abs=1e-12)
        effect = superiority(found.u, found.n_a, found.n_b).item()
        assert effect == pytest.approx(case["probability_of_superiority"], abs=1e-12)
        delta = cliffs_delta(found.u, found.n_a, found.n_b).item()
        assert delta == pytest.approx(case["cliffs_delta"], abs=1e-12)
        of_a, of_b = medians(np.stack([a, b]), values.astype(float))
        assert of_a - of_b == case["median_difference"]
    assert len(cases) == 7


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_equals_scipy_on_heavy_ties(alternative: Alternative) -> None:
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(1)
    for _ in range(150):
        n_a, n_b, n_values = rng.integers(3, 200), rng.integers(3, 200), rng.integers(2, 12)
        a = rng.integers(0, n_values, size=n_a)
        b = np.minimum(rng.integers(0, n_values + 2, size=n_b), n_values)
        (counts_a, counts_b), _ = counted(a, b)
        found = u_test(counts_a, counts_b, alternative)
        wanted = mannwhitneyu(a, b, alternative=alternative, method="asymptotic")
        assert found.u.item() == wanted.statistic
        assert found.pvalue.item() == pytest.approx(wanted.pvalue, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("shift", [3, 6, 9])
def test_equals_scipy_far_in_the_tail(shift: int) -> None:
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(shift)
    a, b = rng.integers(0, 10, size=400) + shift, rng.integers(0, 10, size=300)
    (counts_a, counts_b), _ = counted(a, b)
    for alternative in ALTERNATIVES:
        found = u_test(counts_a, counts_b, alternative).pvalue.item()
        wanted = mannwhitneyu(a, b, alternative=alternative, method="asymptotic").pvalue
        assert found == pytest.approx(wanted, rel=1e-9, abs=0)
    assert u_test(counts_a, counts_b).pvalue.item() < 1e-20


def test_the_normal_tail_keeps_its_relative_accuracy() -> None:
    from scipy.special import ndtr

    z = np.linspace(-10, 37, 400)
    assert upper_tail(z) == pytest.approx(ndtr(-z), rel=1e-12, abs=0)
    assert upper_tail(np.array(np.inf)).item() == 0.0


def test_a_matrix_of_models_is_one_call() -> None:
    counts = np.random.default_rng(2).integers(0, 50, size=(2, 5, 10))  # parts, models, values
    found = u_test(counts[:, :, None], counts[:, None, :])
    assert found.pvalue.shape == (2, 5, 5)
    for part, i, j in np.ndindex(2, 5, 5):
        one = u_test(counts[part, i], counts[part, j])
        assert found.u[part, i, j] == one.u
        assert found.pvalue[part, i, j] == one.pvalue


def test_counts_of_a_hundred_million_tuples_do_not_overflow() -> None:
    # Twice 2^26 tuples, half at each of two values: U = n * n / 2 exactly, so p is just over 1/2.
    half = 2**25
    found = u_test(np.array([half, half]), np.array([half, half]))
    assert found.u.item() == (2 * half) ** 2 / 2
    assert found.pvalue.item() == pytest.approx(0.5, abs=1e-6)


def test_all_equal_is_no_difference_with_p_one() -> None:
    for alternative in ALTERNATIVES:
        found = u_test(np.array([0, 100, 0]), np.array([0, 100, 0]), alternative)
        assert found.pvalue.item() == 1.0
        assert Outcome(found.outcome.item()) is Outcome.NO_DIFFERENCE
    assert Outcome.NO_DIFFERENCE.words == "no difference"


@pytest.mark.parametrize(("n_a", "n_b"), [(0, 0), (0, 9), (1, 1), (2, 9), (9, 2)])
def test_fewer_than_three_tuples_are_too_few_and_raise_no_warning(n_a: int, n_b: int) -> None:
    with np.errstate(all="raise"):
        found = u_test(np.array([n_a, 0]), np.array([0, n_b]))
    assert Outcome(found.outcome.item()) is Outcome.TOO_FEW
    assert np.isnan(found.pvalue.item())
    assert Outcome.TOO_FEW.words == "too few"


def test_an_unknown_alternative_is_refused() -> None:
    with pytest.raises(ValueError, match="alternative 'more' is not"):
        u_test(np.array([3]), np.array([3]), "more")  # type: ignore[arg-type]


def test_values_of_several_shapes_are_compared_as_exact_fractions() -> None:
    # RCIs 1/2, 2/4, 1/3, 2/3, 4/6, -1/1: ascending -1, 1/3, 1/2 (twice), 2/3 (twice).
    axis = common_axis(np.array([1, 2, 1, 2, 4, -1]), np.array([2, 4, 3, 3, 6, 1]))
    assert axis.position.tolist() == [2, 2, 1, 3, 3, 0]
    assert axis.values.tolist() == [-1.0, 1 / 3, 1 / 2, 2 / 3]


def test_fractions_too_fine_for_64_bits_stay_exact() -> None:
    # The scale is about 2^120; as doubles the middle two are equal.
    big, other = 2**60, 2**60 - 1
    axis = common_axis(np.array([1, big // 2, other // 2, 1]), np.array([big, big, other, 1]))
    assert axis.position.tolist() == [0, 2, 1, 3]


def test_no_values_make_an_empty_axis_and_a_zero_denominator_is_refused() -> None:
    empty = common_axis(np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    assert (len(empty.position), len(empty.values)) == (0, 0)
    with pytest.raises(ValueError, match="a denominator of 0"):
        common_axis(np.array([1]), np.array([0]))
