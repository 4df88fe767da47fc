"""Disks that are full, read-only or failing: an error one understands, and nothing half written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.errors import WriteFailed
from patcache.hashing import text_keys
from patcache.vectors import disk, journal, npyfile
from patcache.vectors.disk import explained, replace_file, tree_bytes
from patcache.vectors.folder import writer_lock
from patcache.vectors.rows import open_rows
from patcache.vectors.verify import check_rows
from tests.vectors.test_rows import RUN, fill, spec_of, texts, vectors

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spec"


@pytest.mark.parametrize(
    ("number", "what", "why", "todo"),
    [
        (errno.ENOSPC, "the disk is full: ", "no space left; 1,234 more bytes", "make room"),
        (errno.EDQUOT, "the disk is full: ", "quota is used up; 1,234 more bytes", "make room"),
        (errno.EFBIG, "the disk is full: ", "larger than the system or a limit", "make room"),
        (errno.EROFS, "cannot write ", "mounted read-only", "mount it for writing"),
        (errno.EACCES, "cannot write ", "permission denied", "get the right to write"),
        (errno.EIO, "cannot write ", "Input/output error", "check the disk"),
    ],
)
def test_what_cannot_be_written_is_named_with_what_to_do(
    tmp_path: Path, number: int, what: str, why: str, todo: str
) -> None:
    path = tmp_path / "vectors.npy"
    with pytest.raises(WriteFailed) as caught, explained(path, 1234):
        raise OSError(number, os.strerror(number))
    assert caught.value.what == f"{what}{path}"
    assert why in caught.value.why
    assert todo in caught.value.todo
    assert "what was finished is kept" in caught.value.todo
    assert caught.value.exit_code == 1


def failing_write(after: int, number: int = errno.ENOSPC) -> Callable[[int, Any], int]:
    """os.write of a disk with room for `after` bytes: the last call is cut short, then it fails."""
    left = after
    write = os.write

    def limited(descriptor: int, raw: Any) -> int:
        nonlocal left
        end = os.lseek(descriptor, 0, os.SEEK_CUR) + len(raw)
        if end <= os.fstat(descriptor).st_size:
            return write(descriptor, raw)  # it has its space already
        if left == 0:
            raise OSError(number, os.strerror(number))
        written = write(descriptor, memoryview(raw)[:left])
        left -= written
        return written

    return limited


@pytest.mark.parametrize("after", [1, 60, 60 + 79, 60 + 80 + 100])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_write_that_stops_at_any_byte_leaves_what_was_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, after: int, sparse: bool
) -> None:
    spec = spec_of(sparse=sparse)
    fill(open_rows(folder, spec), 0, 2, 5)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    rows: Any = open_rows(folder, spec)
    block: Any = vectors(5, 10)
    if sparse:
        from scipy.sparse import csr_array

        block = csr_array(block)
    with rows.writing():
        monkeypatch.setattr(os, "write", failing_write(after))
        monkeypatch.setattr(npyfile, "reserve", lambda *_: None)  # as where the system cannot
        with pytest.raises(WriteFailed, match="the disk is full"):
            rows.append(text_keys(texts(5, 10)), block, RUN)
        assert rows.n_rows == 5
        monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    fill(open_rows(folder, spec), 5, 10)
    assert open_rows(folder, spec).n_rows == 10
    assert check_rows(folder, spec).faults == []


@pytest.mark.parametrize("is_cut_at_once", [True, False])
def test_a_torn_line_is_cut_at_once_or_by_the_next_writer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_cut_at_once: bool
) -> None:
    fill(open_rows(folder, spec_of()), 0, 2)
    before = (folder / "blocks.jsonl").read_bytes()
    block = open_rows(folder, spec_of()).blocks[0]
    monkeypatch.setattr(os, "write", failing_write(40))
    if not is_cut_at_once:

        def cannot(*_: Any) -> None:
            raise OSError(errno.EIO, "failing")

        monkeypatch.setattr(os, "ftruncate", cannot)
    with pytest.raises(WriteFailed, match=r"disk is full.*blocks\.jsonl"):
        journal.append_block(folder, block)
    monkeypatch.undo()
    torn = (folder / "blocks.jsonl").read_bytes()
    assert len(torn) == len(before) + (0 if is_cut_at_once else 40)
    assert open_rows(folder, spec_of()).n_rows == 2
    assert check_rows(folder, spec_of()).faults == []
    fill(open_rows(folder, spec_of()), 2, 5)
    assert (folder / "blocks.jsonl").read_bytes().startswith(before)
    assert open_rows(folder, spec_of()).n_rows == 5


LIMITED = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from patcache.errors import WriteFailed
from patcache.vectors.rows import open_rows
from tests.vectors.test_rows import fill, spec_of
folder, dim = Path(sys.argv[1]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
rows = open_rows(folder, spec_of(dim))
try:
    fill(rows, *range(0, 1000, 5))
except WriteFailed as error:
    print(rows.n_rows, Path(error.what.split(": ")[1]).name)
"""


