"""What must not matter: the order of tuples, models and cells, and what else is in the store."""

from __future__ import annotations

import tempfile
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from patcache.kernels.bootstrap import mean_spread, power_sums
from patcache.kernels.paired import signed_rank
from patcache.kernels.utest import u_test
from patcache.queries.matrix import PairRow, matrix
from patcache.queries.question import Question
from patcache.records import TESTS, TestName
from tests.queries.fill import STUDY, Tuples, Value, fill

LABELS = ("ab", "ba", "cd", "dc")
counts = arrays(np.int64, st.integers(1, 12).map(lambda n: (2, n)), elements=st.integers(0, 40))
values = st.one_of(
    st.none(), st.tuples(st.integers(0, 18).map(lambda ranks: 60 * ranks), st.integers(-15, 15))
)


@st.composite
def studies(draw: st.DrawFn) -> Tuples:
    """Up to 24 tuples in up to 6 cells under four models, some undefined."""
    n = draw(st.integers(1, 24))
    cells = draw(
        st.lists(st.tuples(st.integers(2018, 2020), st.sampled_from("AB")), min_size=n, max_size=n)
    )
    of_models: dict[str, list[Value | None]] = {
        label: draw(st.lists(values, min_size=n, max_size=n)) for label in LABELS
    }
    return Tuples([STUDY] * n, [y for y, _ in cells], [s for _, s in cells], of_models)


def reordered(tuples: Tuples, tuple_order: list[int], labels: list[str]) -> Tuples:
    return Tuples(
        [tuples.shapes[i] for i in tuple_order],
        [tuples.years[i] for i in tuple_order],
        [tuples.sections[i] for i in tuple_order],
        {label: [tuples.values[label][i] for i in tuple_order] for label in labels},
    )


def pairs(tuples: Tuples, question: Question) -> dict[tuple[str, str], PairRow]:
    with tempfile.TemporaryDirectory() as folder:
        store = fill(Path(folder) / "store", tuples)
        return {(row.model, row.other): row for row in matrix(store, question)}


few = settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],  # a store an example: shrinking them would take an hour
    suppress_health_check=list(HealthCheck),
)


def same(row: PairRow, other: PairRow) -> bool:
    """Whether two rows say the same; sums may be rounded in another order."""
    return all(
        a == pytest.approx(b, rel=1e-12, abs=1e-12) if isinstance(a, float) else a == b
        for a, b in zip(astuple(row), astuple(other), strict=True)
    )


@given(counts)
def test_u_of_both_directions_adds_up_to_all_pairs(two: Any) -> None:
    ahead, behind = u_test(two[0], two[1]), u_test(two[1], two[0])
    assert ahead.u + behind.u == two[0].sum() * two[1].sum()
    assert ahead.outcome == behind.outcome
    less = u_test(two[0], two[1], "less")
    assert np.array_equal(less.pvalue, behind.pvalue, equal_nan=True)


@given(counts, st.integers(0, 40))
def test_signed_ranks_of_both_directions_add_up_to_all_ranks(two: Any, n_zero: int) -> None:
    ahead = signed_rank(two[0], two[1], np.array(n_zero))
    behind = signed_rank(two[1], two[0], np.array(n_zero))
    n = int(two.sum()) + n_zero
    assert ahead.w + behind.w == n * (n + 1) / 2 - n_zero * (n_zero + 1) / 2
    assert ahead.outcome == behind.outcome


@given(counts)
def test_counts_of_cells_may_be_added_and_put_in_any_order(two: Any) -> None:
    values_of = np.linspace(0, 1, two.shape[1])
    one, other = (mean_spread(power_sums(cells, values_of)) for cells in (two, two[::-1]))
    for name in ("n", "mean", "standard_error"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("test", TESTS)
@few
@given(tuples=studies(), data=st.data())
def test_the_order_of_tuples_models_and_cells_changes_nothing(
    test: TestName, tuples: Tuples, data: st.DataObject
) -> None:
    question = Question(test=test, n_resamples=None if test in ("u", "signed-rank") else 199)
    order = data.draw(st.permutations(range(len(tuples.years))))
    labels = data.draw(st.permutations(LABELS))
    found = pairs(tuples, question)
    again = pairs(reordered(tuples, order, labels), question)
    assert found.keys() == again.keys()
    for pair, row in found.items():
        assert same(row, again[pair])


@pytest.mark.parametrize("test", TESTS)
@few
@given(tuples=studies(), newcomer=st.sampled_from(LABELS))
def test_another_model_leaves_the_raw_pvalues_of_the_others_alone(
    test: TestName, tuples: Tuples, newcomer: str
) -> None:
    question = Question(test=test, n_resamples=None if test in ("u", "signed-rank") else 199)
    everyone = pairs(tuples, question)
    others = [label for label in LABELS if label != newcomer]
    before = pairs(reordered(tuples, list(range(len(tuples.years))), others), question)
    assert len(before) == 6
    for pair, row in before.items():
        after = everyone[pair]
        assert row.p == after.p
        assert same(
            replace(row, p_adjusted=None, beats=False), replace(after, p_adjusted=None, beats=False)
        )
