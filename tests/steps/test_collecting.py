"""What nothing refers to is shown with its reason and goes; what is in use or written stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from patcache.records import ModelRequest, Spec
from patcache.steps.collecting import Garbage, collect, find_garbage
from patcache.steps.embedding import embed
from patcache.steps.removing import drop_spec, spec_contents
from patcache.steps.rows import spec_rows
from patcache.store import StoreFolder
from patcache.store.jobs import job_path, read_jobs, running_job
from patcache.store.specs import add_spec, specs
from patcache.vectors.rows import open_rows
from tests.steps.study_by_hand import LetterEmbedder, random_study
from tests.store.test_jobs import DIES


def embedded(store: StoreFolder, label: str = "letters", **identity: Any) -> Path:
    embedder = LetterEmbedder(label, **identity)
    embed(store, ModelRequest(label), embedder=embedder)
    return store.vectors_path / embedder.spec.spec_id


def names(garbage: list[Garbage], store: StoreFolder) -> dict[str, str]:
    return {str(item.path.relative_to(store.path)): item.why for item in garbage}


def cut_spec(store: StoreFolder, label: str, dims: int) -> Spec:
    """A model whose vectors are the first dimensions of those of LetterEmbedder."""
    whole = LetterEmbedder(truncate_dim=None).spec
    spec = Spec(label, {**whole.identity, "truncate_dim": dims}, dims)
    with store.write() as cursor:
        add_spec(cursor, spec)
    return spec


def test_a_store_in_use_has_no_garbage(store: StoreFolder) -> None:
    random_study(store)
    embedded(store)
    with running_job(store, "embed", "m", "texts"):
        assert find_garbage(store) == []


def test_everything_nothing_refers_to_is_found_and_goes(store: StoreFolder) -> None:
    random_study(store)
    used = embedded(store)
    foreign = LetterEmbedder("copied", pooling="foreign")
    with open_rows(store.vectors_path / foreign.spec.spec_id, foreign.spec).writing():
        pass
    removed = store.vectors_path / "0123.removed"
    aside = used.with_name(used.name + ".new")
    fit = used / "fit.new"
    texts = store.path / "fit-abc"
    for folder in (removed, aside, fit, texts):
        folder.mkdir()
        (folder / "file").write_bytes(b"half")
    for path in (texts / "file", texts):
        os.utime(path, (0, 0))
    fresh = store.path / "fit-now"
    fresh.mkdir()
    store.indexes_path.mkdir()
    (store.indexes_path / "no-such-spec.hnsw.faiss").write_bytes(b"index")
    (store.indexes_path / f"{used.name}.hnsw.faiss").write_bytes(b"index")
    subprocess.run([sys.executable, "-c", DIES, str(store.path)])
    (died,) = [job for job in read_jobs(store) if job.state == "died"]
    store.cache_path.mkdir()
    (store.cache_path / "tokens").write_bytes(b"tokens")
    garbage = find_garbage(store)
    found = names(garbage, store)
    assert set(found) == {
        f"vectors/{foreign.spec.spec_id}",
        "vectors/0123.removed",
        f"vectors/{aside.name}",
        f"vectors/{used.name}/fit.new",
        "fit-abc",
        "indexes/no-such-spec.hnsw.faiss",
        f"jobs/{died.job_id}.json",
    }
    why = found[f"vectors/{foreign.spec.spec_id}"]
    assert why.startswith("copied, no model of this store: copied in and not used yet, or left")
    assert found["vectors/0123.removed"] == "left by a process that was killed"
    collected = collect(store, garbage)
    assert len(collected.removed) == 7
    assert collected.busy == ()
    assert collected.size_bytes >= 4 * 4
    assert find_garbage(store) == []
    assert fresh.exists()
    assert list(store.vectors_path.iterdir()) == [used]
    assert open_rows(used, LetterEmbedder().spec).n_rows == 119
    assert list(names(find_garbage(store, cache=True), store)) == ["cache"]
    collect(store, find_garbage(store, cache=True))
    assert not store.cache_path.exists()


def test_what_a_writer_holds_stays(store: StoreFolder) -> None:
    foreign = LetterEmbedder(pooling="foreign")
    folder = store.vectors_path / foreign.spec.spec_id
    with open_rows(folder, foreign.spec).writing():
        collected = collect(store, find_garbage(store))
        assert [item.path for item in collected.busy] == [folder]
        assert folder.exists()
    assert collect(store, find_garbage(store)).busy == ()
    assert not folder.exists()


def test_what_a_model_is_made_from_stays_while_one_is_embedded(store: StoreFolder) -> None:
    texts = store.path / "fit-abc"
    for folder in (texts, store.cache_path):
        folder.mkdir()
        (folder / "file").write_bytes(b"texts")
    for path in (texts / "file", texts):
        os.utime(path, (0, 0))  # a fit of hours looks so
    with running_job(store, "embed", "word2vec", "texts"):
        garbage = find_garbage(store, cache=True)
        assert list(names(garbage, store)) == ["cache"]
        assert [item.path for item in collect(store, garbage).busy] == [store.cache_path]
    assert set(names(find_garbage(store, cache=True), store)) == {"cache", "fit-abc"}
    assert len(collect(store, garbage).removed) == 1


def test_the_job_of_a_stopped_process_stays(store: StoreFolder) -> None:
    with running_job(store, "embed", "m", "texts"):
        (job,) = read_jobs(store)
        path = job_path(store, job)
        silent = {**json.loads(path.read_text()), "heartbeat_at": job.heartbeat_at - 100}
        path.write_text(json.dumps(silent))
        assert [job.state for job in read_jobs(store)] == ["died"]
        assert find_garbage(store) == []


def test_what_came_into_use_since_it_was_shown_stays(store: StoreFolder) -> None:
    random_study(store)
    foreign = LetterEmbedder()
    with open_rows(store.vectors_path / foreign.spec.spec_id, foreign.spec).writing():
        pass
    garbage = find_garbage(store)
    assert len(garbage) == 1
    folder = embedded(store)
    assert collect(store, garbage).removed == ()
    assert folder.exists()


def test_a_folder_others_are_cut_from_stays_until_the_last_of_them_goes(
    store: StoreFolder,
) -> None:
    random_study(store)
    folder = embedded(store, truncate_dim=None)
    cut = cut_spec(store, "letters@8", 8)
    assert cut.vectors_id == folder.name
    goes = spec_contents(store, "letters")
    assert (goes.kept_for, goes.size_bytes) == (("letters@8",), 0)
    drop_spec(store, "letters")
    assert find_garbage(store) == []
    assert spec_rows(store, cut).n_rows == 119
    with store.read() as cursor:
        assert cursor.execute("SELECT model, n_texts FROM models").fetchall() == [
            ("letters@8", 119)
        ]
    goes = spec_contents(store, "letters@8")
    assert (goes.folder, goes.size_bytes > 119 * 26 * 4) == (folder.name, True)
    drop_spec(store, "letters@8")
    assert not folder.exists()
    with store.read() as cursor:
        assert specs(cursor) == []
        assert cursor.execute("SELECT count(*) FROM data.encodings").fetchone() == (0,)
