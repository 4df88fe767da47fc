"""A folder of results: whole or not at all, and never somebody else's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from patcache.errors import WriteFailed
from patcache.report.folder import results_folder


def write(out: Path, files: dict[str, str], kind: str = "report") -> None:
    with results_folder(out, kind) as folder:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)


def content(out: Path) -> dict[str, str]:
    files = sorted(path for path in out.rglob("*") if path.is_file())
    return {path.relative_to(out).as_posix(): path.read_text() for path in files}


def test_files_are_moved_into_place_with_their_digests(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    write(out, {"a.txt": "one", "sub/b.txt": "two"})
    done = subprocess.run(
        ["sha256sum", "-c", "patcache-report.sha256"], cwd=out, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["a.txt: OK", "sub/b.txt: OK"]
    assert {path.name for path in out.iterdir()} == {"a.txt", "sub", "patcache-report.sha256"}


def test_an_earlier_run_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "one", "old/b.txt": "two"})
    (tmp_path / "mine.txt").write_text("mine")
    write(tmp_path, {"a.txt": "three"})
    found = content(tmp_path)
    del found["patcache-report.sha256"]
    assert found == {"a.txt": "three", "mine.txt": "mine"}
    assert not (tmp_path / "old").exists()


def test_a_folder_that_holds_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(WriteFailed, match="holds other things"):
        write(tmp_path, {"a.txt": "one"})
    assert content(tmp_path) == {"thesis.tex": "years of work"}
    with pytest.raises(WriteFailed, match="is a file"):
        write(tmp_path / "thesis.tex", {"a.txt": "one"})


def test_results_of_another_kind_are_other_things(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "one"}, kind="trec")
    with pytest.raises(WriteFailed, match="no patcache-report.sha256"):
        write(tmp_path, {"a.txt": "two"})


def test_a_file_that_no_run_wrote_is_not_replaced(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "one"})
    (tmp_path / "b.txt").write_text("mine")
    with pytest.raises(WriteFailed, match="no earlier run wrote it"):
        write(tmp_path, {"a.txt": "two", "b.txt": "ours"})
    found = content(tmp_path)
    assert (found["a.txt"], found["b.txt"]) == ("one", "mine")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_nothing_is_left_of_a_run_that_stops(
    tmp_path: Path, error: type[BaseException] | OSError
) -> None:
    out = tmp_path / "deep" / "out"
    with pytest.raises((KeyboardInterrupt, WriteFailed)), results_folder(out, "report") as folder:
        (folder / "half.txt").write_text("half")
        raise error
    assert list(tmp_path.iterdir()) == []
    write(out, {"a.txt": "one"})
    before = content(out)
    with pytest.raises((KeyboardInterrupt, WriteFailed)), results_folder(out, "report") as folder:
        (folder / "a.txt").write_text("half")
        raise error
    assert content(out) == before


def test_a_full_disk_is_said_and_leaves_nothing(small_disk: Path) -> None:
    with pytest.raises(WriteFailed, match="No space left"):
        write(small_disk / "out", {"big.txt": "x" * 60_000_000})
    assert not (small_disk / "out").exists()


def test_a_list_cannot_name_files_outside(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, {"a.txt": "one"})
    (tmp_path / "precious.txt").write_text("mine")
    manifest = out / "patcache-report.sha256"
    manifest.write_text(manifest.read_text() + f"{'0' * 64}  ../precious.txt\n")
    write(out, {"a.txt": "two"})
    assert (tmp_path / "precious.txt").read_text() == "mine"
