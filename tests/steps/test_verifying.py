"""Damage is found and named; what is intact stays, and only what was lost is encoded again."""

from __future__ import annotations

import io
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.errors import NotThere, VectorsBusy, VectorsUnreadable, WriteFailed
from patcache.hashing import text_keys
from patcache.queries.models import models
from patcache.records import ModelRequest
from patcache.steps import encoding
from patcache.steps.embedding import embed
from patcache.steps.scoring import score
from patcache.steps.verifying import FolderReport, repair, verify
from patcache.store import StoreFolder
from patcache.vectors import repair as repairing
from patcache.vectors.journal import Run
from patcache.vectors.rows import open_rows
from tests.steps.study_by_hand import LetterEmbedder, random_study

BLOCK = 16


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "BLOCK_TEXTS", BLOCK)


def embedded(store: StoreFolder, **settings: Any) -> tuple[LetterEmbedder, Path]:
    random_study(store)
    embedder = LetterEmbedder(**settings)
    embed(store, ModelRequest("letters"), embedder=embedder)
    return embedder, store.vectors_path / embedder.spec.spec_id


def only(reports: list[FolderReport]) -> FolderReport:
    (report,) = reports
    return report


def faults(store: StoreFolder) -> list[tuple[str, str | None, str]]:
    return [(fault.file, fault.rows, fault.why) for fault in only(verify(store)).faults]


