from __future__ import annotations

import csv
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from patcache.errors import NotThere, SampleRefused
from patcache.hashing import text_key
from patcache.kernels.footrule import chance
from patcache.steps.sample_parameters import levels_of
from patcache.steps.sampling import SampleParameters, draw_sample, extend_sample, study
from patcache.store import StoreFolder
from patcache.store.population import read_population
from patcache.store.samples import remove_sample, sample_id, sample_names, tuple_sets
from tests.conftest import shared_path
from tests.kernels.plain_sampling import PlainSampler, Row
from tests.plain_patents import PlainPatent, add_patents, real_patents

CODES = (
    "A61B 5/00", "A61B 5/02", "A61B 50/00", "A61K 3/00", "A62B 5/00",
    "B60R 7/06", "B60R 7/08", "B60Q 1/00", "B61B 5/00", "H01L 21/02",
)  # fmt: skip


def corpus(
    n_patents: int = 240, years: tuple[int, ...] = (2001, 2002), seed: int = 1
) -> list[PlainPatent]:
    """Patents over a few codes; some share texts and families, some have secondary codes."""
    rng = random.Random(seed)
    return [
        PlainPatent(
            f"US{years[0]}{n}",
            rng.choice(years),
            tuple(dict.fromkeys(rng.choices(CODES, k=rng.choice([1, 1, 2])))),
            rng.choice([f"text {n % 40}", *(f"own {years[0]} {n}" for _ in range(3))]),
            rng.choice([None, None, f"F{n % 30}"]),
            rng.choice(["en", "en", "de"]),
        )
        for n in range(n_patents)
    ]


def drawn(store: StoreFolder, name: str) -> list[tuple[int, str, tuple[str, ...]]]:
    """(tuple_id, target, candidates in gold order) of a sample, by publication number."""
    with store.read() as cursor:
        sets = tuple_sets(cursor, sample_id(cursor, name))
        number = dict(
            cursor.execute("SELECT patent_id, publication_number FROM data.patents").fetchall()
        )
    return [
        (int(i), number[t], tuple(number[c] for c in candidates))
        for some in sets
        for i, t, candidates in zip(some.ids, some.targets, some.candidates, strict=True)
    ]


def rows_of(patents: list[PlainPatent]) -> list[Row]:
    return [Row(p.number, p.year, p.codes, p.text, p.family) for p in patents]


@pytest.mark.parametrize(
    "parameters",
    [
        SampleParameters(targets=None, seed=7),
        SampleParameters(targets=None, seed=7, codes="strict"),
        SampleParameters(targets=None, seed=7, k=2, levels=(1, 3, 6)),
    ],
)
def test_a_sample_of_everybody_is_what_the_definition_says(
    store: StoreFolder, parameters: SampleParameters
) -> None:
    patents = corpus()
    add_patents(store, patents)
    report = draw_sample(store, "main", parameters)
    levels = parameters.shape.levels
    plain = PlainSampler(rows_of(patents), levels, seed=7, strict=parameters.codes == "strict")
    found = {target: candidates for _, target, candidates in drawn(store, "main")}
    short = dict.fromkeys(levels, 0)
    for target in plain.rows:
        candidates = plain.draw(target)
        if candidates is None:
            assert target.number not in found
        else:
            assert found[target.number] == tuple(row.number for row in candidates)
        for level in set(levels):
            short[level] += plain.is_short(target, level)
    assert report.n_tuples == len(found) > 20
    assert report.n_short_at == short
    with store.read() as cursor:
        stored = cursor.execute(
            "SELECT level, sum(n_patents)::INT FROM shortages GROUP BY level"
        ).fetchall()
    assert dict(stored) == {level: n for level, n in short.items() if n}


def test_label_noise_counts_pairs_that_share_a_deeper_level_by_any_code(store: StoreFolder) -> None:
    patents = corpus()
    add_patents(store, patents)
    report = draw_sample(store, "main", SampleParameters(targets=None))
    plain = PlainSampler(rows_of(patents), (1, 2, 3, 4, 5, 6), seed=1, strict=False)
    row_of = {row.number: row for row in plain.rows}
    deeper = [
        plain.deepest(row_of[target], row_of[candidate]) > level
        for _, target, candidates in drawn(store, "main")
        for level, candidate in enumerate(candidates, start=1)
    ]
    assert (report.n_pairs, report.n_deeper) == (len(deeper), sum(deeper))
    assert sum(deeper) > 0
    strict = draw_sample(store, "strict", SampleParameters(targets=None, codes="strict"))
    assert strict.n_pairs > 0
    assert strict.n_deeper == 0


