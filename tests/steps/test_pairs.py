"""Each pair of a target and a candidate is scored once per spec, kept like a vector, and used."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders.base import Scores
from patcache.errors import ModelRefused, NotThere
from patcache.hashing import pair_keys, text_keys
from patcache.queries.models import models
from patcache.records import ModelRequest, Spec
from patcache.steps import embedding, encoding, pairs
from patcache.steps.embedding import EmbedReport, embed
from patcache.steps.scoring import score
from patcache.store import StoreFolder
from patcache.store.samples import remove_sample
from patcache.vectors.rows import open_rows
from patcache.vectors.verify import check_rows
from tests.steps.study_by_hand import add_patents, add_tuples, random_study

Pair = tuple[str, str]
N_PAIRS = 470  # of random_study: 80 tuples of 6 candidates, and 10 pairs that come again
DISTANCES = """
SELECT tuple_id, similarities, footrule, concordance FROM data.distances
JOIN data.specs USING (spec_id) WHERE label = ? ORDER BY tuple_id"""
BM25 = ModelRequest("bm25", settings={"segmenter": "regex"})


class WordScorer:
    """How many words of the document the query has; NaN for a document "none"."""

    device = "cpu"
    provenance: Mapping[str, Any] = {"library": "by hand"}

    def __init__(
        self, prompts: Pair = ("", ""), die_at: int | None = None, label: str = "words"
    ) -> None:
        identity = {
            "embedder": "words",
            "pairs": True,
            "text": {"fields": ["title", "abstract"], "separator": ". "},
            "prompts": {"query": prompts[0], "document": prompts[1]},
            "storage": "float32",
            "normalize": False,
        }
        self.spec = Spec(label, identity, dim=1)
        self.seen: list[Pair] = []
        self._die_at = die_at
        self._n_blocks = 0

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> Scores:
        self._n_blocks += 1
        if self._n_blocks == self._die_at:
            signal.raise_signal(signal.SIGKILL)
        asked = list(zip(queries, documents, strict=True))
        self.seen += asked
        values = np.array([self.value(*pair) for pair in asked], dtype=np.float32)
        return Scores(values, n_truncated=sum(len(document) > 80 for document in documents))

    def value(self, query: str, document: str) -> float:
        words = document.split()
        return float("nan") if document == "none" else float(sum(w in query.split() for w in words))


def run(store: StoreFolder, scorer: WordScorer, **options: Any) -> EmbedReport:
    return embed(store, ModelRequest(scorer.spec.label), embedder=scorer, **options)


def rows_of(store: StoreFolder, scorer: WordScorer) -> Any:
    return open_rows(store.vectors_path / scorer.spec.spec_id, scorer.spec)


def folder_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.npy"))}


def fetch(store: StoreFolder, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with store.read() as cursor:
        return cursor.execute(sql, list(values)).fetchall()


def titles(store: StoreFolder, *texts: str | None, first_id: int = 0) -> None:
    add_patents(store, [(text, None) for text in texts], first_id)


def test_a_pair_of_two_tuples_two_samples_and_a_shared_text_is_scored_once(
    store: StoreFolder,
) -> None:
    titles(store, "a b", "a", "a", "b")  # patents 1 and 2 share a text
    add_tuples(store, "main", [(0, 1, 3), (0, 2, 3)], levels=(1, 2))
    add_tuples(store, "more", [(0, 3, 2), (3, 0, 1)], levels=(1, 2), sample_id=2)
    scorer = WordScorer()
    report = run(store, scorer)
    assert scorer.seen == [("a b", "a"), ("a b", "b"), ("b", "a b"), ("b", "a")]
    assert (report.n_texts, report.n_encoded, report.n_stored, report.dim) == (4, 4, 4, 1)
    assert report.is_pairs
    rows = rows_of(store, scorer)
    keys = pair_keys(text_keys(["b", "a b", "b"]), text_keys(["a b", "b", "b"]))
    assert rows.rows_of(keys).tolist() == [2, 1, -1]
    assert rows.gather(np.arange(4)).tolist() == [[1], [1], [1], [0]]


def test_a_target_that_is_a_candidate_elsewhere_is_another_pair(store: StoreFolder) -> None:
    titles(store, "a a b", "a", "b")
    add_tuples(store, "main", [(0, 1, 2), (1, 0, 2)], levels=(1, 2))
    scorer = WordScorer()
    run(store, scorer)
    score(store)
    assert ("a a b", "a") in scorer.seen
    assert ("a", "a a b") in scorer.seen
    # "a" in "a a b" is one word of one; of "a a b", two words are in "a".
    assert [row[1] for row in fetch(store, DISTANCES, "words")] == [[1, 1], [2, 0]]


def test_prompts_go_before_target_and_candidate_and_into_the_key(store: StoreFolder) -> None:
    titles(store, "a", "b", "c")
    add_tuples(store, "main", [(0, 1, 2), (1, 0, 2)], levels=(1, 2))
    scorer = WordScorer(("q: ", "d: "))
    run(store, scorer)
    assert scorer.seen == [
        ("q: a", "d: b"),
        ("q: a", "d: c"),
        ("q: b", "d: a"),
        ("q: b", "d: c"),
    ]
    keys = pair_keys(text_keys(["q: b", "b"]), text_keys(["d: a", "a"]))
    assert rows_of(store, scorer).rows_of(keys).tolist() == [2, -1]
    assert [report.n_scored for report in score(store)] == [2]


def test_distances_by_hand(store: StoreFolder) -> None:
    titles(store, "a b c d", "a", "a b", "a b c", "x", None, "none")
    tuples = [(0, 1, 2, 3), (0, 3, 2, 1), (0, 4, 1, 1), (0, 1, 5, 3), (0, 1, 2, 6), (5, 1, 2, 3)]
    add_tuples(store, "main", tuples, levels=(1, 2, 3))
    scorer = WordScorer()
    report = run(store, scorer)
    assert (report.n_without_text, report.n_encoded) == (1, 5)
    assert [report.n_undefined for report in score(store)] == [3]
    found = {row[0]: row[1:] for row in fetch(store, DISTANCES, "words")}
    # In gold order: nothing to pay. Reversed: 2 + 0 + 2 ranks of lcm(1, 2, 3) = 6 units.
    assert found[0] == ([1, 2, 3], 0, 3)
    assert found[1] == ([3, 2, 1], 24, -3)
    # 0, then twice the same text, which is one row: ranks 2 and 3 at random, half a rank each.
    assert found[2] == ([0, 1, 1], 6, 2)
    # A candidate or target without a text, or a pair without a score: undefined, never ranked.
    for undefined in (3, 4, 5):
        assert found[undefined][1:] == (None, None)
    assert np.isnan(found[4][0][2])
    assert np.isnan(found[5][0]).all()


def test_pairs_without_a_score_are_counted_and_refused(store: StoreFolder) -> None:
    titles(store, "a", "b", "c")
    add_tuples(store, "main", [(0, 1, 2)], levels=(1, 2))
    run(store, WordScorer())
    add_tuples(store, "main", [(1, 2, 0), (1, 2, 0)], levels=(1, 2), first_id=1)
    with pytest.raises(NotThere, match="2 pairs of sample main have no score of words"):
        score(store)
    second = WordScorer()
    report = run(store, second)
    assert second.seen == [("b", "c"), ("b", "a")]
    assert (report.n_encoded, report.n_stored) == (2, 4)
    assert [report.n_scored for report in score(store)] == [3]


def test_nothing_is_loaded_where_nothing_is_missing(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuples = random_study(store)
    first = embed(store, BM25)
    assert first.n_encoded == first.n_texts == N_PAIRS

    def no_load(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(embedding, "load_model", no_load)
    assert embed(store, BM25).n_encoded == 0
    target, *candidates = tuples[0]
    add_tuples(store, "more", [(target, *candidates[:2])], levels=(1, 2), sample_id=2, shape_id=2)
    report = embed(store, BM25)
    assert (report.n_encoded, report.n_stored) == (0, N_PAIRS)


def test_every_text_of_the_corpus_makes_no_pairs(store: StoreFolder) -> None:
    random_study(store)
    with pytest.raises(ModelRefused, match="--all"):
        run(store, WordScorer(), all_texts=True)
    assert rows_of(store, WordScorer()).n_rows == 0


def test_a_fit_stays_and_refit_makes_another_spec(store: StoreFolder) -> None:
    random_study(store)
    first = embed(store, BM25)
    titles(store, "Quite different words", "Title again", first_id=120)
    add_tuples(store, "main", [(120, 121, 0, 1, 2, 3, 4)], levels=range(1, 7), first_id=80)
    second = embed(store, BM25)
    assert (second.spec_id, second.n_encoded) == (first.spec_id, 6)
    third = embed(store, BM25, refit=True)
    assert third.spec_id != first.spec_id
    assert third.label.startswith("bm25~")
    assert third.n_encoded == N_PAIRS + 6
    assert [report.n_scored for report in score(store)] == [81, 81]


def test_a_folder_copied_from_another_store_is_used_without_scoring(
    store: StoreFolder, tmp_path: Path
) -> None:
    other = StoreFolder(tmp_path / "other")
    for where in (store, other):
        random_study(where)
    spec_id = run(other, WordScorer()).spec_id
    shutil.copytree(other.vectors_path / spec_id, store.vectors_path / spec_id)
    scorer = WordScorer()
    assert run(store, scorer).n_encoded == 0
    assert scorer.seen == []
    score(store)
    score(other)
    assert fetch(store, DISTANCES, "words") == fetch(other, DISTANCES, "words")


def test_ctrl_c_keeps_whole_blocks_and_the_rest_follows(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "BLOCK_TEXTS", 16)
    random_study(store)

    def press_ctrl_c(done: int, _total: int) -> None:
        if done:
            signal.raise_signal(signal.SIGINT)

    first, second = WordScorer(), WordScorer()
    with pytest.raises(KeyboardInterrupt):
        run(store, first, progress=press_ctrl_c)
    n_rows = rows_of(store, first).n_rows
    assert n_rows % 16 == 0
    assert 0 < n_rows < N_PAIRS
    assert len(first.seen) == n_rows
    run(store, second)
    assert len(second.seen) == N_PAIRS - n_rows


def test_blocks_are_prepared_apart_where_the_scorer_can(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "BLOCK_TEXTS", 7)
    monkeypatch.setattr(pairs, "WINDOW_PAIRS", 20)
    random_study(store)

    class Staged(WordScorer):
        def prepare(self, queries: Sequence[str], documents: Sequence[str]) -> list[Pair]:
            return list(zip(queries, documents, strict=True))

        def score_prepared(self, prepared: list[Pair]) -> Scores:
            return self.score([query for query, _ in prepared], [text for _, text in prepared])

    plain, staged = WordScorer(), Staged(label="staged")
    staged.spec = Spec("staged", {**plain.spec.identity, "embedder": "staged"}, dim=1)
    assert run(store, staged).n_truncated == run(store, plain).n_truncated > 0
    assert staged.seen == plain.seen
    assert rows_of(store, staged).gather(np.arange(N_PAIRS)).tolist() == [
        [plain.value(*pair)] for pair in plain.seen
    ]


def test_a_sample_removed_meanwhile_is_refused(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuples = random_study(store)
    run(store, WordScorer())
    original = pairs.pair_keys_of

    def overtaken(*arguments: Any) -> Any:
        found = original(*arguments)
        remove_sample(store, "main")
        titles(store, "new", first_id=120)
        add_tuples(store, "main", [(120, *tuples[0][1:])], levels=range(1, 7))
        return found

    monkeypatch.setattr(pairs, "pair_keys_of", overtaken)
    with pytest.raises(NotThere, match="removed meanwhile"):
        score(store)


def test_the_list_of_models_counts_pairs(store: StoreFolder) -> None:
    random_study(store)
    run(store, WordScorer())
    (row,) = models(store, only_stored=True).rows
    assert (row.label, row.n_texts, row.n_pairs, row.dim) == ("words", None, N_PAIRS, None)


CHILD = """
import sys
sys.path.insert(0, sys.argv[2])
from tests.steps.test_pairs import WordScorer
from patcache.records import ModelRequest
from patcache.steps import encoding, pairs
from patcache.steps.embedding import embed
from patcache.store import StoreFolder

