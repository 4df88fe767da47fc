from __future__ import annotations

from pathlib import Path

import pytest

from patcache.errors import NotThere
from patcache.queries.samples import label_noise, levels_words, samples, shortages
from patcache.steps.sampling import SampleParameters, draw_sample
from patcache.steps.tuple_files import export_sample, import_sample
from patcache.store import StoreFolder
from tests.plain_patents import PlainPatent, add_patents

# Four patents of one code, each with another text, and one of another section: the four have
# candidates at levels 1 and 6, the fifth only at level 1. Two of the four share H01L 21/02 with it.
PATENTS = [
    PlainPatent("A1", 2001, ("A61B 5/00", "H01L 21/02"), "one"),
    PlainPatent("A2", 2001, ("A61B 5/00", "H01L 21/02"), "two"),
    PlainPatent("A3", 2001, ("A61B 5/00",), "three"),
    PlainPatent("A4", 2001, ("A61B 5/00",), "four"),
    PlainPatent("H1", 2001, ("H01L 21/02",), "five"),
]


@pytest.fixture
def sampled(store: StoreFolder) -> StoreFolder:
    add_patents(store, PATENTS)
    draw_sample(store, "main", SampleParameters(targets=None, levels=(1, 6)))
    return store


def test_a_sample_is_listed_with_its_size_and_noise(sampled: StoreFolder) -> None:
    (row,) = samples(sampled)
    # Of 8 candidates, H1 for A1 and for A2 share a code with their target.
    assert (row.sample, row.n_tuples, row.n_cells, row.n_cells_seen) == ("main", 4, 1, 2)
    assert (row.levels, row.kind, row.seed, row.codes) == ("1 6", "drawn", 1, "main")
    assert row.noise == 2 / 8


def test_shortages_by_level_and_by_cell_are_the_patents_without_a_candidate(
    sampled: StoreFolder,
) -> None:
    by_level = shortages(sampled, "main")
    assert by_level.to_dicts() == [{"level": 6, "n_patents": 1, "share": 0.2, "n_cells": 1}]
    assert by_level.caption == (
        "sample main · 5 patents in 2 cells · 4 have candidates at every level · 4 drawn",
    )
    cells = shortages(sampled, "main", "cell").to_dicts()
    assert [list(cell.values()) for cell in cells] == [
        [2001, "A", 4, 4, 4, 0, 0, 0, 0, 0, 0],
        [2001, "H", 1, 0, 0, 0, 0, 0, 0, 0, 1],
    ]


def test_label_noise_by_level_and_by_cell_counts_the_same_pairs(sampled: StoreFolder) -> None:
    assert [list(row.values()) for row in label_noise(sampled, "main").to_dicts()] == [
        [1, 4, 2, 0.5],
        [6, 4, 0, 0.0],
    ]
    assert [list(row.values()) for row in label_noise(sampled, "main", "cell").to_dicts()] == [
        [2001, "A", 8, 2, 0.25]
    ]


def test_an_imported_sample_says_that_nothing_is_known_to_be_short(
    sampled: StoreFolder, tmp_path: Path
) -> None:
    export_sample(sampled, "main", tmp_path / "main.csv")
    import_sample(sampled, "copy", tmp_path / "main.csv")
    found = shortages(sampled, "copy")
    assert len(found) == 0
    assert found.caption == ("sample copy · 4 tuples in 1 cells, imported",)
    assert samples(sampled)[1].noise == 2 / 8


def test_absent_samples_are_named(sampled: StoreFolder) -> None:
    for question in (shortages, label_noise):
        with pytest.raises(NotThere, match="main"):
            question(sampled, "other")


def test_a_store_without_samples_says_how_to_draw_one(store: StoreFolder) -> None:
    found = samples(store)
    assert (len(found), found.notes) == (0, ("no samples yet: patcache sample NAME",))


def test_levels_are_said_in_few_words() -> None:
    assert levels_words((1, 2, 3, 4, 5, 6)) == "1-6"
    assert levels_words((1, 2, 6)) == "1-2 6"
    assert levels_words((1, 1, 2, 2, 6, 6, 6)) == "1-2 x2 6 x3"
