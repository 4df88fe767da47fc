"""Simulated studies: how often equal models "win", and which test sees a real difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from patcache.kernels.corrections import adjust
from patcache.kernels.footrule import score
from patcache.kernels.paired import signed_rank
from patcache.kernels.utest import u_test
from patcache.records import Shape

if TYPE_CHECKING:
    from patcache.records import BoolArray, Correction, DoubleArray, IntArray

ALPHA = 0.05
N_STUDIES, N_MODELS, N_TUPLES = 200, 7, 120
STUDY = Shape((1, 2, 3, 4, 5, 6))
N_VALUES = 10  # distances 0, 2, ... 18 without ties
OFF_DIAGONAL = ~np.eye(N_MODELS, dtype=bool)


def agreements(rng: np.random.Generator, strengths: list[float], shared: float) -> IntArray:
    """Agreement (studies, models, tuples), 0 to 9: gold order by strength, plus noise of which
    this share is the tuple's own, the same for every model."""
    size = (N_STUDIES, len(strengths), N_TUPLES, 6)
    own = rng.standard_normal(size, dtype=np.float32)
    common = rng.standard_normal((N_STUDIES, 1, N_TUPLES, 6), dtype=np.float32)
    gold = np.arange(6, dtype=np.float32) * np.array(strengths, np.float32)[:, None, None]
    noise = np.sqrt(1 - shared) * own + np.sqrt(shared) * common
    distance = score((gold + noise).reshape(-1, 6), STUDY).footrule
    return (9 - distance // 120).reshape(size[:3])


def u_pvalues(values: IntArray) -> DoubleArray:
    """p-values (studies, M, M) of every ordered pair by U."""
    counts = (values[..., None] == np.arange(N_VALUES)).sum(axis=2)
    return u_test(counts[:, :, None], counts[:, None, :]).pvalue


def paired_pvalues(values: IntArray) -> DoubleArray:
    """p-values (studies, M, M) of every ordered pair by signed ranks."""
    difference = values[:, :, None] - values[:, None, :]
    steps = np.arange(1, N_VALUES)
    positive = np.stack([(difference == step).sum(axis=-1) for step in steps], axis=-1)
    negative = np.stack([(difference == -step).sum(axis=-1) for step in steps], axis=-1)
    return signed_rank(positive, negative, (difference == 0).sum(axis=-1)).pvalue


def wins(pvalues: DoubleArray, correction: Correction) -> BoolArray:
    """Wins (studies, M, M), each study's matrix being a family."""
    family = np.broadcast_to(OFF_DIAGONAL[: pvalues.shape[1], : pvalues.shape[2]], pvalues.shape)
    adjusted = [adjust(p, inside, correction) for p, inside in zip(pvalues, family, strict=True)]
    return np.nan_to_num(np.array(adjusted), nan=1.0) < ALPHA


@pytest.fixture(scope="module")
def apart() -> IntArray:
    """Seven equal models whose errors have nothing in common."""
    return agreements(np.random.default_rng(1), [0.35] * N_MODELS, shared=0.0)


@pytest.fixture(scope="module")
def alike() -> IntArray:
    """Seven equal models that find the same tuples hard."""
    return agreements(np.random.default_rng(2), [0.35] * N_MODELS, shared=0.7)


def test_uncorrected_equal_models_win_as_often_as_theory_says(apart: IntArray) -> None:
    # 42 tests at 0.05: 2.1 wins a matrix are expected where there is nothing to find. The
    # continuity correction and the grid of the p-values take a little off.
    for pvalues in (u_pvalues(apart), paired_pvalues(apart)):
        n_wins = wins(pvalues, "none").sum(axis=(1, 2))
        error = n_wins.std(ddof=1) / np.sqrt(N_STUDIES)
        assert 2.1 - 0.2 - 3 * error < n_wins.mean() < 2.1 + 3 * error
        assert np.mean(n_wins > 0) > 0.5  # most matrices of equal models show a "winner"


def test_with_holm_at_most_one_matrix_in_twenty_has_a_false_win(apart: IntArray) -> None:
    noise = 3 * np.sqrt(ALPHA * (1 - ALPHA) / N_STUDIES)
    for pvalues in (u_pvalues(apart), paired_pvalues(apart)):
        for correction in ("holm", "bonferroni", "by"):
            share = wins(pvalues, correction).any(axis=(1, 2)).mean()
            assert share <= ALPHA + noise, correction


def test_where_models_find_the_same_tuples_hard_u_is_too_careful(alike: IntArray) -> None:
    u, paired = (wins(p, "none").mean() for p in (u_pvalues(alike), paired_pvalues(alike)))
    share = (N_MODELS - 1) / N_MODELS  # of the matrix, the diagonal aside
    assert u < 0.4 * ALPHA * share  # it takes what the models share for noise
    assert paired == pytest.approx(ALPHA * share, abs=0.01)


def test_the_paired_test_sees_differences_that_u_does_not() -> None:
    values = agreements(np.random.default_rng(3), [0.42, 0.35], shared=0.7)
    u, paired = (
        float(wins(p, "holm")[:, 0, 1].mean()) for p in (u_pvalues(values), paired_pvalues(values))
    )
    assert paired > 0.65
    assert paired > u + 0.25
    assert not wins(paired_pvalues(values), "holm")[:, 1, 0].any()
