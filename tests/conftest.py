"""Fixtures: a temporary store, and the shared folder of real patents and reference values."""

from __future__ import annotations

import os
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
