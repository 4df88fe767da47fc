"""Each text is encoded once per spec: whoever asks, however often, whatever happens in between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.errors import ModelRefused, NotThere, VectorsBusy, VectorsDamaged
from patcache.hashing import text_keys
from patcache.records import ModelRequest
from patcache.steps import embedding, encoding, needed
from patcache.steps.embedding import EmbedReport, embed
from patcache.steps.scoring import score
from patcache.store import StoreFolder
from patcache.store.scores import SampleSize
from patcache.vectors.rows import open_rows
from tests.steps.study_by_hand import (
    LetterEmbedder,
    add_patents,
    add_tuples,
    random_study,
    random_texts,
)


def run(store: StoreFolder, embedder: LetterEmbedder, **options: Any) -> EmbedReport:
    return embed(store, ModelRequest(embedder.spec.label), embedder=embedder, **options)


def vectors_of(store: StoreFolder, embedder: LetterEmbedder) -> Any:
    return open_rows(store.vectors_path / embedder.spec.spec_id, embedder.spec)


def folder_bytes(store: StoreFolder, embedder: LetterEmbedder) -> dict[str, bytes]:
    folder = store.vectors_path / embedder.spec.spec_id
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.npy"))}


def one(store: StoreFolder, sql: str) -> Any:
    with store.read() as cursor:
        row = cursor.execute(sql).fetchone()
    assert row is not None
    return row[0] if len(row) == 1 else row


def test_only_the_texts_that_tuples_name_are_encoded_in_their_order(store: StoreFolder) -> None:
    add_patents(store, [("Zero", "a"), ("One", "b"), ("Two", None), ("Three", "d"), ("No", "e")])
    add_tuples(store, "main", [(3, 0, 2), (2, 3, 1)], levels=(1, 2))
    embedder = LetterEmbedder()
    report = run(store, embedder)
    assert [text for text, _ in embedder.seen] == ["Three. d", "Zero. a", "Two", "One. b"]
    assert (report.n_texts, report.n_encoded, report.n_without_text) == (4, 4, 0)
    rows = vectors_of(store, embedder)
    at = rows.rows_of(text_keys(["Two", "Zero. a", "No. e"]))
    assert at.tolist() == [2, 1, -1]
    assert rows.gather(at[:1])[0].tolist() == embedder.vector("Two")


def test_a_text_of_two_patents_two_roles_and_two_samples_is_encoded_once(
    store: StoreFolder,
) -> None:
    add_patents(store, [("Same", "text"), ("Same", "text"), ("Other", "x"), ("Third", "y")])
    add_tuples(store, "main", [(0, 1, 2), (2, 0, 3)], levels=(1, 2))
    add_tuples(store, "more", [(1, 2, 0)], levels=(1, 2), sample_id=2)
    embedder = LetterEmbedder()
    report = run(store, embedder)
    assert [text for text, _ in embedder.seen] == ["Same. text", "Other. x", "Third. y"]
    assert (report.n_texts, report.n_encoded) == (3, 3)
    assert {role for _, role in embedder.seen} == {"document"}


def test_prompts_make_two_texts_of_one_and_go_to_their_roles(store: StoreFolder) -> None:
    add_patents(store, [("Zero", "a"), ("One", "b"), ("Two", "c")])
    add_tuples(store, "main", [(0, 1, 2), (1, 0, 2)], levels=(1, 2))
    embedder = LetterEmbedder(prompts=("query: ", "passage: "))
    run(store, embedder)
    assert embedder.seen == [  # one block: its documents, then its queries
        ("passage: One. b", "document"),
        ("passage: Two. c", "document"),
        ("passage: Zero. a", "document"),
        ("query: Zero. a", "query"),
        ("query: One. b", "query"),
    ]
    rows = vectors_of(store, embedder)
    order = ["query: Zero. a", "passage: One. b", "passage: Two. c", "query: One. b"]
    assert rows.rows_of(text_keys(order)).tolist() == [0, 1, 2, 3]
    for row, text in enumerate(order):
        assert rows.gather(np.array([row]))[0].tolist() == embedder.vector(text)


@pytest.mark.parametrize("sparse", [False, True])
def test_each_row_gets_its_own_vector_when_roles_mix(store: StoreFolder, sparse: bool) -> None:
    random_study(store)
    embedder = LetterEmbedder(prompts=("q: ", "d: "), sparse=sparse)
    run(store, embedder)
    rows = vectors_of(store, embedder)
    texts = [text for text, _ in embedder.seen]
    found = rows.gather(rows.rows_of(text_keys(texts)))
    dense = found.toarray() if sparse else found
    assert dense.tolist() == [embedder.vector(text) for text in texts]


def test_a_second_run_encodes_nothing_and_reads_no_text(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_study(store)
    run(store, LetterEmbedder())

    def no_texts(*_: Any) -> None:
        raise AssertionError("a text was read")

    monkeypatch.setattr(needed, "text_keys_of", no_texts)
    monkeypatch.setattr(needed, "texts_of", no_texts)
    again = LetterEmbedder()
    report = run(store, again)
    assert again.seen == []
    assert (report.n_encoded, report.n_texts) == (0, None)


def test_more_tuples_encode_only_what_is_new(store: StoreFolder) -> None:
    add_patents(store, [(f"T{i}", "x") for i in range(6)])
    add_tuples(store, "main", [(0, 1, 2)], levels=(1, 2))
    run(store, LetterEmbedder())
    before = folder_bytes(store, LetterEmbedder())
    add_tuples(store, "main", [(3, 0, 4)], levels=(1, 2), first_id=1)
    second = LetterEmbedder()
    run(store, second)
    assert [text for text, _ in second.seen] == ["T3. x", "T4. x"]
    after = folder_bytes(store, second)
    assert after["keys.npy"][128:].startswith(before["keys.npy"][128:])
    assert after["vectors.npy"][128:].startswith(before["vectors.npy"][128:])


def test_all_embeds_the_corpus_even_without_a_sample(store: StoreFolder) -> None:
    add_patents(store, random_texts(30, 1))
    with pytest.raises(NotThere, match="no sample"):
        run(store, LetterEmbedder())
    assert run(store, LetterEmbedder(), all_texts=True).n_encoded == 30
    add_patents(store, [("New", "one")], first_id=30)
    later = LetterEmbedder()
    run(store, later, all_texts=True)
    assert [text for text, _ in later.seen] == ["New. one"]


def test_a_named_sample_is_embedded_alone_and_an_unknown_one_refused(store: StoreFolder) -> None:
    add_patents(store, [(f"T{i}", "x") for i in range(6)])
    add_tuples(store, "main", [(0, 1, 2)], levels=(1, 2))
    add_tuples(store, "more", [(3, 4, 5)], levels=(1, 2), sample_id=2)
    embedder = LetterEmbedder()
    run(store, embedder, samples=["more"])
    assert [text for text, _ in embedder.seen] == ["T3. x", "T4. x", "T5. x"]
    with pytest.raises(NotThere, match="no sample 'none'"):
        run(store, embedder, samples=["none"])


def test_patents_without_a_text_under_the_view_are_counted_and_left_out(
    store: StoreFolder,
) -> None:
    add_patents(store, [("Zero", "a"), ("One", None), ("Two", "c")])
    add_tuples(store, "main", [(0, 1, 2)], levels=(1, 2))
    embedder = LetterEmbedder(text={"fields": ["abstract"], "separator": ". "})
    report = run(store, embedder)
    assert [text for text, _ in embedder.seen] == ["a", "c"]
    assert report.n_without_text == 1


def test_what_was_encoded_is_recorded(store: StoreFolder) -> None:
    random_study(store)
    report = run(store, LetterEmbedder())
    row = one(store, "SELECT n_texts, n_truncated, device FROM models")
    assert row == (report.n_encoded, report.n_truncated, "cpu")
    assert report.n_truncated > 0


def test_a_label_of_another_spec_is_refused_before_anything_is_encoded(
    store: StoreFolder,
) -> None:
    random_study(store)
    run(store, LetterEmbedder())
    other = LetterEmbedder(pooling="other")
    with pytest.raises(ModelRefused, match="'letters' is taken") as caught:
        run(store, other)
    assert "--label" in caught.value.todo
    assert other.seen == []
    report = embed(store, ModelRequest("letters", label="mine"), embedder=LetterEmbedder())
    assert (report.label, report.asked_label, report.n_encoded) == ("letters", "mine", 0)


def test_a_folder_copied_from_another_store_is_used_without_encoding(
    store: StoreFolder, tmp_path: Path
) -> None:
    random_study(store)
    run(store, LetterEmbedder())
    other = StoreFolder(tmp_path / "other")
    random_study(other)
    store.vectors_path.rename(other.vectors_path)
    embedder = LetterEmbedder()
    report = run(other, embedder)
    assert embedder.seen == []
    assert report.n_stored > 0
    assert one(other, "SELECT n_texts FROM models") == report.n_stored


def test_vectors_that_somebody_deleted_are_encoded_again(store: StoreFolder) -> None:
    random_study(store)
    first = run(store, LetterEmbedder())
    shutil.rmtree(store.vectors_path)
    assert run(store, LetterEmbedder()).n_encoded == first.n_encoded
    assert one(store, "SELECT n_texts FROM models") == first.n_encoded


def test_vectors_of_another_store_in_place_of_ours_are_not_taken_for_them(
    store: StoreFolder, tmp_path: Path
) -> None:
    random_study(store)
    run(store, LetterEmbedder())
    other = StoreFolder(tmp_path / "other")
    add_patents(other, random_texts(500, seed=8))
    run(other, LetterEmbedder(), all_texts=True)
    shutil.rmtree(store.vectors_path)
    shutil.copytree(other.vectors_path, store.vectors_path)  # more rows, of other texts
    again = run(store, LetterEmbedder())
    assert again.n_encoded == again.n_texts
    assert score(store)[0].n_missing == 0
    assert one(store, "SELECT n_texts FROM models") == 500 + again.n_encoded
    assert run(store, LetterEmbedder()).n_texts is None


def test_damage_stops_the_run_before_anything_is_written(store: StoreFolder) -> None:
    random_study(store)
    embedder = LetterEmbedder()
    run(store, embedder)
    path = store.vectors_path / embedder.spec.spec_id / "vectors.npy"
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(VectorsDamaged, match=r"vectors\.npy"):
        run(store, LetterEmbedder())


def test_two_writers_of_one_spec_do_not_meet(store: StoreFolder) -> None:
    random_study(store)
    rows = vectors_of(store, LetterEmbedder())
    with rows.writing(), pytest.raises(VectorsBusy, match=str(os.getpid())):
        run(store, LetterEmbedder())


def test_ctrl_c_stops_after_the_running_block_and_the_rest_follows(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "BLOCK_TEXTS", 16)
    random_study(store)

    def press_ctrl_c(done: int, _total: int) -> None:
        if done:
            signal.raise_signal(signal.SIGINT)

    first = LetterEmbedder()
    with pytest.raises(KeyboardInterrupt):
        run(store, first, progress=press_ctrl_c)
    n_rows = vectors_of(store, first).n_rows
    assert len(first.seen) == n_rows  # whatever was begun is kept
    assert n_rows % 16 == 0
    assert 0 < n_rows < 119
    assert one(store, "SELECT n_texts FROM models") == n_rows
    second = LetterEmbedder()
    report = run(store, second)
    assert report.n_texts == n_rows + len(second.seen)
    assert first.seen[0] not in second.seen


def test_a_fitted_model_keeps_its_fit_and_refit_makes_another(store: StoreFolder) -> None:
    random_study(store)
    request = ModelRequest("tfidf", settings={"segmenter": "regex"})
    first = embed(store, request)
    before = {p: p.read_bytes() for p in (store.vectors_path / first.spec_id).rglob("*.npy")}
    add_patents(store, [("Quite", "different words"), ("Another", "new text")], first_id=120)
    add_tuples(store, "main", [(120, 121, 0, 1, 2, 3, 4)], levels=range(1, 7), first_id=80)
    second = embed(store, request)
    assert second.spec_id == first.spec_id
    assert second.n_encoded == 2
    for path, raw in before.items():
        assert path.read_bytes()[128:].startswith(raw[128:])
    third = embed(store, request, refit=True)
    assert third.spec_id != first.spec_id
    assert third.label.startswith("tfidf~")
    assert len(third.label) == len("tfidf~") + 6
    assert third.n_encoded == third.n_texts
    fourth = embed(store, ModelRequest(third.label))
    assert (fourth.spec_id, fourth.n_encoded) == (third.spec_id, 0)
    assert embed(store, request).spec_id == first.spec_id
    assert embed(store, ModelRequest("tfidf")).spec_id == first.spec_id


def test_a_fit_does_not_depend_on_the_order_of_import(store: StoreFolder, tmp_path: Path) -> None:
    texts = random_texts(40, 2)
    other = StoreFolder(tmp_path / "other")
    for where, order in ((store, texts), (other, texts[::-1])):
        add_patents(where, order)
        add_tuples(where, "main", [tuple(range(7))], levels=range(1, 7))
    request = ModelRequest("tfidf", settings={"segmenter": "regex"})
    assert embed(store, request).spec_id == embed(other, request).spec_id


def test_a_known_model_is_not_loaded_when_nothing_is_missing(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_study(store)
    embed(store, ModelRequest("random"))

    def no_load(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(embedding, "load_model", no_load)
    add_tuples(store, "more", [(0, 1, 2)], levels=(1, 2), sample_id=2, shape_id=2)
    used = {row for tuple_ in random_study_tuples(store) for row in tuple_}
    assert {0, 1, 2} <= used
    assert embed(store, ModelRequest("random")).n_encoded == 0


def random_study_tuples(store: StoreFolder) -> list[list[int]]:
    with store.read() as cursor:
        rows = cursor.execute("SELECT target, candidates FROM data.tuples").fetchall()
    return [[target, *candidates] for target, candidates in rows]


def test_only_fitted_models_are_fitted(store: StoreFolder) -> None:
    random_study(store)
    with pytest.raises(ModelRefused, match="cannot be fitted"):
        embed(store, ModelRequest("random"), refit=True)


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.steps.study_by_hand import LetterEmbedder
from patcache.records import ModelRequest
from patcache.steps import encoding, needed
from patcache.steps.embedding import embed
from patcache.store import StoreFolder
from patcache.store.scores import SampleSize

encoding.BLOCK_TEXTS = 8
needed.WINDOW_TEXTS = 32
store = StoreFolder(sys.argv[1], create=False)
embedder = LetterEmbedder(log=Path(sys.argv[3]))

def progress(done: int, total: int) -> None:
    print(done, flush=True)

report = embed(store, ModelRequest("letters"), embedder=embedder, all_texts=True,
               progress=progress)
print("finished", report.n_encoded, flush=True)
"""


