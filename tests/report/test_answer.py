"""The answer in words: what was tested, by how much, how sure, where not, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from patcache.queries.provenance import provenance
from patcache.queries.question import Question
from patcache.report.answer import answer, findings
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, Tuples, Value, fill

MARK_AS_IMPORTED = "UPDATE data.samples SET kind = 'imported'"
GOOD: list[Value | None] = [(120 * (i % 3), 15 - i % 3) for i in range(60)]
BAD: list[Value | None] = [(120 * (i % 9), 15 - i % 9) for i in range(60)]
CHANCE: list[Value | None] = [(60 * 12 if i % 3 else 60 * 11, 0) for i in range(60)]
YEARS = [2019] * 30 + [2020] * 30


def made(path: Path, values: dict[str, list[Value | None]]) -> StoreFolder:
    store = fill(path / "store", Tuples([STUDY] * 60, YEARS, ["A", "B"] * 30, values))
    with store.write() as cursor:
        cursor.execute(MARK_AS_IMPORTED)
    return store


def said(store: StoreFolder, **asked: object) -> str:
    question = Question(**asked)  # type: ignore[arg-type]
    return " ".join(answer(findings(store, question), provenance(store, question)))


def test_a_model_that_beats_all_is_best_with_its_lead_and_its_test(tmp_path: Path) -> None:
    # Distances 0 2 4 ranks: 1 - 2 / 18 = 0.889; 0 to 16 six times, then 0 2 4 6 8 10: 7.7 ranks.
    text = said(made(tmp_path, {"good": GOOD, "bad": BAD}))
    assert text.startswith(
        "In sample main (60 tuples, all years, all sections) good ranks best: mean RCI 0.889, "
        "95 % interval "
    )
    assert "chance 0.352; it beats the other (U-test, Holm over 2 tests, alpha 0.05)." in text
    assert "Over the 60 tuples they share it is +0.317 from the next, bad" in text
    assert "The signed-rank test, corrected alike, decides every pair as the U-test does." in text
    assert (
        "Of 2 years with enough tuples the highest mean is that of good in 2; all rivals are "
        in text
    )
    assert "Whether another draw of tuples would say the same was not tried." in text


def test_without_a_win_none_is_best_and_none_is_called_equal(tmp_path: Path) -> None:
    near: list[Value | None] = [*GOOD[:59], (0, 15)]
    text = said(made(tmp_path, {"good": GOOD, "near": near, "bad": BAD}))
    assert "no model is shown to be best. near has the highest mean" in text
    assert "beats 1 of 2 others" in text
    assert "It is not shown to beat good, which is no proof that they are equal." in text


def test_twins_have_no_difference_on_the_same_tuples(tmp_path: Path) -> None:
    text = said(made(tmp_path, {"good": GOOD, "twin": GOOD}), test="signed-rank")
    assert "There is no difference at all to twin." in text


def test_tests_that_disagree_are_named(tmp_path: Path) -> None:
    # A constant rank better on every tuple: the paired test sees it, ranks of both together do not.
    wide: list[Value | None] = [(120 * (i % 9), 15 - i % 9) for i in range(60)]
    ahead: list[Value | None] = [(max(0, 120 * (i % 9) - 20), 15 - i % 9) for i in range(60)]
    text = said(made(tmp_path, {"ahead": ahead, "wide": wide}))
    assert "The tests disagree on 1 of 2 pairs: ahead > wide by the signed-rank test only." in text


def test_chance_is_named(tmp_path: Path) -> None:
    # A third of 11 ranks, two thirds of 12: 1 - 11.667 / 18 = 0.352, the level of chance.
    text = said(made(tmp_path, {"good": GOOD, "dice": CHANCE}))
    assert "Not told from chance: dice." in text


def test_undefined_tuples_are_counted(tmp_path: Path) -> None:
    text = said(made(tmp_path, {"good": GOOD, "holes": [None, *BAD[1:]]}))
    assert "Undefined tuples, which do not count: holes 1." in text


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"models": ("good",)}, "one model is scored, good: mean RCI 0.889"),
        ({"models": ("none",)}, "No model has a defined tuple in sample main (60 tuples"),
    ],
)
def test_little_to_say(tmp_path: Path, asked: dict[str, object], words: str) -> None:
    text = said(made(tmp_path, {"good": GOOD, "none": [None] * 60}), **asked)
    assert words in text
    assert "beats" not in text