def test_import_order_names_and_other_patents_ids_change_nothing(tmp_path: Path) -> None:
    patents = corpus()
    stores = [StoreFolder(tmp_path / name) for name in ("a", "b")]
    add_patents(stores[0], patents)
    shuffled = random.Random(5).sample(patents, len(patents))
    add_patents(stores[1], shuffled[:100])
    add_patents(stores[1], shuffled[100:])
    parameters = SampleParameters(targets=4, seed=3)
    draw_sample(stores[0], "main", parameters)
    draw_sample(stores[1], "other-name", parameters)
    assert drawn(stores[0], "main") == drawn(stores[1], "other-name")
    digests = [read_population(store, None).digest for store in stores]
    assert digests[0] == digests[1]


def test_threads_change_nothing(store: StoreFolder) -> None:
    add_patents(store, corpus())
    found = []
    for threads, setting in enumerate(("SET threads = 1", "RESET threads")):
        with store.read() as cursor:
            cursor.execute(setting)
        draw_sample(store, f"with-{threads}", SampleParameters(targets=4))
        found.append(drawn(store, f"with-{threads}"))
    assert found[0] == found[1]


def test_another_seed_draws_other_tuples(store: StoreFolder) -> None:
    add_patents(store, corpus())
    draw_sample(store, "one", SampleParameters(targets=4, seed=1))
    draw_sample(store, "two", SampleParameters(targets=4, seed=2))
    assert drawn(store, "one") != drawn(store, "two")


def test_targets_are_counted_per_cell_year_or_section(store: StoreFolder) -> None:
    add_patents(store, corpus())
    groups = {"cell": "year, section", "year": "year", "section": "section"}
    for per, columns in groups.items():
        draw_sample(store, per, SampleParameters(targets=3, per=per))  # type: ignore[arg-type]
        with store.read() as cursor:
            counts = cursor.execute(
                f"SELECT sum(n_eligible)::INT, sum(n_drawn)::INT FROM sample_cells"
                f" WHERE sample = ? GROUP BY {columns}",
                [per],
            ).fetchall()
        assert sum(n for _, n in counts) > 0
        assert all(n_drawn == min(3, n_eligible) for n_eligible, n_drawn in counts)


def test_a_condition_holds_for_targets_and_candidates_alike(store: StoreFolder) -> None:
    patents = corpus()
    add_patents(store, patents)
    draw_sample(store, "all", SampleParameters(targets=None))
    draw_sample(store, "english", SampleParameters(targets=None, where="language = 'en'"))
    english = {patent.number for patent in patents if patent.language == "en"}
    names = {n for _, target, found in drawn(store, "english") for n in (target, *found)}
    assert names <= english
    with store.read() as cursor:
        digests = cursor.execute("SELECT DISTINCT corpus_digest FROM data.samples").fetchall()
        counted = cursor.execute(
            "SELECT sum(n_patents)::INT FROM sample_cells WHERE sample = 'english'"
        ).fetchall()
    assert len(digests) == 2
    assert counted == [(len(english),)]


@pytest.mark.parametrize(
    "where",
    [
        "language = 'en'; DROP TABLE data.patents",
        "true); DELETE FROM data.patents; SELECT (1",
        "langage = 'en'",
        "",
        "publication_number IN (SELECT content FROM read_text('/etc/hostname'))",
    ],
)
def test_what_is_no_condition_is_refused_and_does_nothing(store: StoreFolder, where: str) -> None:
    add_patents(store, corpus(40))
    with pytest.raises(SampleRefused):
        draw_sample(store, "main", SampleParameters(where=where))
    with store.read() as cursor:
        assert cursor.execute("SELECT count(*) FROM patents").fetchall() == [(40,)]
        assert sample_names(cursor) == []


def test_a_condition_that_keeps_nobody_is_refused(store: StoreFolder) -> None:
    add_patents(store, corpus(40))
    with pytest.raises(SampleRefused, match="no patents to draw from"):
        draw_sample(store, "main", SampleParameters(where="year = 1900"))


def test_levels_that_nobody_has_are_refused_with_what_is_short(store: StoreFolder) -> None:
    add_patents(store, [PlainPatent("A", 2001, ("A61B 5/00",), "a")])
    with pytest.raises(SampleRefused, match="level 1: 1, level 2: 1"):
        draw_sample(store, "main", SampleParameters())


def test_extending_adds_the_new_cells_and_leaves_every_old_tuple(store: StoreFolder) -> None:
    add_patents(store, corpus(years=(2001, 2002)))
    draw_sample(store, "main", SampleParameters(targets=4))
    before = drawn(store, "main")
    add_patents(store, corpus(years=(2003,), seed=2))
    add_patents(store, [PlainPatent("late", 2001, ("A61B 5/00",), "late")])
    report = extend_sample(store, "main")
    after = drawn(store, "main")
    assert after[: len(before)] == before
    assert report.n_tuples == len(after) - len(before) > 0
    assert [i for i, _, _ in after] == list(range(len(after)))
    with store.read() as cursor:
        years = cursor.execute(
            "SELECT DISTINCT year FROM tuples WHERE tuple_id >= ?", [len(before)]
        ).fetchall()
    assert years == [(2003,)]
    (cell,) = report.grown.items()
    assert cell[0] == (2001, "A")
    assert cell[1][1] == cell[1][0] + 1
    draw_sample(store, "new", SampleParameters(targets=4, where="year = 2003"))
    assert [row[1:] for row in after[len(before) :]] == [row[1:] for row in drawn(store, "new")]