def child(store: StoreFolder, log: Path) -> subprocess.Popen[str]:
    arguments = [str(store.path), str(Path(__file__).parents[2]), str(log)]
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_new_process_encodes_only_the_200_new_texts_of_1200(
    store: StoreFolder, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    texts = random_texts(1200, 8)
    add_patents(store, texts[:1000])
    assert child(store, log).communicate()[0].splitlines()[-1] == "finished 1000"
    before = folder_bytes(store, LetterEmbedder())
    add_patents(store, texts[1000:], first_id=1000)
    log.unlink()
    assert child(store, log).communicate()[0].splitlines()[-1] == "finished 200"
    assert len(log.read_text().splitlines()) == 200
    after = folder_bytes(store, LetterEmbedder())
    for name, raw in before.items():
        assert after[name][128:].startswith(raw[128:])


def test_many_texts_are_looked_up_part_by_part_and_encoded_once(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needed, "PART_PATENTS", 64)  # eight tuples, or 64 patents
    random_study(store)
    in_parts = LetterEmbedder()
    told: list[tuple[int, int]] = []
    report = run(
        store, in_parts, all_texts=True, progress=lambda done, total: told.append((done, total))
    )
    texts = [text for text, _ in in_parts.seen]
    assert len(texts) == len(set(texts)) == report.n_encoded == vectors_of(store, in_parts).n_rows
    assert told[-1] == (report.n_encoded, report.n_encoded)
    assert all(done <= total for done, total in told)
    monkeypatch.undo()
    again = LetterEmbedder()
    assert run(store, again, all_texts=True).n_encoded == 0
    assert again.seen == []


def test_parts_name_so_many_patents_and_leave_out_what_has_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(needed, "PART_PATENTS", 20)
    size = SampleSize(1, "main", 5, 0)
    parts = needed.parts_of([needed.Scope(size, 5, first=2), needed.Scope(None, 30, first=1)])
    spans = [[(scope.sample_id, scope.first, scope.stop) for scope in part] for part in parts]
    assert spans == [[(1, 2, 4)], [(1, 4, 5), (None, 1, 13)], [(None, 13, 30)]]
    assert needed.parts_of([needed.Scope(size, 5, first=5)]) == []
