"""Correlations from joint counts are scipy's of the raw values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from patcache.kernels.agreement import added, joint_counts, mid_ranks, pearson, spearman


@pytest.mark.parametrize("n", [3, 10, 4_000])
@pytest.mark.parametrize("strength", [-1.5, 0.0, 2.0])
def test_correlations_are_scipys_on_raw_values(n: int, strength: float) -> None:
    rng = np.random.default_rng(n)
    common = rng.normal(size=n)
    axis = np.sort(rng.random(10))
    a, b = (
        np.clip(np.round(2 * (rng.normal(size=n) + factor * common) + 5), 0, 9).astype(np.int64)
        for factor in (1.0, strength)
    )
    a[:2], b[:2] = [0, 9], [4, 5]  # neither is constant
    joint = joint_counts(a, b, 10)
    assert joint.total == n
    assert spearman(joint, 10) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
    wanted = stats.pearsonr(axis[a], axis[b]).statistic
    assert pearson(joint, axis, axis) == pytest.approx(wanted, abs=1e-12)


def test_joint_counts_of_pieces_add_up() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 7, size=(2, 300))
    whole = joint_counts(a, b, 7)
    pieces = added(joint_counts(a[:90], b[:90], 7), joint_counts(a[90:], b[90:], 7), 7)
    for name in ("a", "b", "n"):
        assert getattr(pieces, name).tolist() == getattr(whole, name).tolist()


def test_three_tuples_by_hand() -> None:
    # Ranks 1 2 3 and 1.5 3 1.5: covariance (-1)(-.5) + 0(1) + (1)(-.5) = 0.
    joint = joint_counts(np.array([0, 1, 2]), np.array([0, 2, 0]), 3)
    assert spearman(joint, 3) == 0.0
    assert mid_ranks(np.array([2, 0, 1])).tolist()[::2] == [1.5, 3.0]


def test_a_model_that_does_not_vary_has_no_correlation() -> None:
    constant, varying = np.zeros(5, dtype=np.int64), np.arange(5)
    for joint in (joint_counts(constant, varying, 5), joint_counts(varying, constant, 5)):
        assert spearman(joint, 5) is None
        assert pearson(joint, np.arange(5.0), np.arange(5.0)) is None
    nothing = joint_counts(varying[:0], varying[:0], 5)
    assert spearman(nothing, 5) is None
    assert pearson(nothing, np.arange(5.0), np.arange(5.0)) is None


def test_equal_models_correlate_by_one() -> None:
    values = np.array([0, 3, 3, 1, 2, 2])
    assert spearman(joint_counts(values, values, 4), 4) == pytest.approx(1.0, abs=1e-15)
    assert spearman(joint_counts(values, 3 - values, 4), 4) == pytest.approx(-1.0, abs=1e-15)
