"""Scores agree with what anybody can compute from the texts, and are written once."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.errors import NotThere
from patcache.records import ModelRequest
from patcache.steps import scoring, similarities
from patcache.steps.embedding import embed
from patcache.steps.scoring import ScoreReport, score
from patcache.store import StoreFolder
from patcache.store.samples import remove_sample
from patcache.vectors.rows import DenseRows
from tests.steps.study_by_hand import (
    LETTERS,
    LetterEmbedder,
    add_patents,
    add_tuples,
    random_study,
    random_texts,
)

DISTANCES = """
SELECT tuple_id, similarities, footrule, concordance, is_near_tie FROM data.distances
JOIN data.specs USING (spec_id) WHERE label = ? ORDER BY tuple_id"""


def add(store: StoreFolder, embedder: LetterEmbedder) -> list[ScoreReport]:
    embed(store, ModelRequest(embedder.spec.label), embedder=embedder)
    return score(store)


def fetch(store: StoreFolder, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with store.read() as cursor:
        return cursor.execute(sql, list(values)).fetchall()


def plain_text(title: str | None, abstract: str | None) -> str:
    return ". ".join(part for part in (title, abstract) if part)


def plain_cosine(a: list[float], b: list[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))


def plain_footrule(similarities: list[float], levels: list[int], tolerance: float) -> Fraction:
    """Mean footrule over every order that the ties allow, by enumeration."""
    order = sorted(range(len(levels)), key=similarities.__getitem__)
    blocks = [[order[0]]]
    for before, here in itertools.pairwise(order):
        if similarities[here] - similarities[before] > tolerance:
            blocks.append([])
        blocks[-1].append(here)
    ideal = sorted(levels)
    first = {level: ideal.index(level) + 1 for level in ideal}
    last = {level: len(ideal) - ideal[::-1].index(level) for level in ideal}
    total, n_orders = 0, 0
    for ways in itertools.product(*(itertools.permutations(block) for block in blocks)):
        n_orders += 1
        for rank, candidate in enumerate(itertools.chain(*ways), start=1):
            level = levels[candidate]
            total += max(0, first[level] - rank, rank - last[level])
    return Fraction(total, n_orders)


def plain_concordance(similarities: list[float], levels: list[int], tolerance: float) -> int:
    """Over pairs of different level, ties (by chains of small gaps) as 0."""
    order = sorted(range(len(levels)), key=similarities.__getitem__)
    block, number = {order[0]: 0}, 0
    for before, here in itertools.pairwise(order):
        number += similarities[here] - similarities[before] > tolerance
        block[here] = number
    return sum(
        (block[b] > block[a]) - (block[b] < block[a])
        for a, b in itertools.combinations(range(len(levels)), 2)
        if levels[a] < levels[b]
    )


@pytest.mark.parametrize("levels", [(1, 2, 3, 4, 5, 6), (1, 1, 2, 3, 3, 3)])
@pytest.mark.parametrize("kind", ["dense", "sparse", "float16", "prompts"])
def test_distances_agree_with_plain_python_from_the_texts(
    store: StoreFolder, levels: tuple[int, ...], kind: str
) -> None:
    texts = random_texts(60, 11)
    texts[7] = texts[8]  # a tie wherever both are candidates
    add_patents(store, texts)
    rng = np.random.default_rng(2)
    tuples = [rng.choice(60, 7, replace=False).tolist() for _ in range(40)]
    tuples.append([0, 7, 1, 8, 2, 3, 4])
    add_tuples(store, "main", tuples, levels=levels)
    prompts = ("ask ", "tell ") if kind == "prompts" else ("", "")
    embedder = LetterEmbedder(
        sparse=kind == "sparse",
        storage="float16" if kind == "float16" else "float32",
        prompts=prompts,
    )
    add(store, embedder)
    rows = fetch(store, DISTANCES, "letters")
    assert [row[0] for row in rows] == list(range(41))
    for (_, found, footrule, concordance, is_near), members in zip(rows, tuples, strict=True):
        target, *others = [plain_text(*texts[i]) for i in members]
        ask = embedder.vector(prompts[0] + target)
        expected = [plain_cosine(ask, embedder.vector(prompts[1] + text)) for text in others]
        assert found == pytest.approx(expected, abs=3e-7)
        assert not is_near
        assert Fraction(footrule, math.lcm(*range(1, 7))) == plain_footrule(
            expected, list(levels), 1e-6
        )
        assert concordance == plain_concordance(expected, list(levels), 1e-6)


def test_kept_counts_are_those_of_the_distances(store: StoreFolder) -> None:
    random_study(store)
    add(store, LetterEmbedder())
    add(store, LetterEmbedder("other", reverse=True))
    per_tuple = fetch(
        store,
        "SELECT spec_id, year, section, footrule, concordance, tuple_id "
        "FROM data.distances JOIN data.tuples USING (sample_id, tuple_id)",
    )
    expected: Counter[Any] = Counter()
    for spec_id, year, section, footrule, concordance, _ in per_tuple:
        expected[spec_id, "footrule", year, section, footrule] += 1
        expected[spec_id, "concordance", year, section, concordance] += 1
    kept = fetch(store, "SELECT spec_id, indicator, year, section, value, n FROM data.counts")
    assert {row[:5]: row[5] for row in kept} == dict(expected)
    assert len(kept) == len(expected)
    totals = fetch(store, "SELECT spec_id, sum(n_tuples) FROM data.cell_totals GROUP BY spec_id")
    assert [n for _, n in totals] == [80, 80]


class Reversed(LetterEmbedder):
    """Letters weighted by their place: another order than LetterEmbedder's."""

    def vector(self, text: str) -> list[float]:
        return [float(i * text.lower().count(letter)) for i, letter in enumerate(LETTERS)]


