"""Measuring speed: which texts go over in which calls, what is kept, and what fails in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from patcache.embedders.base import Encoded
from patcache.embedders.random import RandomEmbedder
from patcache.errors import NotThere, PatcacheError
from patcache.records import ModelRequest, Progress, Role, Runtime, Spec
from patcache.steps.embedding import embed
from patcache.steps.measuring import Measured, Plan, Skipped, _TupleTexts, measure
from patcache.steps.sweeping import Failure
from patcache.store import StoreFolder
from tests.steps.study_by_hand import LetterEmbedder, add_patents, add_tuples, random_study


@contextmanager
def no_bar(_label: str) -> Iterator[Progress]:
    yield lambda _done, _total: None


@pytest.fixture
def study(store: StoreFolder) -> StoreFolder:
    """Twelve tuples of two candidates: target i, candidates i + 1 and i + 2."""
    add_patents(store, [(f"Title {i}", f"Abstract {i}") for i in range(14)])
    add_tuples(store, "main", [(i, i + 1, i + 2) for i in range(12)], levels=(1, 2))
    embed(store, ModelRequest("random"))
    return store


def run(store: StoreFolder, *labels: str, **plan: Any) -> list[Measured | Skipped | Failure]:
    return list(measure(store, "main", labels, Plan(**plan), bar=no_bar))


def test_every_pass_hands_over_the_same_texts_in_calls_of_its_size(
    study: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []
    encode = RandomEmbedder.encode

    def noted(self: RandomEmbedder, some: Sequence[str], role: Role) -> Encoded:
        calls.append(list(some))
        assert role == "document"  # no prompt tells targets apart
        return encode(self, some, role)

    monkeypatch.setattr(RandomEmbedder, "encode", noted)
    (found,) = run(study, "random", batches=(4, 1, 4), n_tuples=2, n_repeats=2)
    assert isinstance(found, Measured)
    # The first and the last tuple: patents 0 1 2 and 11 12 13, six texts.
    texts = [f"Title {i}. Abstract {i}" for i in (0, 1, 2, 11, 12, 13)]
    warm_up, *rest = calls
    assert warm_up == texts[:4]
    one_pass = [[text] for text in texts]
    assert rest == [*one_pass, texts[:4], texts[4:]] * 2
    assert [(t.batch, t.n_texts, t.n_tuples, t.n_repeats) for t in found.timings] == [
        (1, 6, 2, 2),
        (4, 6, 2, 2),
    ]
    assert all(t.median_s > 0 and t.spread_s >= 0 and t.device == "cpu" for t in found.timings)
    with study.read() as cursor:
        kept = cursor.execute(
            "SELECT model, batch, s_per_tuple / s_per_text, provenance->>'sample' FROM timings"
        ).fetchall()
    assert kept == [
        ("random", 1, pytest.approx(3), "main"),
        ("random", 4, pytest.approx(3), "main"),
    ]


def texts_of(**identity: Any) -> _TupleTexts:
    prompts = {"query": "q: ", "document": "d: "}
    spec = Spec("m", {"embedder": "x", "prompts": prompts, **identity}, 2)
    return _TupleTexts(spec, ("q: a", "q: b"), (("d: c", "d: e"), ("d: f", "d: g")))


def test_prompts_tell_targets_apart_and_pairs_are_counted_as_pairs() -> None:
    by_role = texts_of()
    assert by_role.n_items == 6
    assert by_role.calls(3, 1) == [
        (["q: a", "q: b"], "query"),
        (["d: c", "d: e", "d: f"], "document"),
        (["d: g"], "document"),
    ]
    pairs = texts_of(pairs=True)
    assert pairs.n_items == 4
    assert pairs.calls(3, 1) == [
        (["q: a", "q: a", "q: b"], ["d: c", "d: e", "d: f"]),
        (["q: b"], ["d: g"]),
    ]


def test_a_model_that_remembers_words_gets_texts_it_has_not_seen() -> None:
    texts = texts_of(embedder="tfidf")
    handed = {text for number in range(1, 6) for some, _ in texts.calls(6, number) for text in some}
    assert len(handed) == 5 * 6
    assert {text.rstrip() for text in handed} == {"q: a", "q: b", "d: c", "d: e", "d: f", "d: g"}


def test_what_cannot_be_loaded_is_told_and_the_others_are_measured(study: StoreFolder) -> None:
    embed(study, ModelRequest("letters"), embedder=LetterEmbedder())
    embed(study, ModelRequest("tfidf", settings={"segmenter": "regex"}))
    with study.read() as cursor:
        (folder,) = cursor.execute("SELECT spec_id FROM models WHERE model = 'tfidf'").fetchone()
    (study.vectors_path / folder / "fit").rename(study.vectors_path / "elsewhere")
    failed, unfitted, done = run(study, "letters", "tfidf", "random", batches=(1,), n_tuples=1)
    assert isinstance(failed, Failure)
    assert "letters cannot be loaded from here" in failed.error.what
    assert isinstance(unfitted, Failure)
    assert "what it learnt is gone" in unfitted.error.why
    assert isinstance(done, Measured)


def test_another_model_than_the_stored_one_is_refused(study: StoreFolder) -> None:
    with study.write() as cursor:
        cursor.execute(
            "UPDATE data.sources SET settings = replace(settings, '\"seed\":0', '\"seed\":9')"
        )
    (failure,) = run(study, "random", batches=(1,), n_tuples=1)
    assert isinstance(failure, Failure)
    assert "another model by now" in failure.error.what


def test_a_batch_larger_than_all_texts_is_left_out_and_alone_refused(study: StoreFolder) -> None:
    (found,) = run(study, "random", batches=(1, 64), n_tuples=2)
    assert isinstance(found, Measured)
    assert [timing.batch for timing in found.timings] == [1]
    (failure,) = run(study, "random", batches=(64,), n_tuples=2)
    assert isinstance(failure, Failure)
    assert failure.error.what == "6 texts make no batch of 64"


def test_tuples_without_a_text_are_left_out(store: StoreFolder) -> None:
    add_patents(store, [("A", None), ("B", None), (None, None)])
    add_tuples(store, "main", [(0, 1, 2), (1, 0, 1)], levels=(1, 2))
    embed(store, ModelRequest("random"))
    (found,) = run(store, "random", batches=(1,))
    assert isinstance(found, Measured)
    assert (found.timings[0].n_tuples, found.timings[0].n_texts) == (1, 3)


def test_fitted_models_and_scorers_of_pairs_are_measured(store: StoreFolder) -> None:
    random_study(store, n_patents=40, n_tuples=10)
    embed(store, ModelRequest("tfidf", settings={"segmenter": "regex"}))
    embed(store, ModelRequest("bm25", settings={"segmenter": "regex"}))
    words, pairs = run(store, "tfidf", "bm25", batches=(2,), n_tuples=2, n_repeats=1)
    assert isinstance(words, Measured)
    assert isinstance(pairs, Measured)
    assert (words.is_pairs, words.timings[0].n_texts) == (False, 14)
    assert (pairs.is_pairs, pairs.timings[0].n_texts) == (True, 12)


def test_one_device_at_a_time_and_known_labels(study: StoreFolder) -> None:
    with pytest.raises(PatcacheError, match="one device at a time"):
        run(study, "random", runtime=Runtime(device="cuda:0,cuda:1"))
    with pytest.raises(NotThere, match="no model 'nobody'"):
        run(study, "nobody")
    with pytest.raises(ValueError, match="are from 1"):
        Plan(batches=(0,))
