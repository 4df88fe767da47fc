"""Vectors computed elsewhere: found by publication number, from every kind of file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from patcache.api import Store
from patcache.embedders.array_file import ArrayEmbedder
from patcache.embedders.base import Context
from patcache.embedders.presets import resolve
from patcache.errors import ModelRefused
from patcache.records import ModelRequest
from tests.corpus import patents, write_patents
from tests.embedders.tiny import opened

IDS = ["EP1A1", "US22B2", "XX333A1", "WO4A"]
VALUES = np.array([[1, 0], [0, 2], [3, 3], [-1, 0.5]], dtype=np.float32)


def vectors(path: Path, cache: Path | None = None, **settings: Any) -> ArrayEmbedder:
    embedder = opened(f"vectors:{path}", Context(cache_path=cache), **settings)
    assert isinstance(embedder, ArrayEmbedder)
    return embedder


def rows(embedder: ArrayEmbedder, *numbers: str) -> Any:
    return np.asarray(embedder.encode(numbers, "query").vectors).tolist()


def npy(folder: Path, suffix: str = ".txt") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "e.npy"
    np.save(path, VALUES)
    if suffix == ".txt":
        (folder / "e.txt").write_text("\n".join(IDS) + "\n")
    if suffix == ".csv":
        lines = [f'{i},"{name}"' for i, name in enumerate(IDS)]
        (folder / "e.csv").write_text("\n".join(["n,publication_number", *lines]) + "\n")
    return path


def parquet(path: Path, column: Any = None, **more: Any) -> Path:
    column = pa.array(VALUES.tolist(), pa.list_(pa.float32())) if column is None else column
    pq.write_table(pa.table({"id": IDS, "vector": column, **more}), path, row_group_size=2)
    return path


def safetensors(path: Path, **tensors: Any) -> Path:
    pytest.importorskip("safetensors.numpy").save_file(tensors or {"emb": VALUES}, path)
    path.with_suffix(".txt").write_text("\n".join(IDS))
    return path


def test_every_kind_of_file_gives_the_row_of_the_number(tmp_path: Path) -> None:
    double = pa.array(VALUES.tolist(), pa.list_(pa.float64(), 2))
    files = [
        npy(tmp_path / "txt"),
        npy(tmp_path / "csv", ".csv"),
        parquet(tmp_path / "list.parquet"),
        parquet(tmp_path / "fixed.parquet", double),
        safetensors(tmp_path / "t.safetensors"),
    ]
    for path in files:
        assert rows(vectors(path), "XX333A1", "EP1A1", "none") == [[3, 3], [1, 0], [0, 0]]


def test_ids_may_be_an_array_of_strings(tmp_path: Path) -> None:
    path = npy(tmp_path, "")
    for array in (np.array(IDS), np.array(IDS, dtype="S8")):
        np.save(tmp_path / "ids.npy", array)
        assert rows(vectors(path, ids=str(tmp_path / "ids.npy")), "WO4A") == [[-1, 0.5]]


def test_arrays_are_memory_mapped_and_parquet_is_converted_once(tmp_path: Path) -> None:
    assert isinstance(vectors(npy(tmp_path / "n"))._values, np.memmap)
    path, cache = parquet(tmp_path / "p.parquet"), tmp_path / "cache"
    first = vectors(path, cache)
    folder = next((cache / "converted").iterdir())
    at = (folder / "values.f32").stat().st_mtime_ns
    assert isinstance(vectors(path, cache)._values, np.memmap)
    assert (folder / "values.f32").stat().st_mtime_ns == at
    assert first.spec == vectors(path).spec


def test_columns_and_tensors_can_be_named(tmp_path: Path) -> None:
    other = pa.array((VALUES + 1).tolist(), pa.list_(pa.float32()))
    path = parquet(tmp_path / "p.parquet", second=other, pub=IDS[::-1])
    with pytest.raises(ModelRefused, match="vector_column=NAME"):
        vectors(path)
    cache = tmp_path / "cache"
    assert rows(vectors(path, cache, vector_column="second"), "EP1A1") == [[2, 1]]
    named = {"vector_column": "vector", "id_column": "pub"}
    assert rows(vectors(path, cache, **named), "WO4A") == [[1, 0]]
    two = safetensors(tmp_path / "t.safetensors", a=VALUES, b=VALUES * 2)
    with pytest.raises(ModelRefused, match="tensor=NAME"):
        vectors(two)
    assert rows(vectors(two, tensor="b"), "EP1A1") == [[2, 0]]


def test_the_bytes_of_the_file_are_the_spec(tmp_path: Path) -> None:
    one, same = npy(tmp_path / "a"), npy(tmp_path / "b")
    assert vectors(one).spec.spec_id == vectors(same).spec.spec_id
    np.save(same, VALUES * 2)
    assert vectors(one).spec.spec_id != vectors(same).spec.spec_id
    assert vectors(one).spec.identity["text"]["fields"] == ["publication_number"]
    with pytest.raises(ModelRefused, match="text of a vectors model"):
        resolve(ModelRequest(f"vectors:{one}", None, {"text": "title"}))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([[1.0, 0.0], [1.0, 2.0], [1.0], [1.0, 2.0]], "row 3 of p.parquet has 1 numbers"),
        ([[1.0, 0.0], [1.0, 2.0], None, [1.0, 2.0]], "row 3 of p.parquet has 0 numbers"),
        ([[1.0, 0.0], [1.0, 2.0], [None, 1.0], [1.0, 2.0]], "with empty places, near row"),
        ([[], [], [], []], "row 1 of p.parquet has 0 numbers"),
    ],
)
def test_rows_that_are_not_alike_are_refused_by_number(
    tmp_path: Path, column: Any, message: str
) -> None:
    path = parquet(tmp_path / "p.parquet", pa.array(column, pa.list_(pa.float32())))
    with pytest.raises(ModelRefused, match=message):
        vectors(path)


def test_files_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match="which row of e.npy is whose"):
        vectors(npy(tmp_path / "a", ""))
    path = npy(tmp_path / "b")
    (tmp_path / "b" / "e.txt").write_text("one\n")
    with pytest.raises(ModelRefused, match="4 vectors and 1 ids"):
        vectors(path)
    (tmp_path / "b" / "e.txt").write_text("A1\nB2\nB2\nC3\n")
    with pytest.raises(ModelRefused, match="holds B2 twice\nin rows 2 and 3"):
        vectors(path)
    (tmp_path / "not.parquet").write_bytes(b"PAR1")
    with pytest.raises(ModelRefused, match="no Parquet file"):
        vectors(tmp_path / "not.parquet")
    (tmp_path / "v.json").write_text("{}")
    (tmp_path / "v.txt").write_text("A1\n")
    with pytest.raises(ModelRefused, match="read from .npy, .safetensors, .parquet"):
        vectors(tmp_path / "v.json")


def test_missing_patents_are_said_and_most_missing_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = npy(tmp_path)
    embedder = vectors(path)
    with caplog.at_level(logging.WARNING):
        embedder.check_run(iter([*IDS, "EP-1-A1"]))
    assert "1 of 5 patents have no vector in e.npy, such as EP-1-A1" in caplog.text
    assert embedder.provenance["n_without_vector"] == 1
    with pytest.raises(ModelRefused, match="2 of 3 patents have no vector") as refused:
        embedder.check_run(iter(["EP-1-A1", "US-22-B2", "WO4A"]))
    assert refused.value.why == "missing is 'EP-1-A1'; the file holds 'EP1A1'"
    vectors(path, allow_missing=True).check_run(iter(["EP-1-A1"]))


def test_a_study_takes_vectors_by_number_and_leaves_the_others_undefined(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.import_files(write_patents(tmp_path / "patents.parquet"))
    store.sample("main", targets=4, seed=1)
    numbers = patents()["publication_number"].to_pylist()[:-10]
    values = np.random.default_rng(5).standard_normal((len(numbers), 6)).astype(np.float32)
    table = {"id": numbers, "vector": pa.array(values.tolist(), pa.list_(pa.float32()))}
    pq.write_table(pa.table(table), tmp_path / "own.parquet")
    report = store.add(f"vectors:{tmp_path / 'own.parquet'}", label="own")
    assert report.dim == 6
    assert report.n_encoded == report.n_texts  # one for each patent, whatever its text
    row = next(iter(store.leaderboard()))
    assert row.model == "own"
    assert store.embed("own").n_encoded == 0