def test_differences_are_kept_once_for_each_pair_of_specs(store: StoreFolder) -> None:
    random_study(store)
    specs = [
        LetterEmbedder("one"),
        Reversed("two", way=2),
        Reversed("three", way=3, storage="float16"),
    ]
    for embedder in specs:
        add(store, embedder)
    rows = fetch(
        store,
        "SELECT tuple_id, spec_id, year, section, footrule, concordance "
        "FROM data.distances JOIN data.tuples USING (sample_id, tuple_id)",
    )
    value = {(row[0], row[1]): row[4:6] for row in rows}
    cell = {row[0]: row[2:4] for row in rows}
    expected: Counter[Any] = Counter()
    for a, b in itertools.combinations(sorted(e.spec.spec_id for e in specs), 2):
        for tuple_id in range(80):
            for place, indicator in enumerate(("footrule", "concordance")):
                difference = value[tuple_id, a][place] - value[tuple_id, b][place]
                expected[a, b, indicator, *cell[tuple_id], difference] += 1
    kept = fetch(
        store,
        "SELECT spec_a, spec_b, indicator, year, section, difference, n "
        "FROM data.difference_counts",
    )
    assert {row[:6]: row[6] for row in kept} == dict(expected)
    assert len(kept) == len(expected)
    assert len({row[5] for row in kept}) > 3


def test_a_model_scored_before_a_sample_grew_is_paired_on_the_tuples_of_both(
    store: StoreFolder,
) -> None:
    random_study(store)
    add(store, LetterEmbedder())
    add_tuples(store, "main", [tuple(range(7))], levels=range(1, 7), first_id=80)
    embed(store, ModelRequest("reversed"), embedder=Reversed("reversed", direction="up"))
    counted = "SELECT sum(n) FROM data.difference_counts WHERE indicator = 'footrule'"
    for models, n_pairs in ((["reversed"], 80), (["letters"], 81)):
        embed(store, ModelRequest("letters"), embedder=LetterEmbedder())
        assert [report.n_tuples for report in score(store, models=models)] == [81]
        assert fetch(store, counted) == [(n_pairs,)]


