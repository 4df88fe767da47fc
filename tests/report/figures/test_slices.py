"""Figures of slices: what is drawn where, and what is said where there is nothing to draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.queries.compare import compare
from patcache.queries.fields import fields
from patcache.queries.trend import trend
from patcache.queries.where import where
from patcache.report.figures import compare as compare_figure
from patcache.report.figures import fields as fields_figure
from patcache.report.figures import trend as trend_figure
from patcache.report.figures import where as where_figure
from patcache.report.figures.style import styled
from patcache.store import StoreFolder
from tests.cli.test_slice_commands import TUPLES
from tests.queries.fill import STUDY, Tuples, fill


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    return fill(tmp_path_factory.mktemp("figures") / "store", TUPLES)


@pytest.fixture(scope="module")
def undefined(tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    nothing = Tuples([STUDY] * 8, [2020] * 8, ["A"] * 8, {"a": [None] * 8, "b": [None] * 8})
    return fill(tmp_path_factory.mktemp("figures") / "nothing", nothing)


def drawn(draw: Any, *arguments: Any) -> Any:
    """The only plot of a figure, drawn in the house's style."""
    with styled():
        return draw(*arguments).axes[0]


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_a_missing_year_breaks_the_line_and_few_tuples_are_no_point(scored: StoreFolder) -> None:
    axes = drawn(trend_figure.draw, trend(scored), "beats")
    good = axes.lines[0]
    assert good.get_label() == "good"
    assert good.get_xdata().tolist() == [2017, 2018.5, 2019, 2020.5, 2021]
    np.testing.assert_array_equal(good.get_ydata(), [1, np.nan, 0, np.nan, np.nan])


def test_equal_numbers_are_drawn_apart_around_their_value(tmp_path: Path) -> None:
    values = dict.fromkeys(("a", "b", "c"), TUPLES.values["good"][:40])
    tuples = Tuples([STUDY] * 40, [2020] * 40, ["A"] * 40, values)
    axes = drawn(trend_figure.draw, trend(fill(tmp_path / "s", tuples)), "beats")
    heights = [line.get_ydata()[0] for line in axes.lines[:3]]
    assert heights == pytest.approx([0.1, 0.0, -0.1])


def test_means_have_their_chance_line(scored: StoreFolder) -> None:
    for draw, listing in (
        (trend_figure.draw, trend(scored)),
        (fields_figure.draw, fields(scored)),
    ):
        labels = [line.get_label() for line in drawn(draw, listing, "rci").lines]
        assert "chance 0.352" in labels


def test_tiles_hold_the_numbers_with_the_best_in_bold(scored: StoreFolder) -> None:
    axes = drawn(fields_figure.draw, fields(scored), "beats")
    found = {
        tuple(text.get_position()): (text.get_text(), text.get_fontweight()) for text in axes.texts
    }
    assert found == {
        (0, 0): ("1", "bold"),
        (1, 0): ("0", "normal"),
        (0, 1): ("0", "normal"),
        (1, 1): ("1", "bold"),
    }
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["A Human necessities (40)", "H Electricity (42)"]


def test_a_forest_fills_what_is_separable_only(scored: StoreFolder) -> None:
    listing = where(scored, "good", by="section")
    axes = drawn(where_figure.draw, listing)
    points = [line for line in axes.lines if line.get_marker() not in ("None", None, "")]
    assert [line.get_xdata()[0] for line in points] == [row.difference for row in listing]
    assert "none" not in [line.get_markerfacecolor() for line in points]
    assert texts(axes) == ["wins", "loses"]


def test_a_forest_leaves_hollow_what_is_not_separable(tmp_path: Path) -> None:
    values = dict.fromkeys(("a", "b"), TUPLES.values["good"][:40])
    tuples = Tuples([STUDY] * 40, [2020] * 40, ["A"] * 40, values)
    axes = drawn(where_figure.draw, where(fill(tmp_path / "s", tuples), "a"))
    points = [line for line in axes.lines if line.get_marker() not in ("None", None, "")]
    assert [line.get_markerfacecolor() for line in points] == ["none"] * 2
    assert texts(axes) == ["not separable"]


def test_both_sides_of_a_model_are_joined(scored: StoreFolder) -> None:
    listing = compare(scored, split=2018)
    axes = drawn(compare_figure.draw, listing)
    joined = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2]
    for row in listing:
        assert [row.mean_first, row.mean_second] in [list(ends) for ends in joined]
    assert len(texts(axes)) == 2
    assert "lower" in "".join(texts(axes))
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["before 2018", "from 2018", "chance 0.352"]


def test_nothing_to_draw_is_said(undefined: StoreFolder) -> None:
    for show in ("beats", "rci"):
        axes = drawn(trend_figure.draw, trend(undefined), show)
        assert texts(axes) == ["too few tuples in every year"]
    assert texts(drawn(fields_figure.draw, fields(undefined), "rci")) == ["too few tuples"]
    assert texts(drawn(fields_figure.draw, fields(undefined), "beats")) == ["too\nfew"] * 2
    assert texts(drawn(where_figure.draw, where(undefined, "a"))) == [
        "too few tuples in every slice"
    ]
