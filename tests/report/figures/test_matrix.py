"""The matrix as a figure: what its cells say without colour."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from matplotlib.patches import Rectangle

from patcache.queries.matrix import matrix
from patcache.queries.question import Question
from patcache.report.figures.matrix import draw
from patcache.report.figures.style import styled
from tests.queries.fill import STUDY, Tuples, Value, fill

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from patcache.store import StoreFolder

GOOD: list[Value | None] = [(120 * (i % 4), 15 - i % 4) for i in range(40)]
BAD: list[Value | None] = [(120 * (i % 9), 15 - i % 9) for i in range(40)]
TUPLES = Tuples(
    [STUDY] * 40, [2019] * 38 + [2020] * 2, ["A"] * 40, {"good": GOOD, "bad": BAD, "twin": GOOD}
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    return fill(tmp_path_factory.mktemp("matrix") / "store", TUPLES)


def drawn(store: StoreFolder, show: str = "p", **asked: object) -> Figure:
    question = Question(**asked)  # type: ignore[arg-type]
    with styled():
        return draw(matrix(store, question), question, show)


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def hatches(figure: Figure) -> list[str]:
    patches = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    return [patch.get_hatch() for patch in patches if patch.get_hatch()]


def test_a_win_has_a_star_and_a_frame_beside_its_colour(store: StoreFolder) -> None:
    figure = drawn(store)
    assert texts(figure).count("<.001*") == 2  # good and twin beat bad
    frames = [p for p in figure.axes[0].patches if isinstance(p, Rectangle) and not p.get_fill()]
    assert len(frames) == 2
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == [
        "good  1",
        "twin  2",
        "bad  3",
    ]


def test_differences_are_mirrored_and_signed(store: StoreFolder) -> None:
    # Mean distance in ranks (2 for each 120 units): good 0 2 4 6 is 3; bad 0..16 four times, then
    # 0 2 4 6: 7.5. A largest distance of 18 makes (7.5 - 3) / 18 of them.
    found = texts(drawn(store, "difference"))
    assert found.count("+0.250*") == 2
    assert found.count("-0.250") == 2


def test_no_difference_and_too_few_are_hatched_and_named(store: StoreFolder) -> None:
    twins = drawn(store, models=("good", "twin"), test="signed-rank")
    assert hatches(twins) == ["...."] * 2
    few = drawn(store, years=(2020,))
    assert hatches(few) == ["////"] * 6
    legend = few.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["too few"]


def test_one_model_is_words(store: StoreFolder) -> None:
    assert texts(drawn(store, models=("good",))) == ["one model: no pair to compare"]


def test_twenty_models_have_a_number_in_every_cell(tmp_path: Path) -> None:
    values = {f"model-{i:02d}": GOOD[i:] + GOOD[:i] for i in range(20)}
    store = fill(tmp_path / "store", Tuples([STUDY] * 40, [2019] * 40, ["A"] * 40, values))
    found = texts(drawn(store))
    assert found.count("1.0") == 380
