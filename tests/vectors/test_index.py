"""FAISS indexes: of the vectors there are, as good as they say, whole or not at all."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.errors import ModelRefused, VectorsBusy, WriteFailed
from patcache.records import IndexKind
from patcache.vectors import index as index_module
from patcache.vectors.index import BUILT_KINDS, index_paths, is_of, read_info, ready_index
from patcache.vectors.search import exact_search
from tests.vectors.test_search import add_rows, random_vectors, rows_of

N_ROWS, N_MORE = 6000, 200
RECALL = 0.95


def clustered(n: int, dim: int = 32, seed: int = 0) -> Any:
    """Vectors in two hundred groups; the sixth is zero, the eighth NaN."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(9).standard_normal((200, dim))
    vectors = centres[rng.integers(0, 200, n)] + 0.7 * rng.standard_normal((n, dim))
    vectors[5], vectors[7] = 0, np.nan
    return vectors.astype(np.float32)


@pytest.fixture(scope="module")
def vectors_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    rows_of(folder, clustered(N_ROWS))
    return folder


@pytest.fixture
def rows(vectors_folder: Path, tmp_path: Path) -> Any:
    shutil.copytree(vectors_folder, tmp_path / "vectors")
    from patcache.vectors.rows import open_rows
    from tests.vectors.test_rows import spec_of

    return open_rows(tmp_path / "vectors", spec_of(32))


def share_found(found: Any, wanted: Any) -> float:
    pairs = zip(found.rows.tolist(), wanted.rows.tolist(), strict=True)
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in pairs]))


@pytest.mark.parametrize("kind", BUILT_KINDS)
def test_an_index_finds_as_much_as_it_says(rows: Any, tmp_path: Path, kind: IndexKind) -> None:
    own = np.arange(100, 300)
    queries = rows.gather(own)
    index = ready_index(tmp_path, rows, kind)
    found = index.search(queries, 10, own=own)
    exact = exact_search(rows, queries, 10, own=own)
    assert index.info.recall >= RECALL
    assert share_found(found, exact) >= index.info.recall - 0.03
    same = found.rows == exact.rows
    assert (found.similarities[same] == exact.similarities[same]).all()
    assert not np.isin(found.rows, [5, 7]).any()
    assert not (found.rows == own[:, None]).any()


def test_fp16_finds_what_the_exact_search_does(rows: Any, tmp_path: Path) -> None:
    queries = rows.gather(np.arange(100, 300))
    found = ready_index(tmp_path, rows, "fp16").search(queries, 10)
    assert found.rows.tolist() == exact_search(rows, queries, 10).rows.tolist()


@pytest.mark.parametrize("kind", BUILT_KINDS)
def test_filters_are_part_of_the_search(rows: Any, tmp_path: Path, kind: IndexKind) -> None:
    wanted = np.random.default_rng(4).random(N_ROWS) < 0.3
    queries = rows.gather(np.arange(100, 200))
    found = ready_index(tmp_path, rows, kind).search(queries, 10, wanted=wanted)
    assert (found.rows >= 0).all()
    assert wanted[found.rows].all()
    assert share_found(found, exact_search(rows, queries, 10, wanted=wanted)) >= RECALL


@pytest.mark.parametrize("kind", BUILT_KINDS)
def test_few_new_rows_are_searched_beside_the_index(
    rows: Any, tmp_path: Path, kind: IndexKind
) -> None:
    ready_index(tmp_path, rows, kind)
    path, _ = index_paths(tmp_path, rows.spec.spec_id, kind)
    before = path.read_bytes()
    add_rows(rows, clustered(N_MORE, seed=1))
    index = ready_index(tmp_path, rows, kind)
    assert (index.n_tail, path.read_bytes() == before) == (N_MORE, True)
    own = np.arange(N_ROWS + 10, N_ROWS + 60)  # new ones find each other
    queries = rows.gather(own)
    found = index.search(queries, 10, own=own)
    assert share_found(found, exact_search(rows, queries, 10, own=own)) >= RECALL
    assert (found.rows >= N_ROWS).any()


