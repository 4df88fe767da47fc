"""Checksums of the files that lie beside vectors: the fit of a fitted model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from patcache.hashing import canonical_json, file_digest
from patcache.vectors.disk import explained, sync_tree
from patcache.vectors.verify import Fault

SUMS_NAME = "sha256.json"


def write_sums(folder: Path) -> None:
    """Notes the sha256 of every file of a folder in it, all on disk when this returns.

    Errors: WriteFailed.
    """
    sums = {path.name: file_digest(path) for path in sorted(folder.iterdir()) if path.is_file()}
    with explained(folder):
        (folder / SUMS_NAME).write_text(canonical_json(sums), encoding="utf-8")
        sync_tree(folder)


def check_sums(folder: Path) -> Iterator[Fault]:
    """Files that are not what was written. Those of a folder without sums cannot be told."""
    path = folder / SUMS_NAME
    if not path.exists():
        return
    try:
        sums = dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        yield Fault(f"{folder.name}/{SUMS_NAME}", f"it cannot be read: {error}")
        return
    for name, digest in sums.items():
        file = folder / name
        try:
            why = "" if file_digest(file) == digest else "its checksum is not the one noted"
        except FileNotFoundError:
            why = "it is gone"
        except OSError as error:
            why = f"it cannot be read: {error.strerror or error}"
        if why:
            yield Fault(f"{folder.name}/{name}", why)