@pytest.mark.parametrize(("dim", "file"), [(100, "vectors.npy"), (1, "blocks.jsonl")])
def test_a_limit_on_the_size_of_files_stops_with_an_error_and_keeps_the_blocks(
    folder: Path, dim: int, file: str
) -> None:
    arguments = [sys.executable, "-c", LIMITED, str(folder), str(ROOT), str(dim)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    n_rows, name = done.stdout.split()
    assert name == file
    rows = open_rows(folder, spec_of(dim))
    assert rows.n_rows == int(n_rows) > 0
    assert check_rows(folder, spec_of(dim)).faults == []
    fill(rows, rows.n_rows, 1000)
    whole = np.load(folder / "vectors.npy")
    assert whole.tolist() == vectors(0, 1000, dim).tolist()


def test_a_full_disk_is_an_error_that_says_where_and_how_much(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=1m", str(small_disk)], check=True)
    rows = open_rows(small_disk / "spec", spec_of(100))
    with pytest.raises(WriteFailed) as caught:
        fill(rows, *range(0, 10_000, 400))
    assert caught.value.what == f"the disk is full: {small_disk / 'spec' / 'vectors.npy'}"
    assert "160,000 more bytes were to be written, " in caught.value.why
    assert rows.n_rows == 2400  # 6 blocks of 166,400 bytes are just below the megabyte
    reopened: Any = open_rows(small_disk / "spec", spec_of(100))
    assert reopened.gather(np.arange(2400)).tolist() == vectors(0, 2400, 100).tolist()
    assert check_rows(small_disk / "spec", spec_of(100)).faults == []


def test_a_full_disk_does_not_keep_anybody_from_removing_vectors(small_disk: Path) -> None:
    (small_disk / "spec").mkdir()
    with writer_lock(small_disk / "spec"):
        pass
    with pytest.raises(OSError, match="space"):
        (small_disk / "filling").write_bytes(bytes(51 << 20))
    with writer_lock(small_disk / "spec"):
        pass


def test_a_disk_to_be_read_only_is_named_as_such_and_read(small_disk: Path) -> None:
    fill(open_rows(small_disk / "spec", spec_of()), 0, 5)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    rows: Any = open_rows(small_disk / "spec", spec_of())
    assert rows.gather(np.array([4])).tolist() == [[12, 13, 14]]
    with pytest.raises(WriteFailed, match="read-only"):
        fill(rows, 5, 6)
    with pytest.raises(WriteFailed, match="read-only"):
        fill(open_rows(small_disk / "other", spec_of()), 0, 1)


def test_space_is_claimed_before_the_first_byte_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(open_rows(folder, spec_of()), 0, 2)
    calls: list[str] = []
    write = os.write
    monkeypatch.setattr(npyfile, "reserve", lambda *_: calls.append("reserve"))
    monkeypatch.setattr(os, "write", lambda *args: (calls.append("write"), write(*args))[1])
    npyfile.NpyFile(folder / "vectors.npy", np.dtype("<f4"), 3).write(vectors(2, 4), 2)
    assert calls[:2] == ["reserve", "write"]


def test_systems_that_cannot_reserve_write_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: Any) -> None:
        raise OSError(errno.EOPNOTSUPP, "not here")

    monkeypatch.setattr(os, "posix_fallocate", cannot, raising=False)
    fill(open_rows(folder, spec_of()), 0, 5)
    assert open_rows(folder, spec_of()).n_rows == 5


def test_arrays_are_on_disk_before_their_line_and_names_with_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    fill(open_rows(folder, spec_of()), 0, 5)
    inode = {path.name: path.stat().st_ino for path in folder.iterdir()}
    own, parent = folder.stat().st_ino, folder.parent.stat().st_ino
    order = ["spec.json", "vectors.npy", "keys.npy", "blocks.jsonl"]
    at = [synced.index(inode[name]) for name in order]
    assert at == sorted(at)
    assert synced.index(parent) < at[0]
    assert own in synced[at[0] : at[1]]  # spec.json under its name, and the arrays
    assert synced[-1] == own  # the journal's own name


def test_a_small_file_that_cannot_be_written_stays_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "spec.json"
    replace_file(path, b"old")
    monkeypatch.setattr(disk, "write_all", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(WriteFailed, match="disk is full"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_readers_of_an_old_map_stay_right_while_a_writer_appends_and_fails(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(open_rows(folder, spec_of()), 0, 700)  # a map that ends within a page
    reader: Any = open_rows(folder, spec_of())
    rows = open_rows(folder, spec_of())
    fill(rows, 700, 1500)
    with rows.writing():
        monkeypatch.setattr(os, "write", failing_write(500))
        monkeypatch.setattr(npyfile, "reserve", lambda *_: None)
        with pytest.raises(WriteFailed):
            rows.append(text_keys(texts(1500, 1600)), vectors(1500, 1600), RUN)
    assert reader.gather(np.arange(700)).tolist() == vectors(0, 700).tolist()


def test_a_file_that_goes_while_bytes_are_counted_counts_nothing(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "stays").write_bytes(b"12345")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")  # named, but not there any more
    assert tree_bytes(tmp_path) == 5
    assert tree_bytes(tmp_path / "inner" / "stays") == 5
    assert tree_bytes(tmp_path / "nowhere") == 0