encoding.BLOCK_TEXTS = 8
pairs.WINDOW_PAIRS = 32
store = StoreFolder(sys.argv[1], create=False)
scorer = WordScorer(die_at=int(sys.argv[3]))
embed(store, ModelRequest("words"), embedder=scorer)
"""


def child(store: StoreFolder, die_at: int) -> int:
    root = str(Path(__file__).parents[2])
    arguments = [str(store.path), root, str(die_at)]
    return subprocess.run([sys.executable, "-c", CHILD, *arguments], check=False).returncode


def test_killed_and_resumed_runs_make_the_bytes_of_a_whole_one(
    store: StoreFolder, tmp_path: Path
) -> None:
    whole = StoreFolder(tmp_path / "whole")
    for where in (store, whole):
        random_study(where)
    assert child(whole, die_at=0) == 0
    rng = random.Random(5)
    for _ in range(5):
        assert child(store, die_at=rng.randint(2, 12)) == -signal.SIGKILL
    n_killed = rows_of(store, WordScorer()).n_rows
    assert 0 < n_killed < N_PAIRS
    assert n_killed % 8 == 0
    assert child(store, die_at=0) == 0
    folder = store.vectors_path / WordScorer().spec.spec_id
    assert folder_bytes(folder) == folder_bytes(whole.vectors_path / folder.name)
    assert check_rows(folder, WordScorer().spec).faults == []
    assert fetch(store, "SELECT n_texts FROM models") == [(N_PAIRS,)]