@pytest.mark.parametrize("kind", BUILT_KINDS)
def test_adding_rows_is_as_good_as_building_anew(
    rows: Any, tmp_path: Path, kind: IndexKind
) -> None:
    ready_index(tmp_path / "added", rows, kind)
    add_rows(rows, clustered(N_MORE, seed=1))
    added = ready_index(tmp_path / "added", rows, kind, extend=True)
    anew = ready_index(tmp_path / "anew", rows, kind)
    assert (added.n_tail, added.info.n_indexed) == (0, N_ROWS + N_MORE - 4)
    assert (added.info.n_indexed, added.info.digest) == (anew.info.n_indexed, anew.info.digest)
    queries = rows.gather(np.arange(N_ROWS, N_ROWS + 5))
    one, other = added.search(queries, 10), anew.search(queries, 10)
    assert share_found(one, other) >= (1.0 if kind == "fp16" else RECALL)
    assert added.info.recall >= RECALL


def test_an_index_that_is_up_to_date_is_not_made_again(rows: Any, tmp_path: Path) -> None:
    first = ready_index(tmp_path, rows, "ivf")
    path, _ = index_paths(tmp_path, rows.spec.spec_id, "ivf")
    written = path.stat().st_mtime_ns
    assert ready_index(tmp_path, rows, "ivf").info == first.info
    assert path.stat().st_mtime_ns == written
    ready_index(tmp_path, rows, "ivf", rebuild=True)
    assert path.stat().st_mtime_ns > written


def test_an_index_of_other_vectors_is_made_anew(rows: Any, tmp_path: Path) -> None:
    old = ready_index(tmp_path, rows, "fp16")
    shutil.rmtree(rows.folder)
    other: Any = rows_of(rows.folder, clustered(N_ROWS, seed=5))  # somebody embedded them again
    kept = read_info(tmp_path, other.spec.spec_id, "fp16")
    assert kept is not None
    assert not is_of(kept, other)
    anew = ready_index(tmp_path, other, "fp16")
    assert anew.info.digest != old.info.digest
    queries = other.gather(np.arange(50, 60))
    assert anew.search(queries, 1).rows.ravel().tolist() == list(range(50, 60))


def test_a_build_that_was_killed_leaves_no_index(rows: Any, tmp_path: Path) -> None:
    ready_index(tmp_path, rows, "fp16")
    path, info_path = index_paths(tmp_path, rows.spec.spec_id, "fp16")
    info = info_path.read_text()
    info_path.unlink()  # killed between the index and its JSON
    assert read_info(tmp_path, rows.spec.spec_id, "fp16") is None
    info_path.write_text(info)
    path.write_bytes(path.read_bytes()[:1000])  # or cut by somebody else
    index = ready_index(tmp_path, rows, "fp16")
    assert index.search(rows.gather(np.arange(60, 61)), 1).rows.tolist() == [[60]]
    info_path.write_text(json.dumps({"of": "another version"}))
    assert read_info(tmp_path, rows.spec.spec_id, "fp16") is None


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from patcache.errors import WriteFailed
from patcache.vectors.index import ready_index
from patcache.vectors.rows import open_rows
from tests.vectors.test_rows import spec_of
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
rows = open_rows(Path(sys.argv[1]), spec_of(32))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    ready_index(Path(sys.argv[2]), rows, "fp16")
except WriteFailed as error:
    print(error.what)
