"""The models year by year and section by section, as records and as people's grids."""

from __future__ import annotations

from pathlib import Path

import pytest

from patcache.queries.cells import cells
from patcache.queries.fields import fields
from patcache.queries.question import Question
from patcache.queries.trend import trend
from patcache.report.grids.parts import best_of, grid_of_parts, lines_of, title_of_parts
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, Tuples, Value, fill

GOOD: list[Value | None] = [(120 * (i % 3), 15) for i in range(30)]  # 0, 2 and 4 of 18
BAD: list[Value | None] = [(120 * (4 + i % 3), 0) for i in range(30)]  # 8, 10 and 12 of 18


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    """2010: good and fine beat bad. 2011: none. 2012: bad beats both. 2014: two tuples."""
    values = {
        "good": [*GOOD, *BAD, *BAD, (0, 15), (0, 15)],
        "bad": [*BAD, *BAD, *GOOD, (0, 15), (0, 15)],
        "fine": [*GOOD, *BAD, *BAD, (0, 15), None],
    }
    years = [2010] * 30 + [2011] * 30 + [2012] * 30 + [2014] * 2
    sections = ["A"] * 60 + ["H"] * 32
    tuples = Tuples([STUDY] * 92, years, sections, values)
    return fill(tmp_path_factory.mktemp("trend") / "store", tuples)


def test_a_trend_says_how_many_each_model_beats_in_each_year(scored: StoreFolder) -> None:
    found = {(row.year, row.model): row for row in trend(scored)}
    beats = {key: row.beats for key, row in found.items() if key[0] != 2014}
    assert beats == {
        (2010, "good"): 1,
        (2010, "fine"): 1,
        (2010, "bad"): 0,
        (2011, "good"): 0,
        (2011, "fine"): 0,
        (2011, "bad"): 0,
        (2012, "good"): 0,
        (2012, "fine"): 0,
        (2012, "bad"): 2,
    }
    assert {row.outcome for key, row in found.items() if key[0] == 2014} == {"too few"}
    row = found[2010, "good"]
    assert row.mean == pytest.approx(1 - 2 / 18)  # (0 + 2 + 4) / 3 of 18
    # Population deviation of 0, 2, 4 is 1.633 of 18; the mean of 30 has it over root 29.
    half = 1.96 * (8 / 3) ** 0.5 / 18 / 29**0.5
    assert row.low == pytest.approx(row.mean - half, abs=0.02 * half)
    assert row.high == pytest.approx(row.mean + half, abs=0.02 * half)


def test_a_year_that_was_not_asked_for_is_not_said_to_lack_tuples(scored: StoreFolder) -> None:
    assert not any("no tuples" in n for n in trend(scored, Question(years=(2010, 2012))).notes)
    asked = Question(years=(2010, 2012, 2013, 2020))
    assert trend(scored, asked).notes[0] == "no tuples in 2013, 2020"


def test_years_without_tuples_are_named_and_are_no_rows(scored: StoreFolder) -> None:
    listing = trend(scored)
    assert sorted({row.year for row in listing if row.year}) == [2010, 2011, 2012, 2014]
    assert listing.notes[0] == "no tuples in 2013"
    assert not any("no tuples" in note for note in trend(scored, Question(years=(2011,))).notes)


def test_fields_and_trend_are_the_cells_of_sections_and_years(scored: StoreFolder) -> None:
    assert fields(scored).rows == cells(scored, by="section").rows
    assert trend(scored, family="sweep").rows == cells(scored, by="year", family="sweep").rows
    assert "of all 2 sections" in fields(scored, family="sweep").caption[0]


def test_an_interval_holds_its_mean_and_one_tuple_has_none(scored: StoreFolder) -> None:
    for row in trend(scored):
        if row.n > 2:
            assert row.low is not None
            assert row.high is not None
            assert row.mean is not None
            assert row.low < row.mean < row.high
    alone = next(row for row in trend(scored) if (row.year, row.model) == (2014, "fine"))
    assert (alone.n, alone.mean, alone.low, alone.high) == (1, 1.0, None, None)


def test_the_grid_marks_the_best_and_says_a_word_once(scored: StoreFolder) -> None:
    grid = grid_of_parts(trend(scored), "beats")
    assert grid.headings == ("year", "tuples", "bad", "good", "fine", "")
    lines = [tuple(text.strip() for text in line) for line in grid.cells]
    assert lines == [
        ("2010", "30", "0", "1*", "1*", ""),
        ("2011", "30", "0", "0", "0", ""),
        ("2012", "30", "2*", "0", "0", ""),
        ("2014", "2", "", "", "", "too few"),
    ]


def test_the_grid_of_means_shows_half_widths(scored: StoreFolder) -> None:
    listing = fields(scored)
    grid = grid_of_parts(listing, "rci")
    assert [line[0] for line in grid.cells] == ["A Human necessities", "H Electricity"]
    row = listing[0]
    assert row.mean is not None
    assert row.low is not None
    assert row.high is not None
    half = max(row.high - row.mean, row.mean - row.low)
    assert grid.cells[0][2].strip(" *") == f"{row.mean:.3f}±{half:.3f}".replace("±0", "±")
    assert title_of_parts(listing, "rci")[0].startswith("mean RCI ± half of its 95 % interval")


def test_nobody_is_best_where_all_are_alike(tmp_path: Path) -> None:
    values: dict[str, list[Value | None]] = {"a": [(600, 5)] * 20, "b": [(600, 5)] * 20}
    store = fill(tmp_path / "s", Tuples([STUDY] * 20, [2020] * 20, ["A"] * 20, values))
    listing = trend(store)
    for show in ("beats", "rci"):
        assert best_of(lines_of(listing)[0], show) == set()
    assert grid_of_parts(listing, "beats").cells == (("2020", "20", "", "", "no difference"),)
    assert grid_of_parts(listing, "rci").cells[0][2].strip() == "0.444±.000"


def test_one_model_has_means_and_nothing_to_beat(scored: StoreFolder) -> None:
    listing = trend(scored, Question(models=("good",), years=(2010,)))
    assert [(row.beats, row.n_rivals, row.outcome) for row in listing] == [(0, 0, "tested")]
    assert title_of_parts(listing, "beats") == ("there is no other model to beat",)
    assert "in 1 year" in listing.caption[0]


def test_many_long_names_become_numbers_with_a_key(tmp_path: Path) -> None:
    values = {f"a-model-of-long-name-{i:02}": GOOD for i in range(12)}
    store = fill(tmp_path / "s", Tuples([STUDY] * 30, [2020] * 30, ["A"] * 30, values))
    listing = trend(store)
    grid = grid_of_parts(listing, "rci")
    assert grid.headings[2:14] == tuple(str(number) for number in range(1, 13))
    lines = title_of_parts(listing, "rci")[1:]
    assert max(map(len, lines)) <= 100
    assert " · ".join(lines).split(" · ")[11] == "12 a-model-of-long-name-11"


def test_intervals_of_few_tuples_are_said_to_be_too_narrow(tmp_path: Path) -> None:
    def notes(n: int) -> str:
        values = {"good": GOOD[:n], "bad": BAD[:n]}
        tuples = Tuples([STUDY] * n, [2010] * n, ["A"] * n, values)
        return " ".join(trend(fill(tmp_path / str(n), tuples)).notes)

    assert "too narrow" in notes(3)
    assert "too narrow" in notes(19)
    assert "too narrow" not in notes(20)
    assert "too narrow" not in notes(2)  # which have no interval
