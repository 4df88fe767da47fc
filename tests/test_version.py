"""The version is stated twice; both must agree."""

from __future__ import annotations

import tomllib
from pathlib import Path

from patcache.version import __version__


def test_version_of_the_package_is_that_of_pyproject() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["project"]["version"] == __version__
