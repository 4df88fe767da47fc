"""Corrections for many tests: equal to the reference values and to scipy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.kernels.corrections import METHODS, adjust

NAMES = {
    "holm": "holm",
    "bh": "benjamini_hochberg",
    "by": "benjamini_yekutieli",
    "bonferroni": "bonferroni",
}


def test_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    # Sorted 0.01 0.03 0.04 times 3 2 1 = 0.03 0.06 0.04, and no value below the one before: 0.06.
    found = adjust(np.array([0.04, 0.01, 0.03]), np.ones(3, dtype=bool), "holm")
    assert found == pytest.approx([0.06, 0.03, 0.06], abs=1e-15)


def test_every_reference_value_is_reproduced(shared: Path) -> None:
    case: dict[str, Any] = json.loads((shared / "golden/corrections.json").read_text())
    values = case["corrections"]
    pvalues = np.array(values["pvalues"])
    order = np.random.default_rng(1).permutation(len(pvalues))
    for correction, name in NAMES.items():
        found = adjust(pvalues[order], np.ones(len(pvalues), dtype=bool), correction)  # type: ignore[arg-type]
        assert found == pytest.approx(np.array(values[name])[order], abs=1e-12)


@pytest.mark.parametrize("method", ["bh", "by"])
def test_step_up_equals_scipy_with_ties(method: Any) -> None:
    from scipy.stats import false_discovery_control

    pvalues = np.round(np.random.default_rng(2).random(200) ** 3, 2)
    found = adjust(pvalues, np.ones(200, dtype=bool), method)
    assert found == pytest.approx(false_discovery_control(pvalues, method=method), abs=1e-12)


@pytest.mark.parametrize("correction", METHODS)
def test_what_is_outside_the_family_counts_for_nothing(correction: Any) -> None:
    pvalues = np.array([[np.nan, 0.01], [0.02, np.nan]])
    found = adjust(pvalues, ~np.isnan(pvalues), correction)
    alone = adjust(np.array([0.01, 0.02]), np.ones(2, dtype=bool), correction)
    assert np.isnan(np.diag(found)).all()
    assert [found[0, 1], found[1, 0]] == alone.tolist()


@pytest.mark.parametrize("correction", METHODS)
def test_an_empty_family_and_a_family_of_one(correction: Any) -> None:
    assert adjust(np.empty(0), np.empty(0, dtype=bool), correction).shape == (0,)
    assert adjust(np.array([0.3]), np.array([True]), correction).tolist() == [0.3]


def test_an_unknown_correction_is_refused() -> None:
    with pytest.raises(ValueError, match="correction 'tukey' is none of holm"):
        adjust(np.array([0.3]), np.array([True]), "tukey")  # type: ignore[arg-type]