def test_extending_twice_adds_nothing(store: StoreFolder) -> None:
    add_patents(store, corpus())
    draw_sample(store, "main", SampleParameters(targets=4))
    before = drawn(store, "main")
    report = extend_sample(store, "main")
    assert (report.n_tuples, report.n_cells_seen, report.grown) == (0, 0, {})
    assert drawn(store, "main") == before


def test_new_cells_share_what_is_left_of_a_section(store: StoreFolder) -> None:
    add_patents(store, corpus(years=(2001,)))
    draw_sample(store, "main", SampleParameters(targets=60, per="section"))
    with store.read() as cursor:
        drawn_first = dict(cursor.execute("SELECT section, n_drawn FROM sample_cells").fetchall())
    assert 0 < drawn_first["A"] < 60
    add_patents(store, corpus(400, years=(2003,), seed=2))
    extend_sample(store, "main")
    with store.read() as cursor:
        totals = dict(
            cursor.execute(
                "SELECT section, sum(n_drawn)::INT FROM sample_cells GROUP BY section"
            ).fetchall()
        )
    assert totals["A"] == 60


def test_a_taken_name_and_names_of_commands_are_refused(store: StoreFolder) -> None:
    add_patents(store, corpus())
    draw_sample(store, "main", SampleParameters(targets=1))
    with pytest.raises(SampleRefused, match="already") as refused:
        draw_sample(store, "main", SampleParameters(targets=1))
    assert "--extend" in refused.value.todo
    assert "patcache rm sample main" in refused.value.todo
    for name in ("export", "list", "import", "", "-x", "two words"):
        with pytest.raises(SampleRefused, match="no name"):
            draw_sample(store, name, SampleParameters(targets=1))


def test_parameters_out_of_range_are_refused(store: StoreFolder) -> None:
    add_patents(store, corpus(40))
    wrong = [
        SampleParameters(targets=0),
        SampleParameters(seed=-1),
        SampleParameters(levels=(6,)),
        SampleParameters(levels=(0, 1)),
        SampleParameters(candidates=2),
        SampleParameters(candidates=21),
        SampleParameters(candidates=6, k=2),
        SampleParameters(k=4),
    ]
    for parameters in wrong:
        with pytest.raises(SampleRefused):
            draw_sample(store, "main", parameters)


def test_levels_drop_from_five_down_and_extras_come_from_six_down() -> None:
    every = (1, 2, 3, 4, 5, 6)
    assert levels_of(every, candidates=3) == (1, 2, 6)
    assert levels_of(every, candidates=5) == (1, 2, 3, 4, 6)
    assert levels_of(every, candidates=6) == every
    assert levels_of(every, candidates=8) == (1, 2, 3, 4, 5, 5, 6, 6)
    assert levels_of(every, candidates=13) == (1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 6)
    assert levels_of((1, 2, 3, 4, 5), candidates=4) == (1, 2, 3, 5)
    assert levels_of((1, 3, 6), k=2) == (1, 1, 3, 3, 6, 6)


@pytest.mark.parametrize("m", range(3, 21))
def test_every_size_of_tuple_has_distinct_candidates_and_a_chance_level(
    store: StoreFolder, m: int
) -> None:
    add_patents(store, corpus(600, years=(2001,)))
    report = draw_sample(store, "main", SampleParameters(targets=2, candidates=m))
    with store.read() as cursor:
        shapes = cursor.execute("SELECT levels, chance FROM data.shapes").fetchall()
        texts = dict(cursor.execute("SELECT publication_number, abstract FROM patents").fetchall())
    assert report.n_tuples > 0
    assert shapes == [(list(report.shape.levels), float(chance(report.shape)))]
    for _, target, candidates in drawn(store, "main"):
        assert len({texts[name] for name in (target, *candidates)}) == m + 1


def test_the_study_left_out_nobody_but_the_target() -> None:
    parameters = study("section", seed=4)
    assert parameters == SampleParameters(
        targets=5000, per="section", seed=4, allow_same_text=True, allow_family=True
    )
    assert study().targets == 100
    assert study("year").targets == 1000


