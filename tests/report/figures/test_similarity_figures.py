"""Figures of distributions, levels and agreement say in numbers and words what colours say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from patcache.queries.agreement import agreement
from patcache.queries.distribution import distribution
from patcache.queries.levels import level_confusion
from patcache.report.figures import agreement as of_agreement
from patcache.report.figures import distribution as of_distribution
from patcache.report.figures import levels as of_levels
from patcache.report.figures.heat import DARK, IS_DARK, LIGHT, ON_DARK, ON_LIGHT
from patcache.report.figures.style import styled
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, fill, from_similarities

N = 40


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    rng = np.random.default_rng(4)
    rows = {
        "good_$x$": (np.arange(6) / 10 + 0.1 * rng.normal(size=(N, 6))).tolist(),
        "flat": np.full((N, 6), 0.25).tolist(),
        "none": np.full((N, 6), np.nan).tolist(),
    }
    tuples = from_similarities([STUDY] * N, [2020] * N, ["A"] * N, rows)
    return fill(tmp_path_factory.mktemp("figures") / "store", tuples)


def test_every_cell_of_the_confusion_has_its_number(store: StoreFolder) -> None:
    listing = level_confusion(store)
    with styled():
        figure = of_levels.draw(listing)
    good, flat, none = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["good_$x$", "flat", "none"]
    shares = [row.share for row in listing if row.model == "good_$x$"]
    assert [text.get_text() for text in good.texts] == [f"{100 * (s or 0):.0f}" for s in shares]
    assert {text.get_text() for text in flat.texts} == {"17"}
    assert [text.get_text() for text in none.texts] == ["no defined tuple"]


def test_agreement_prints_numbers_and_words(store: StoreFolder) -> None:
    with styled():
        figure = of_agreement.draw(agreement(store))
    found = [text.get_text() for text in figure.axes[0].texts]
    assert (found.count("·"), found.count("constant"), found.count("too few")) == (3, 2, 4)


def test_histograms_hold_all_values_and_levels_are_told_by_dashes(store: StoreFolder) -> None:
    with styled():
        whole = of_distribution.draw(distribution(store))
        levels = of_distribution.draw(distribution(store, by="level"))
    assert "skewness" in whole.axes[0].get_title(loc="right")
    assert "constant" in whole.axes[1].get_title(loc="right")
    assert [text.get_text() for text in whole.axes[2].texts] == ["no defined tuple"]
    lines = levels.axes[0].get_lines()
    assert len(lines) == 6
    for shallow, deep in pairwise(lines):
        assert (shallow.get_alpha() or 1) < (deep.get_alpha() or 1)
        assert shallow.get_linestyle() != deep.get_linestyle() or shallow.is_dashed()
    for line in lines:
        assert np.sum(line.get_ydata()) == pytest.approx(1.0)


def test_numbers_on_cells_are_readable_where_dark_turns_to_light() -> None:
    # Contrast of WCAG 2: at least 3 for text of either colour on the cell where they change.
    def luminance(colour: tuple[float, float, float]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    mixed = tuple(a + IS_DARK * (b - a) for a, b in zip(to_rgb(LIGHT), to_rgb(DARK), strict=True))
    cell = luminance((mixed[0], mixed[1], mixed[2]))
    for text in (ON_LIGHT, ON_DARK):
        lighter, darker = sorted((luminance(to_rgb(text)), cell), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) > 3