"""


def test_a_full_disk_is_said_and_leaves_nothing(rows: Any, tmp_path: Path) -> None:
    folder = tmp_path / "indexes"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(rows.folder), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    path, _ = index_paths(folder, rows.spec.spec_id, "fp16")
    assert str(path) in done.stdout, done.stderr
    assert {each.suffix for each in folder.iterdir()} <= {".lock"}


def test_a_second_builder_is_refused(rows: Any, tmp_path: Path) -> None:
    from filelock import FileLock

    lock = FileLock(tmp_path / f"{rows.spec.spec_id}.ivf.lock")
    code = "import sys; from filelock import FileLock; "
    code += "lock = FileLock(sys.argv[1]); lock.acquire(); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(lock.lock_file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(VectorsBusy, match="being built"):
            ready_index(tmp_path, rows, "ivf")
        holder.communicate("\n")
    ready_index(tmp_path, rows, "ivf")


def test_lists_are_made_anew_when_the_vectors_have_doubled(rows: Any, tmp_path: Path) -> None:
    before = ready_index(tmp_path, rows, "ivf").info.parameters["lists"]
    add_rows(rows, clustered(N_ROWS + 10, seed=2))
    index = ready_index(tmp_path, rows, "ivf")
    assert index.info.parameters["lists"] > before
    assert index.n_tail == 0


def test_sparse_vectors_and_none_have_no_index(tmp_path: Path) -> None:
    sparse = rows_of(tmp_path / "sparse", random_vectors(20), sparse=True)
    with pytest.raises(ModelRefused, match="sparse"):
        ready_index(tmp_path, sparse, "hnsw")
    nothing = rows_of(tmp_path / "zero", np.zeros((3, 4), dtype=np.float32))
    with pytest.raises(ModelRefused, match="none has a direction"):
        ready_index(tmp_path, nothing, "hnsw")


def test_a_handful_of_vectors_can_be_indexed(tmp_path: Path) -> None:
    vectors = random_vectors(5)
    rows = rows_of(tmp_path / "few", vectors)
    for kind in BUILT_KINDS:
        found = ready_index(tmp_path, rows, kind).search(vectors[:2], 10)
        assert found.rows.tolist() == exact_search(rows, vectors[:2], 10).rows.tolist()
        assert found.rows.shape == (2, 5)


@pytest.mark.parametrize("n_directed", [1, 3, 100])
@pytest.mark.parametrize("kind", BUILT_KINDS)
def test_few_vectors_with_a_direction_among_many_without_are_found(
    tmp_path: Path, kind: IndexKind, n_directed: int
) -> None:
    vectors = np.zeros((N_ROWS, 32), dtype=np.float32)
    places = np.random.default_rng(0).choice(N_ROWS, n_directed, replace=False)
    vectors[places] = random_vectors(n_directed, 32)
    rows = rows_of(tmp_path / "sparsely", vectors)
    index = ready_index(tmp_path, rows, kind)
    assert (index.info.n_indexed, index.info.recall) == (n_directed, 1.0)
    found = index.search(vectors[places[:1]], 2).rows[0].tolist()
    assert found[0] == places[0]
    assert (found[1] == -1) == (n_directed == 1)


def test_a_folder_that_cannot_be_written_is_searched_and_said(
    rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready_index(tmp_path, rows, "hnsw")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:  # nor may it be looked into
        patched.setattr(Path, "stat", refuse)
        assert read_info(tmp_path, rows.spec.spec_id, "hnsw") is None
    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    found = ready_index(tmp_path, rows, "hnsw").search(rows.gather(np.arange(60, 61)), 1)
    assert found.rows.tolist() == [[60]]
    for kind, rebuild in (("hnsw", True), ("ivf", False)):
        with pytest.raises(WriteFailed, match="cannot write") as refused:
            ready_index(tmp_path, rows, kind, rebuild=rebuild)  # type: ignore[arg-type]
        assert "permission denied" in str(refused.value)


def test_the_width_grows_until_the_recall_is_reached(
    rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "TARGET_RECALL", 1.0)
    hard: Any = rows_of(tmp_path / "hard", random_vectors(N_ROWS, 32, seed=3))  # no clusters
    index = ready_index(tmp_path, hard, "ivf")
    assert index.info.width > 8
    assert index.info.recall >= RECALL