def test_removing_a_sample_leaves_the_others(store: StoreFolder) -> None:
    add_patents(store, corpus())
    draw_sample(store, "one", SampleParameters(targets=2))
    draw_sample(store, "two", SampleParameters(targets=2))
    kept = drawn(store, "two")
    remove_sample(store, "one")
    assert drawn(store, "two") == kept
    with store.read() as cursor:
        assert sample_names(cursor) == ["two"]
        for table in ("tuples", "sample_cells", "shortages", "label_noise"):
            owners = cursor.execute(f"SELECT DISTINCT sample_id FROM data.{table}").fetchall()
            assert owners == [(sample_id(cursor, "two"),)]
        with pytest.raises(NotThere, match="two"):
            sample_id(cursor, "one")


@pytest.fixture(scope="module")
def real_store(tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    store = StoreFolder(tmp_path_factory.mktemp("real") / "store")
    add_patents(store, real_patents(shared_path("data/patents_en.parquet")))
    return store


@pytest.mark.parametrize(
    ("levels", "column"), [((1, 2, 3, 4, 5, 6), "all6"), ((1, 2, 3, 4, 5), "all5")]
)
def test_eligible_targets_of_the_real_patents_are_those_counted_independently(
    real_store: StoreFolder, levels: tuple[int, ...], column: str
) -> None:
    parameters = SampleParameters(
        targets=None, levels=levels, allow_same_text=True, allow_family=True
    )
    report = draw_sample(real_store, column, parameters)
    with shared_path("data/coverage_patents_en.csv").open(encoding="utf-8") as stream:
        expected = {(int(row["year"]), row["ipc_section"]): row for row in csv.DictReader(stream)}
    with real_store.read() as cursor:
        cells = cursor.execute(
            "SELECT year, section, n_patents, n_eligible FROM sample_cells WHERE sample = ?",
            [column],
        ).fetchall()
        short = {
            (year, section, level): n
            for year, section, level, n in cursor.execute(
                "SELECT year, section, level, n_patents FROM shortages WHERE sample = ?", [column]
            ).fetchall()
        }
    assert report.n_tuples == {"all6": 2117, "all5": 4457}[column]
    assert len(cells) == len(expected)
    partners = ("section", "class", "subclass", "main_group", "subgroup", "same")
    for year, section, n_patents, n_eligible in cells:
        row = expected[year, section]
        assert n_patents == int(row["n"])
        assert n_eligible == int(row[column])
        for level, partner in zip(levels, partners, strict=False):
            assert short.get((year, section, level), 0) == n_patents - int(row[partner])


def test_label_noise_of_the_real_patents_is_within_what_was_measured(
    real_store: StoreFolder,
) -> None:
    report = draw_sample(real_store, "noisy", SampleParameters(targets=30))
    assert 0.11 < report.noise_share < 0.25
    strict = draw_sample(real_store, "strict", SampleParameters(targets=30, codes="strict"))
    assert strict.n_deeper == 0
    assert strict.n_tuples < report.n_tuples


def test_same_texts_and_families_never_meet_in_real_tuples(real_store: StoreFolder) -> None:
    draw_sample(real_store, "exclusive", SampleParameters(targets=None, levels=(1, 2, 3, 4, 5)))
    with real_store.read() as cursor:
        rows = cursor.execute(
            "SELECT publication_number, lower(abstract), family_id FROM patents"
        ).fetchall()
    text = {number: text_key(" ".join(abstract.split())) for number, abstract, _ in rows}
    family = {number: family for number, _, family in rows}
    for _, target, candidates in drawn(real_store, "exclusive"):
        assert len({text[number] for number in (target, *candidates)}) == 6
        assert all(family[c] is None or family[c] != family[target] for c in candidates)


def test_extending_uses_the_parameters_the_sample_was_drawn_with(store: StoreFolder) -> None:
    add_patents(store, corpus())
    parameters = SampleParameters(targets=2, k=2, levels=(1, 6), codes="strict", seed=9)
    draw_sample(store, "main", parameters)
    add_patents(store, corpus(years=(2003,), seed=2))
    extend_sample(store, "main")
    draw_sample(store, "new", replace(parameters, where="year = 2003"))
    later = [row[1:] for row in drawn(store, "main") if row[1].startswith("US2003")]
    assert later == [row[1:] for row in drawn(store, "new")]
    assert len(later) > 0


def test_tuple_sets_come_as_the_arrays_they_promise(store: StoreFolder) -> None:
    add_patents(store, corpus())
    draw_sample(store, "main", SampleParameters(targets=2))
    with store.read() as cursor:
        (some,) = tuple_sets(cursor, sample_id(cursor, "main"))
    assert some.candidates.shape == (len(some.ids), 6)
    types = (some.ids.dtype, some.targets.dtype, some.candidates.dtype, some.years.dtype)
    assert types == (np.int64, np.int32, np.int32, np.int16)
    assert set(some.sections) <= {"A", "B", "H"}
