"""Word lists of the demo's data files."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def read_data(name: str) -> dict[str, Any]:
    """A data file of the demo, by its name without .toml."""
    text = files("patcache.demo").joinpath("data", f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def word_lists(name: str) -> dict[str, tuple[str, ...]]:
    """The lists of a file; a text is a list of the words in it."""
    lists = {k: v for k, v in read_data(name).items() if isinstance(v, (str, list))}
    return {k: tuple(v.split()) if isinstance(v, str) else tuple(v) for k, v in lists.items()}