def test_a_second_run_does_nothing(store: StoreFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    random_study(store)
    first = add(store, LetterEmbedder())
    assert [report.n_scored for report in first] == [80]

    def no_rows(*_: Any) -> None:
        raise AssertionError("vectors were opened")

    monkeypatch.setattr(scoring, "spec_rows", no_rows)
    assert [report.n_scored for report in score(store)] == [0]
    assert len(fetch(store, DISTANCES, "letters")) == 80


def test_scoring_reads_the_rows_of_a_few_tuples_at_a_time(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_study(store)
    embed(store, ModelRequest("letters"), embedder=LetterEmbedder())
    monkeypatch.setattr(similarities, "CHUNK_BYTES", 7 * 26 * 4 * 3)  # three tuples of 7 rows
    sizes = []
    gather = DenseRows.gather

    def counted(self: DenseRows, rows: Any) -> Any:
        sizes.append(len(rows))
        return gather(self, rows)

    monkeypatch.setattr(DenseRows, "gather", counted)
    score(store)
    assert sizes == [21] * 26 + [14]  # 80 tuples


def test_a_new_model_touches_its_own_rows_only(store: StoreFolder) -> None:
    random_study(store)
    first = LetterEmbedder()
    add(store, first)
    files = {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted((store.vectors_path / first.spec.spec_id).rglob("*"))
        if path.is_file()
    }
    tables = ("distances", "counts", "cell_totals", "scores", "encodings", "embedded", "specs")
    before = {t: fetch(store, f"SELECT rowid, * FROM data.{t} ORDER BY rowid") for t in tables}
    n_seen = len(first.seen)
    second = Reversed("second", way=2)
    reports = add(store, second)
    assert len(first.seen) == n_seen
    assert [report.n_scored for report in reports] == [0, 80]
    for path, (raw, changed) in files.items():
        assert path.read_bytes() == raw
        assert path.stat().st_mtime_ns == changed
    for table, rows in before.items():
        after = fetch(store, f"SELECT rowid, * FROM data.{table} ORDER BY rowid")
        assert after[: len(rows)] == rows, table


def test_vectors_without_a_direction_leave_their_tuples_undefined(store: StoreFolder) -> None:
    class Holes(LetterEmbedder):
        def vector(self, text: str) -> list[float]:
            number = int(text.split()[1].rstrip("."))
            if number in (5, 17, 33):
                return [math.nan] * 26
            if number in (8, 50):
                return [0.0] * 26
            return super().vector(text)

    tuples = random_study(store)
    embedder = Holes()
    report = add(store, embedder)[0]
    bad = [i for i, members in enumerate(tuples) if {5, 17, 33, 8, 50} & set(members)]
    assert 0 < len(bad) < 80
    assert report.n_undefined == len(bad)
    undefined = fetch(
        store, "SELECT tuple_id FROM data.distances WHERE footrule IS NULL ORDER BY tuple_id"
    )
    assert [row[0] for row in undefined] == bad
    nulls = "SELECT count(*) FROM data.distances WHERE footrule IS NULL AND concordance IS NULL"
    assert fetch(store, nulls) == [(len(bad),)]
    counted = "SELECT sum(n) FROM data.counts WHERE indicator = 'footrule'"
    assert fetch(store, counted) == [(80 - len(bad),)]
    add(store, LetterEmbedder("whole", whole=True))
    paired = "SELECT sum(n) FROM data.difference_counts WHERE indicator = 'footrule'"
    assert fetch(store, paired) == [(80 - len(bad),)]


def test_a_patent_without_a_text_leaves_its_tuples_undefined(store: StoreFolder) -> None:
    texts = random_texts(20, 1)  # patents 9 and 19 have no abstract
    add_patents(store, texts)
    add_tuples(store, "main", [(0, 1, 2), (3, 9, 4), (19, 5, 6)], levels=(1, 2))
    add(store, LetterEmbedder(text={"fields": ["abstract"], "separator": ". "}))
    rows = fetch(store, DISTANCES, "letters")
    assert [row[2] is None for row in rows] == [False, True, True]


def test_a_constant_model_is_at_chance_exactly(store: StoreFolder) -> None:
    class Constant(LetterEmbedder):
        def vector(self, text: str) -> list[float]:
            return [1.0, 2.0] + [0.0] * 24

    random_study(store)
    add(store, Constant())
    # Every order is as likely: 35/3 ranks of 18, so RCI 1 - 35/54 = 0.3519; in units of 1/60.
    assert {row[2:4] for row in fetch(store, DISTANCES, "letters")} == {(700, 0)}


def test_the_order_of_import_and_of_candidates_of_a_level_changes_nothing(
    store: StoreFolder, tmp_path: Path
) -> None:
    texts = random_texts(40, 9)
    rng = np.random.default_rng(4)
    tuples = [rng.choice(40, 7, replace=False).tolist() for _ in range(30)]
    levels = (1, 1, 1, 2, 2, 3)
    add_patents(store, texts)
    add_tuples(store, "main", tuples, levels=levels)
    add(store, LetterEmbedder())
    other = StoreFolder(tmp_path / "other")
    moved = rng.permutation(40).tolist()  # patent i is imported as moved[i]
    add_patents(other, [texts[moved.index(i)] for i in range(40)])
    shuffle = [0, 3, 1, 2, 5, 4, 6]  # the target stays, and so does every level
    add_tuples(other, "main", [[moved[row[i]] for i in shuffle] for row in tuples], levels=levels)
    add(other, LetterEmbedder())
    back = np.argsort([i - 1 for i in shuffle[1:]])
    for here, there in zip(
        fetch(store, DISTANCES, "letters"), fetch(other, DISTANCES, "letters"), strict=True
    ):
        assert here[2:] == there[2:]
        assert here[1] == [there[1][i] for i in back]  # to the last bit


def test_missing_vectors_are_named_with_the_command_that_makes_them(store: StoreFolder) -> None:
    random_study(store)
    add(store, LetterEmbedder())
    add_patents(store, [("New", "one"), ("New", "two")], first_id=120)
    add_tuples(store, "more", [(120, 121, 1)], levels=(1, 2), sample_id=2, shape_id=2)
    with pytest.raises(NotThere, match="2 texts of sample more have no vectors of") as caught:
        score(store, models=["letters"])
    assert caught.value.todo == "run `patcache embed letters --sample more` first"
    assert [(r.sample, r.n_missing) for r in score(store)] == [("main", 0), ("more", 2)]


@pytest.mark.parametrize(
    ("options", "what"),
    [({"models": ["none"]}, "no model 'none'"), ({"samples": ["none"]}, "no sample 'none'")],
)
def test_unknown_names_are_refused(store: StoreFolder, options: Any, what: str) -> None:
    random_study(store)
    add(store, LetterEmbedder())
    with pytest.raises(NotThere, match=what):
        score(store, **options)


def test_more_tuples_of_a_sample_are_added_to_the_counts(store: StoreFolder) -> None:
    random_study(store)
    add(store, LetterEmbedder())
    before = fetch(store, DISTANCES, "letters")
    add_tuples(store, "main", [tuple(range(7))], levels=range(1, 7), first_id=80)
    reports = add(store, LetterEmbedder())
    assert [report.n_scored for report in reports] == [1]
    assert fetch(store, DISTANCES, "letters")[:80] == before
    assert fetch(store, "SELECT n_tuples FROM data.scores") == [(81,)]
    counted = "SELECT sum(n) FROM data.counts WHERE indicator = 'footrule'"
    assert fetch(store, counted) == [(81,)]


def test_another_tolerance_is_another_scoring(store: StoreFolder) -> None:
    random_study(store)
    add(store, LetterEmbedder())
    score(store, tie_tolerance=0.5)
    found = fetch(
        store,
        "SELECT tie_tolerance, count(*) FROM data.distances "
        "JOIN data.scorings USING (scoring_id) GROUP BY ALL ORDER BY ALL",
    )
    assert found == [(1e-6, 80), (0.5, 80)]


def test_equal_tolerances_are_one_scoring_and_none_is_below_zero(store: StoreFolder) -> None:
    random_study(store)
    add(store, LetterEmbedder())
    assert [score(store, tie_tolerance=t)[0].n_scored for t in (0, 0.0, -0.0)] == [80, 0, 0]
    for wrong in (-1e-9, math.nan, math.inf):
        with pytest.raises(ValueError, match="not 0 or more"):
            score(store, tie_tolerance=wrong)
    assert fetch(store, "SELECT tie_tolerance FROM data.scorings ORDER BY 1") == [(0,), (1e-6,)]


def test_two_runs_at_once_write_no_row_twice(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_study(store)
    embed(store, ModelRequest("letters"), embedder=LetterEmbedder())
    original = scoring._distances
    inner: list[ScoreReport] = []

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(scoring, "_distances", original)
        inner.extend(score(store))  # another process, between this one's reading and writing
        return original(*arguments)

    monkeypatch.setattr(scoring, "_distances", overtaken)
    score(store)
    assert inner[0].n_scored == 80
    assert len(fetch(store, DISTANCES, "letters")) == 80
    assert fetch(store, "SELECT count(*), sum(n_tuples) FROM data.scores") == [(1, 80)]


def test_tuples_that_come_while_scoring_wait_for_the_next_run(
    store: StoreFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_study(store)
    embed(store, ModelRequest("letters"), embedder=LetterEmbedder())
    original = scoring.find_pending
    more = (120, *range(6))  # patent 120 is new: no row was looked up for it

    def overtaken(*arguments: Any) -> Any:
        found = original(*arguments)
        monkeypatch.setattr(scoring, "find_pending", original)
        add_patents(store, [("zebra", "zzz")], first_id=120)
        add_tuples(store, "main", [more], levels=range(1, 7), first_id=80)
        return found

    monkeypatch.setattr(scoring, "find_pending", overtaken)
    assert [report.n_scored for report in score(store)] == [80]
    assert fetch(store, "SELECT n_tuples FROM data.scores") == [(80,)]
    assert [report.n_scored for report in add(store, LetterEmbedder())] == [1]
    whole = StoreFolder(tmp_path / "whole")
    random_study(whole)
    add_patents(whole, [("zebra", "zzz")], first_id=120)
    add_tuples(whole, "main", [more], levels=range(1, 7), first_id=80)
    add(whole, LetterEmbedder())
    assert fetch(store, DISTANCES, "letters") == fetch(whole, DISTANCES, "letters")


@pytest.mark.parametrize("step", ["find_pending", "pending_tuples", "_distances"])
def test_a_sample_replaced_while_scored_gets_no_scores_of_the_old_one(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    tuples = random_study(store)
    embed(store, ModelRequest("letters"), embedder=LetterEmbedder())
    original = getattr(scoring, step)

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(scoring, step, original)
        found = original(*arguments)
        removing.append(arguments)
        return found

    removing: list[Any] = []
    read = StoreFolder.read

    def replaced(self: StoreFolder) -> Any:
        """The sample goes, and another gets its id, before the next look at the store."""
        if removing:
            removing.clear()
            remove_sample(store, "main")
            add_tuples(store, "main", tuples[::-1], levels=range(1, 7))
        return read(self)

    monkeypatch.setattr(scoring, step, overtaken)
    monkeypatch.setattr(StoreFolder, "read", replaced)
    write = StoreFolder.write
    monkeypatch.setattr(StoreFolder, "write", lambda self: (replaced(self), write(self))[1])
    with pytest.raises(NotThere, match="sample main was removed meanwhile"):
        score(store)
    monkeypatch.undo()
    assert fetch(store, "FROM data.distances") == fetch(store, "FROM data.scores") == []


def test_a_sample_replaced_while_embedded_is_not_taken_for_embedded(store: StoreFolder) -> None:
    random_study(store)

    class Slow(LetterEmbedder):
        def encode(self, texts: Any, role: Any) -> Any:
            remove_sample(store, "main")
            add_tuples(store, "main", [list(range(100, 107))] * 80, levels=range(1, 7))
            return super().encode(texts, role)

    with pytest.raises(NotThere, match="sample main was removed meanwhile"):
        embed(store, ModelRequest("letters"), embedder=Slow())
    assert [report.n_scored for report in add(store, LetterEmbedder())] == [80]


KILLED = """
import os, sys
sys.path.insert(0, sys.argv[2])
from patcache.steps import scoring
from patcache.store import StoreFolder

scoring.WINDOW_TUPLES = 16
store = StoreFolder(sys.argv[1], create=False)
left = int(sys.argv[3])
write = StoreFolder.write

def counted(self):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), 9)
    return write(self)

StoreFolder.write = counted
scoring.score(store)
"""


def test_killed_before_any_of_its_transactions_a_repeat_finishes_the_same(
    store: StoreFolder, tmp_path: Path
) -> None:
    random_study(store)
    whole = StoreFolder(tmp_path / "whole")
    random_study(whole)
    add(whole, LetterEmbedder())
    embed(store, ModelRequest("letters"), embedder=LetterEmbedder())
    for n_writes in (1, 2, 3, 2, 0):
        arguments = [str(store.path), str(Path(__file__).parents[2]), str(n_writes)]
        done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
        assert done.returncode == -9
    assert fetch(store, "FROM data.scores") == []
    assert score(store)[0].n_scored == 80 - 16 * (0 + 1 + 2 + 1)
    for table in ("distances", "counts", "cell_totals"):
        sql = f"SELECT * FROM data.{table} ORDER BY ALL"
        assert fetch(store, sql) == fetch(whole, sql)