def flip(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_whole_folder_is_fine_and_every_byte_is_counted(store: StoreFolder, sparse: bool) -> None:
    embedded(store, sparse=sparse)
    told: list[tuple[int, int]] = []
    report = only(verify(store, progress=lambda *of: told.append(of)))
    assert (report.labels, report.faults, report.is_damaged) == (("letters",), (), False)
    assert report.n_rows == report.n_intact == 119
    assert told[-1] == (report.size_bytes, report.size_bytes)
    assert sorted(told) == told


@pytest.mark.parametrize(
    ("name", "at", "sparse", "rows"),
    [
        ("vectors.npy", 128 + 20 * 26 * 4, False, "16 to 31"),
        ("keys.npy", -1, False, "112 to 118"),
        ("data.npy", 130, True, "0 to 15"),
        ("indices.npy", -1, True, "112 to 118"),
        ("indptr.npy", 128 + 8 * 40, True, "32 to 47"),
    ],
)
def test_a_flipped_byte_is_named_by_file_and_rows_and_costs_one_block(
    store: StoreFolder, name: str, at: int, sparse: bool, rows: str
) -> None:
    embedder, folder = embedded(store, sparse=sparse)
    flip(folder / name, at)
    assert faults(store) == [(name, rows, "its checksum is not the one in the journal")]
    lost = lost_texts(embedder, rows)
    assert_only_these_are_encoded_again(store, embedder, lost)


def lost_texts(embedder: LetterEmbedder, rows: str) -> list[str]:
    first, last = map(int, rows.split(" to "))
    return [text for text, _ in embedder.seen[first : last + 1]]


def assert_only_these_are_encoded_again(
    store: StoreFolder, before: LetterEmbedder, lost: list[str]
) -> None:
    after = repair(store, only(verify(store)))
    assert not after.is_damaged
    assert after.n_rows == len(before.seen) - len(lost)
    again = LetterEmbedder(sparse=before.spec.sparse)
    report = embed(store, ModelRequest("letters"), embedder=again)
    assert [text for text, _ in again.seen] == lost
    assert report.n_encoded == len(lost)
    assert only(verify(store)).faults == ()
    rows: Any = open_rows(store.vectors_path / again.spec.spec_id, again.spec)
    texts = [text for text, _ in before.seen]
    gathered = rows.gather(rows.rows_of(text_keys(texts)))
    dense = gathered.toarray() if again.spec.sparse else gathered
    assert dense.tolist() == [again.vector(text) for text in texts]
    assert score(store)[0].n_missing == 0
    assert sorted(path.name for path in store.vectors_path.iterdir()) == [again.spec.spec_id]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_flipped_byte_in_the_journal_costs_the_block_of_its_line(
    store: StoreFolder, sparse: bool
) -> None:
    embedder, folder = embedded(store, sparse=sparse)
    lines = (folder / "blocks.jsonl").read_bytes().splitlines(keepends=True)
    flip(folder / "blocks.jsonl", len(lines[0]) + len(lines[1]) + 30)
    assert [why for _, _, why in faults(store)] == [
        "line 3: its checksum is wrong",
        "line 4: it does not follow the line above",
    ]
    assert_only_these_are_encoded_again(store, embedder, lost_texts(embedder, "32 to 47"))


def test_a_cut_file_costs_the_blocks_that_reach_behind_the_cut(store: StoreFolder) -> None:
    embedder, folder = embedded(store)
    os.truncate(folder / "vectors.npy", 128 + 90 * 26 * 4)
    short, checksum = faults(store)
    assert short[0] == "vectors.npy"
    assert "bytes; the journal's 119 need" in short[2]
    assert checksum == ("vectors.npy", "80 to 118", "its checksum is not the one in the journal")
    assert_only_these_are_encoded_again(store, embedder, lost_texts(embedder, "80 to 118"))


def test_a_file_that_is_gone_costs_every_row(store: StoreFolder) -> None:
    embedder, folder = embedded(store)
    (folder / "keys.npy").unlink()
    assert only(verify(store)).n_intact == 0
    assert_only_these_are_encoded_again(store, embedder, [text for text, _ in embedder.seen])


def test_a_damaged_header_costs_nothing(store: StoreFolder) -> None:
    embedder, folder = embedded(store)
    before = (folder / "vectors.npy").read_bytes()
    flip(folder / "vectors.npy", 2)
    assert "header" in only(verify(store)).faults[0].why
    assert_only_these_are_encoded_again(store, embedder, [])
    assert (folder / "vectors.npy").read_bytes() == before


def test_a_damaged_spec_is_written_again_from_the_database(store: StoreFolder) -> None:
    embedder, folder = embedded(store)
    before = (folder / "spec.json").read_bytes()
    (folder / "spec.json").write_bytes(before[:50])
    assert faults(store)[0][0] == "spec.json"
    assert_only_these_are_encoded_again(store, embedder, [])
    assert (folder / "spec.json").read_bytes() == before


def test_a_folder_from_another_spec_is_named_and_not_taken_for_ours(store: StoreFolder) -> None:
    embedder, folder = embedded(store)
    other = LetterEmbedder(pooling="other")
    (folder / "spec.json").rename(folder.parent / "kept")
    with open_rows(store.vectors_path / other.spec.spec_id, other.spec).writing():
        pass
    (store.vectors_path / other.spec.spec_id / "spec.json").rename(folder / "spec.json")
    (folder.parent / "kept").unlink()
    report = next(report for report in verify(store) if report.labels)
    assert f"({other.spec.spec_id}), another spec" in report.faults[0].why
    assert not report.is_repairable
    with pytest.raises(NotThere, match="cannot be repaired") as refused:
        repair(store, report)
    assert f"it is of letters ({other.spec.spec_id}), another spec" in refused.value.why
    assert embedder.spec.spec_id == folder.name


@pytest.mark.parametrize("gone", ["blocks.jsonl", "."])
def test_vectors_that_are_gone_are_damage_until_they_are_encoded_again(
    store: StoreFolder, gone: str
) -> None:
    embedder, folder = embedded(store)
    shutil.rmtree(folder) if gone == "." else (folder / gone).unlink()
    assert faults(store) == [("blocks.jsonl", None, "it names 0 rows, the store has noted 119")]
    report = only(verify(store, ["letters"]))
    assert (report.n_rows, report.n_intact, report.is_repairable) == (119, 0, True)
    assert_only_these_are_encoded_again(store, embedder, [text for text, _ in embedder.seen])


@pytest.mark.parametrize("name", ["spec.json", "blocks.jsonl", "vectors.npy", "keys.npy"])
def test_what_this_user_may_not_read_is_named_and_never_repaired(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _, folder = embedded(store)
    really_open = io.open

    def refuse(file: Any, *args: Any, **options: Any) -> Any:
        if file == folder / name:
            raise PermissionError(13, "Permission denied", str(file))
        return really_open(file, *args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(io, "open", refuse)  # tests may run as root, whom nothing is refused
        report = only(verify(store))
        with pytest.raises(VectorsUnreadable, match=f"cannot read {folder / name}"):
            open_rows(folder, LetterEmbedder().spec)
        (row,) = models(store, only_stored=True)
        assert row.note == f"cannot read {folder / name}"
    (fault,) = report.faults
    assert (fault.file, report.labels, report.is_damaged) == (name, ("letters",), True)
    assert "permission denied" in fault.why
    assert not report.is_repairable
    assert only(verify(store)).faults == ()


def test_what_a_killed_writer_left_is_no_damage(store: StoreFolder) -> None:
    _, folder = embedded(store)
    for name in ("vectors.npy", "keys.npy", "blocks.jsonl"):
        with (folder / name).open("ab") as stream:
            stream.write(b"torn")
    (store.vectors_path / "begun").mkdir()
    (store.vectors_path / "begun" / "write.lock").touch()
    assert [report.faults for report in verify(store)] == [(), ()]


def test_a_key_twice_is_damage_and_its_second_row_goes(store: StoreFolder) -> None:
    embedder, folder = embedded(store)
    rows: Any = open_rows(folder, embedder.spec)
    with rows.writing():
        rows.append(rows.keys[3:4].copy(), rows.gather(np.array([3])), Run("2026", 1.0, "cpu"))
    assert faults(store) == [("keys.npy", "119", "an earlier row has the same key")]
    assert_only_these_are_encoded_again(store, embedder, [])


@pytest.mark.parametrize("sparse", [False, True])
def test_vectors_the_model_gave_wrong_are_named_but_are_no_damage(
    store: StoreFolder, sparse: bool
) -> None:
    class Wrong(LetterEmbedder):
        def vector(self, text: str) -> list[float]:
            values = np.array(super().vector(text))
            unit = (values / np.linalg.norm(values)).tolist()
            if text.startswith("Title 7"):
                return [float("nan")] * 26
            if text.startswith("Title 11 "):
                return [2 * value for value in unit]
            return [0.0] * 26 if text.startswith("Title 2") else unit

    random_study(store)
    wrong = Wrong(sparse=sparse, normalize=True)
    embed(store, ModelRequest("letters"), embedder=wrong)
    report = only(verify(store))
    assert not report.is_damaged
    bad = {row for f in report.faults for row in range(f.start or 0, f.stop or 0)}
    expected = {
        row for row, (text, _) in enumerate(wrong.seen) if text.startswith(("Title 7", "Title 11 "))
    }
    assert bad == expected
    assert {fault.why.split(",")[0] for fault in report.faults} == {
        "not a number or infinite",
        "its length is not 1",
    }


def test_a_fit_is_checked_byte_by_byte(store: StoreFolder) -> None:
    random_study(store)
    report = embed(store, ModelRequest("tfidf", settings={"segmenter": "regex"}))
    fit = store.vectors_path / report.spec_id / "fit"
    assert only(verify(store)).faults == ()
    names = [path.name for path in fit.iterdir() if path.name != "sha256.json"]
    for name in names:
        before = (fit / name).read_bytes()
        flip(fit / name, len(before) - 1)
        assert faults(store) == [(f"fit/{name}", None, "its checksum is not the one noted")]
        (fit / name).write_bytes(before)
    assert len(names) >= 3
    flip(store.vectors_path / report.spec_id / "data.npy", -1)
    repair(store, only(verify(store)))
    assert only(verify(store)).faults == ()  # the fit was taken along


def test_models_can_be_named_and_folders_of_no_spec_are_read_too(store: StoreFolder) -> None:
    embedded(store)
    embed(store, ModelRequest("random"))
    foreign = LetterEmbedder(pooling="foreign")
    with open_rows(store.vectors_path / foreign.spec.spec_id, foreign.spec).writing():
        pass
    assert only(verify(store, ["random"])).labels == ("random",)
    assert sorted(report.labels for report in verify(store)) == [(), ("letters",), ("random",)]
    with pytest.raises(NotThere, match="no model 'none'"):
        verify(store, ["none"])


def test_a_repair_is_refused_while_somebody_writes(store: StoreFolder) -> None:
    embedder, folder = embedded(store)
    flip(folder / "vectors.npy", -1)
    with open_rows(folder, embedder.spec).writing(), pytest.raises(VectorsBusy):
        repair(store, only(verify(store)))


def test_a_writer_that_waited_for_a_repair_goes_on_in_the_repaired_folder(
    store: StoreFolder,
) -> None:
    embedder, folder = embedded(store)
    flip(folder / "vectors.npy", -1)
    again = LetterEmbedder()
    other = StoreFolder(store.path, busy_wait_s=60)
    writer = threading.Thread(
        target=lambda: embed(other, ModelRequest("letters"), embedder=again, all_texts=True)
    )

    def begin_the_writer(*_: Any) -> None:
        if not writer.is_alive():
            writer.start()

    repair(store, only(verify(store)), progress=begin_the_writer)
    writer.join()
    assert only(verify(store)).faults == ()
    rows = open_rows(folder, embedder.spec)
    assert rows.n_rows == 120


def test_a_repair_without_room_changes_nothing(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = embedded(store)
    flip(folder / "vectors.npy", -1)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(WriteFailed, match="disk is full"):
        repair(store, only(verify(store)))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert list(store.vectors_path.iterdir()) == [folder]


@pytest.mark.parametrize("n_renames", [0, 1, 2])
def test_a_killed_repair_loses_nothing(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch, n_renames: int
) -> None:
    _, folder = embedded(store)
    flip(folder / "vectors.npy", -1)
    report = only(verify(store))
    left = n_renames
    rename = Path.rename

    class Killed(BaseException):
        pass

    def killed(path: Path, target: Path) -> Path:
        nonlocal left
        if left == 0 and path.parent == store.vectors_path:
            raise Killed
        left -= path.parent == store.vectors_path
        return rename(path, target)

    monkeypatch.setattr(repairing.Path, "rename", killed)
    with pytest.raises(Killed):
        repair(store, report)
    monkeypatch.undo()
    after = only(verify(store))
    assert after.n_intact == 112
    assert after.is_damaged == (n_renames < 2)
    assert not repair(store, after).is_damaged
