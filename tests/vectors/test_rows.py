"""The files of one spec: what is written is read, what is damaged is named, nothing is lost."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from patcache.errors import ModelRefused, VectorsBusy, VectorsDamaged
from patcache.hashing import text_keys
from patcache.records import Spec
from patcache.vectors.folder import read_spec
from patcache.vectors.journal import Run
from patcache.vectors.keys import KeyIndex, first_of_each
from patcache.vectors.rows import AnyRows, open_rows
from patcache.vectors.verify import check_rows

RUN = Run("2026-01-01T00:00:00+00:00", 0.5, "cpu", n_truncated=1, provenance={"library": "1.0"})


def spec_of(
    dim: int = 3, storage: str = "float32", sparse: bool = False, name: str = "hand"
) -> Spec:
    identity = {
        "embedder": name,
        "text": {"fields": ["title", "abstract"], "separator": ". "},
        "prompts": {"query": "", "document": ""},
        "storage": storage,
        "normalize": False,
    }
    return Spec(name, identity, dim, sparse)


def texts(start: int, stop: int) -> list[str]:
    return [f"text {number}" for number in range(start, stop)]


def vectors(start: int, stop: int, dim: int = 3) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.arange(start * dim, stop * dim, dtype=np.float32).reshape(-1, dim)


def fill(rows: AnyRows, *bounds: int) -> None:
    """Appends blocks bounds[0]..bounds[1], bounds[1]..bounds[2], ..."""
    with rows.writing():
        for start, stop in itertools.pairwise(bounds):
            block: Any = vectors(start, stop, rows.spec.dim)
            rows.append(
                text_keys(texts(start, stop)),
                csr_array(block) if rows.spec.sparse else block,
                RUN,
            )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spec"


@pytest.mark.parametrize("storage", ["float32", "float16"])
@pytest.mark.parametrize("sparse", [False, True])
def test_what_was_appended_is_read_by_key_and_row(folder: Path, storage: str, sparse: bool) -> None:
    spec = spec_of(storage=storage, sparse=sparse)
    fill(open_rows(folder, spec), 0, 2, 5)
    rows = open_rows(folder, spec)
    assert rows.n_rows == 5
    found = rows.rows_of(text_keys(["text 4", "other", "text 0"]))
    assert found.tolist() == [4, -1, 0]
    gathered: Any = rows.gather(np.array([4, 0, 4]))
    dense = gathered.toarray() if sparse else gathered
    assert dense.dtype == np.float32
    assert dense.tolist() == [[12, 13, 14], [0, 1, 2], [12, 13, 14]]
    assert check_rows(folder, spec).faults == []


def test_missing_names_the_first_of_each_distinct_key_in_order(folder: Path) -> None:
    fill(open_rows(folder, spec_of()), 0, 2)
    asked = ["b", "text 1", "a", "b", "a", "text 0", "c"]
    assert open_rows(folder, spec_of()).missing(text_keys(asked)).tolist() == [0, 2, 6]


def test_a_folder_that_is_not_there_has_no_rows(folder: Path) -> None:
    rows = open_rows(folder, spec_of())
    assert rows.n_rows == 0
    assert rows.missing(text_keys(["a", "a"])).tolist() == [0]
    assert not folder.exists()


def test_keys_that_share_their_first_eight_bytes_are_told_apart() -> None:
    keys = np.zeros((4, 16), dtype=np.uint8)
    keys[:, 8] = [3, 1, 2, 9]
    keys[3, 0] = 1
    index = KeyIndex(keys)
    assert index.rows_of(keys[::-1]).tolist() == [3, 2, 1, 0]
    absent = keys[:1].copy()
    absent[0, 8] = 200
    assert index.rows_of(absent).tolist() == [-1]
    assert first_of_each(keys[[2, 0, 2, 1, 0]]).tolist() == [0, 1, 3]


def test_look_ups_agree_with_a_dictionary() -> None:
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 256, (5000, 16), dtype=np.uint8)
    keys[:, :8] //= 200  # many share their first half
    known = {bytes(key): row for row, key in enumerate(keys[:3000])}
    unique = [row for row, key in enumerate(keys[:3000]) if known[bytes(key)] == row]
    position = {bytes(keys[row]): place for place, row in enumerate(unique)}
    found = KeyIndex(keys[unique]).rows_of(keys)
    assert found.tolist() == [position.get(bytes(key), -1) for key in keys]


@pytest.mark.parametrize("sparse", [False, True])
def test_any_reader_of_npy_opens_the_finished_files(folder: Path, sparse: bool) -> None:
    fill(open_rows(folder, spec_of(sparse=sparse)), 0, 2, 5)
    assert np.load(folder / "keys.npy").tolist() == text_keys(texts(0, 5)).tolist()
    if sparse:
        parts = [np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr")]
        whole = csr_array(tuple(parts), shape=(5, 3)).toarray()
    else:
        whole = np.load(folder / "vectors.npy", mmap_mode="r")
    assert whole.tolist() == vectors(0, 5).tolist()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("cut_at", ["vectors", "keys", "journal line", "torn line"])
def test_what_no_line_names_is_written_again_byte_for_byte(
    folder: Path, tmp_path: Path, cut_at: str, sparse: bool
) -> None:
    spec = spec_of(sparse=sparse)
    fill(open_rows(tmp_path / "whole", spec), 0, 2, 5)
    fill(open_rows(folder, spec), 0, 2, 5)
    journal = (folder / "blocks.jsonl").read_bytes()
    first = journal.index(b"\n") + 1
    (folder / "blocks.jsonl").write_bytes(
        journal[: first + 20] if cut_at == "torn line" else journal[:first]
    )
    if cut_at in ("vectors", "keys"):  # half a row more than the journal says
        name = "keys" if cut_at == "keys" else ("data" if sparse else "vectors")
        path = folder / f"{name}.npy"
        os.truncate(path, path.stat().st_size - 5)
    assert open_rows(folder, spec).n_rows == 2
    fill(open_rows(folder, spec), 2, 5)
    for file in (tmp_path / "whole").glob("*.npy"):
        assert (folder / file.name).read_bytes() == file.read_bytes(), file.name
    assert check_rows(folder, spec).faults == []


def test_readers_ignore_the_headers_count_and_writers_repair_it(folder: Path) -> None:
    fill(open_rows(folder, spec_of()), 0, 5)
    right = (folder / "vectors.npy").read_bytes()
    wrong = right.replace(b"(5, 3)", b"(9, 3)", 1)
    (folder / "vectors.npy").write_bytes(wrong)
    assert open_rows(folder, spec_of()).gather(np.array([4])).tolist() == [[12, 13, 14]]
    with open_rows(folder, spec_of()).writing():
        pass
    assert (folder / "vectors.npy").read_bytes() == right


def test_another_specs_folder_is_refused_by_name(folder: Path) -> None:
    fill(open_rows(folder, spec_of()), 0, 5)
    with pytest.raises(VectorsDamaged, match="vectors of another spec") as caught:
        open_rows(folder, spec_of(name="other"))
    assert "hand" in caught.value.why
    with pytest.raises(VectorsDamaged, match="another spec"):
        open_rows(folder, replace(spec_of(), dim=4))


def test_a_label_is_not_what_a_folder_is_of(folder: Path) -> None:
    fill(open_rows(folder, spec_of()), 0, 5)
    assert open_rows(folder, replace(spec_of(), label="mine")).n_rows == 5
    assert read_spec(folder) == spec_of()


def damage_dtype(folder: Path) -> None:
    np.save(folder / "vectors.npy", vectors(0, 5).astype(np.float64))


def damage_dim(folder: Path) -> None:
    np.save(folder / "vectors.npy", vectors(0, 5, 4))


def damage_order(folder: Path) -> None:
    np.save(folder / "vectors.npy", np.asfortranarray(vectors(0, 5)))


def damage_length(folder: Path) -> None:
    os.truncate(folder / "vectors.npy", 128 + 5 * 12 - 1)


def damage_keys_length(folder: Path) -> None:
    os.truncate(folder / "keys.npy", 128 + 5 * 16 - 1)


def damage_header(folder: Path) -> None:
    raw = bytearray((folder / "vectors.npy").read_bytes())
    raw[2] ^= 0xFF
    (folder / "vectors.npy").write_bytes(raw)


def damage_existence(folder: Path) -> None:
    (folder / "keys.npy").unlink()


def damage_journal(folder: Path) -> None:
    raw = bytearray((folder / "blocks.jsonl").read_bytes())
    raw[raw.index(b'"stop":2') + 7] = ord("3")
    (folder / "blocks.jsonl").write_bytes(raw)


def damage_journal_order(folder: Path) -> None:
    lines = (folder / "blocks.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "blocks.jsonl").write_bytes(lines[1])


def damage_spec(folder: Path) -> None:
    (folder / "spec.json").write_text('{"label": "hand"')


@pytest.mark.parametrize(
    ("damage", "file", "why"),
    [
        (damage_dtype, "vectors.npy", "dtype is float64, the spec's float32"),
        (damage_dim, "vectors.npy", "shape is (5, 4), the spec's dimension 3"),
        (damage_order, "vectors.npy", "Fortran"),
        (damage_length, "vectors.npy", "has 187 bytes; the journal's 5 need 188"),
        (damage_keys_length, "keys.npy", "has 207 bytes"),
        (damage_header, "vectors.npy", "header"),
        (damage_existence, "keys.npy", "gone"),
        (damage_journal, "blocks.jsonl is damaged in line 1", "checksum"),
        (damage_journal_order, "blocks.jsonl is damaged in line 1", "follow"),
        (damage_spec, "spec.json", ""),
    ],
)
def test_damaged_files_are_refused_by_name(folder: Path, damage: Any, file: str, why: str) -> None:
    fill(open_rows(folder, spec_of()), 0, 2, 5)
    damage(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for use in (lambda: open_rows(folder, spec_of()), lambda: fill(rows_before(folder), 5, 6)):
        with pytest.raises(VectorsDamaged) as caught:
            use()
        assert file in caught.value.what
        assert why in caught.value.why
    kept = {path.name: path.read_bytes() for path in folder.iterdir() if path.name in before}
    assert kept == before


def rows_before(folder: Path) -> AnyRows:
    """Rows as a process sees them that opened the folder before the damage."""
    rows = open_rows(folder.parent / "empty", spec_of())
    rows.folder = folder
    rows.files = {n: replace(f, path=folder / f.path.name) for n, f in rows.files.items()}
    return rows


def test_float16_refuses_what_would_overflow_and_keeps_the_rest(folder: Path) -> None:
    rows = open_rows(folder, spec_of(storage="float16"))
    fill(rows, 0, 2)
    huge = np.array([[1.0, 2.0, 70000.0]], dtype=np.float32)
    with rows.writing(), pytest.raises(ModelRefused, match="do not fit float16") as caught:
        rows.append(text_keys(["huge"]), huge, RUN)
    assert "7e+04" in caught.value.why
    assert open_rows(folder, spec_of(storage="float16")).n_rows == 2


def test_vectors_that_are_no_numbers_are_stored_as_they_are(folder: Path) -> None:
    rows = open_rows(folder, spec_of(storage="float16"))
    with rows.writing():
        rows.append(text_keys(["a"]), np.array([[np.nan, np.inf, 0]], dtype=np.float32), RUN)
    assert np.array_equal(rows.gather(np.array([0])), [[np.nan, np.inf, 0]], equal_nan=True)


def test_a_wrong_argument_is_a_value_error_and_changes_nothing(folder: Path) -> None:
    rows = open_rows(folder, spec_of())
    with pytest.raises(ValueError, match="inside"):
        rows.append(text_keys(["a"]), vectors(0, 1), RUN)
    with rows.writing():
        with pytest.raises(ValueError, match="dimension 3"):
            rows.append(text_keys(["a"]), vectors(0, 1, 4), RUN)
        with pytest.raises(ValueError, match="2 vectors for 1 keys"):
            rows.append(text_keys(["a"]), vectors(0, 2), RUN)
    assert rows.n_rows == 0


def _hold(folder: Path, started: Any, done: Any) -> None:
    with open_rows(folder, spec_of()).writing():
        started.set()
        done.wait(30)


def test_a_second_writer_is_refused_with_the_holders_pid(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    started, done = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(folder, started, done))
    holder.start()
    assert started.wait(30)
    with pytest.raises(VectorsBusy, match=f"by process {holder.pid}") as caught:
        fill(open_rows(folder, spec_of()), 0, 1)
    assert caught.value.exit_code == 4
    done.set()
    holder.join()
    fill(open_rows(folder, spec_of()), 0, 1)
    assert open_rows(folder, spec_of()).n_rows == 1


def test_a_reader_keeps_what_it_saw_while_a_writer_goes_on(folder: Path) -> None:
    fill(open_rows(folder, spec_of()), 0, 2)
    reader = open_rows(folder, spec_of())
    fill(open_rows(folder, spec_of()), 2, 5)
    assert reader.n_rows == 2
    assert reader.gather(np.array([1])).tolist() == [[3, 4, 5]]
    assert open_rows(folder, spec_of()).n_rows == 5


def test_a_line_says_where_its_rows_came_from(folder: Path) -> None:
    fill(open_rows(folder, spec_of()), 0, 2)
    line = json.loads((folder / "blocks.jsonl").read_text())
    assert (line["start"], line["stop"], line["n_truncated"]) == (0, 2, 1)
    assert (line["elapsed_s"], line["device"], line["provenance"]) == (
        0.5,
        "cpu",
        {"library": "1.0"},
    )
    assert open_rows(folder, spec_of()).blocks[0].run == RUN


def test_vectors_too_short_for_the_storage_are_refused_and_zero_ones_are_not(folder: Path) -> None:
    rows = open_rows(folder, spec_of(storage="float16"))
    with rows.writing():
        with pytest.raises(ModelRefused, match="nothing would be left of 1 of 2"):
            short = np.array([[1e-9, 0, 0], [1, 0, 1e-9]], dtype=np.float32)
            rows.append(text_keys(["a", "b"]), short, RUN)
        rows.append(text_keys(["a"]), np.zeros((1, 3), dtype=np.float32), RUN)
    assert rows.n_rows == 1
