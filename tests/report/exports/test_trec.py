"""TREC files, parsed back: the same orders, the same nDCG, undefined tuples left out."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from patcache.api import Store
from patcache.cli import cli
from tests.report.small_study import HARD, N_TUPLES, small_study

SIMILARITIES = "SELECT model, tuple_id, similarities FROM rci WHERE NOT is_undefined"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small_study(tmp_path_factory.mktemp("trec") / "store")


@pytest.fixture(scope="module")
def out(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trec") / "out"
    store.export_trec(out)
    return out


def qrels(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines():
        qid, zero, docno, level = line.split(" ")
        assert zero == "0"
        assert docno not in found[qid]
        found[qid][docno] = int(level)
    return found


def run(path: Path) -> dict[str, list[tuple[str, int, float, str]]]:
    found: dict[str, list[tuple[str, int, float, str]]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        qid, q0, docno, rank, similarity, tag = line.split(" ")
        assert q0 == "Q0"
        found[qid].append((docno, int(rank), float(similarity), tag))
    return found


def ndcg(levels: list[int]) -> float:
    """Gain is the level, discount log2(rank + 1): Jarvelin and Kekalainen 2002, as trec_eval."""
    gain = sum(level / math.log2(rank + 1) for rank, level in enumerate(levels, start=1))
    best = sorted(levels, reverse=True)
    return gain / sum(level / math.log2(rank + 1) for rank, level in enumerate(best, start=1))


def test_qrels_hold_every_tuple_with_its_levels(out: Path) -> None:
    found = qrels(out / "qrels.txt")
    assert list(found) == [f"main-{i}" for i in range(N_TUPLES)]
    assert all(sorted(levels.values()) == [1, 2, 3, 4, 5, 6] for levels in found.values())


def test_ndcg_of_a_run_is_that_of_the_stored_similarities(store: Store, out: Path) -> None:
    gold, found = qrels(out / "qrels.txt"), run(out / "run.letters.txt")
    for model, tuple_id, similarities in store.sql(SIMILARITIES):
        if model != "letters":
            continue
        order = sorted(zip(similarities, range(1, 7), strict=True), reverse=True)
        qid = f"main-{tuple_id}"
        ranked = [gold[qid][docno] for docno, *_ in found[qid]]
        assert ndcg(ranked) == pytest.approx(ndcg([level for _, level in order]), abs=1e-12)
        assert [s for _, _, s, _ in found[qid]] == pytest.approx([s for s, _ in order], abs=1e-6)


def test_ranks_go_down_with_similarity_and_ties_by_the_larger_docno(out: Path) -> None:
    for path in out.glob("run.*.txt"):
        for rows in run(path).values():
            assert [rank for _, rank, _, _ in rows] == [1, 2, 3, 4, 5, 6]
            keys = [(similarity, docno) for docno, _, similarity, _ in rows]
            assert keys == sorted(keys, reverse=True)
            assert {tag for *_, tag in rows} == {path.name[4:-4]}


def test_undefined_tuples_are_in_no_run_and_counted(store: Store, out: Path) -> None:
    rows = {row.model: row for row in store.leaderboard()}
    names = {"letters": "letters", "titles": "titles", HARD: "org_b_q_b_x__y_"}
    for label, name in names.items():
        assert len(run(out / f"run.{name}.txt")) == rows[label].n
        undefined = f"{rows[label].n_undefined:,} undefined"
        assert f"run.{name}.txt: {label}, {rows[label].n:,} tuples, {undefined}" in (
            out / "about.txt"
        ).read_text(encoding="utf-8")


def test_a_blank_in_a_publication_number_cannot_end_a_field(tmp_path: Path) -> None:
    store = small_study(tmp_path / "store")
    with store.write() as cursor:
        cursor.execute("UPDATE data.patents SET publication_number = 'US 9,' || patent_id || '\t%'")
    store.export_trec(tmp_path / "out")
    found = qrels(tmp_path / "out" / "qrels.txt")
    assert all(docno.startswith("US%209%2C") for levels in found.values() for docno in levels)
    assert all(docno.endswith("%09%25") for levels in found.values() for docno in levels)


def test_only_the_slice_is_written(store: Store, tmp_path: Path) -> None:
    arguments = ["export", "trec", str(tmp_path / "out"), "--store", str(store.path)]
    done = CliRunner().invoke(cli, [*arguments, "--years", "2001", "--common"])
    assert done.exit_code == 0, done.output
    n = store.leaderboard(years=2001, is_common=True)[0].n
    assert len(qrels(tmp_path / "out" / "qrels.txt")) == n
    assert {len(run(path)) for path in (tmp_path / "out").glob("run.*.txt")} == {n}
