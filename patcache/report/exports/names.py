"""Labels as names of files, on any system."""

from __future__ import annotations

import re
from collections.abc import Sequence

UNSAFE = re.compile(r"[^A-Za-z0-9@+=._-]+")
LONGEST = 80


def file_names(labels: Sequence[str]) -> list[str]:
    """A name for each label: letters, digits and @ + = . _ - only, none twice in any case."""
    names: list[str] = []
    taken: set[str] = set()
    for label in labels:
        stem = UNSAFE.sub("_", label)[:LONGEST].strip(".") or "_"
        name, number = stem, 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.lower())
        names.append(name)
    return names
