"""Fixtures: a temporary store, and the shared folder of real patents and reference values."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from patcache.store import StoreFolder

SHARED = Path(os.environ.get("PATCACHE_SHARED", Path(__file__).parents[2] / "shared"))


def shared_path(name: str) -> Path:
    """A file or folder of the shared data; skips where absent, fails in CI."""
    path = SHARED / name
    if not path.exists():
        reason = f"{name} of the shared data is not beside this checkout"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture
def shared() -> Path:
    """The folder of real patents and reference values."""
    return shared_path(".")


@pytest.fixture
def store(tmp_path: Path) -> StoreFolder:
    """An empty store."""
    return StoreFolder(tmp_path / "store")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 50 megabytes."""
    path = tmp_path / "disk"
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs", str(path)], capture_output=True
    )
    if done.returncode != 0:
        pytest.skip("a file system cannot be mounted here: " + done.stderr.decode().strip())
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)
