"""A corpus one can read: 96 short patents of two years, whose words follow their codes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

# section, class, subclass, main group, subgroup: a word for each step down the tree
WORDS = {
    "A": "garden", "A01": "soil", "A01B": "plough", "A01B 1": "hand", "A01B 3": "tractor",
    "A01C": "seed", "A01C 1": "coating", "A47": "kitchen", "A47J": "kettle", "A47J 27": "steam",
    "B": "workshop", "B25": "tool", "B25B": "spanner", "B25B 1": "clamp", "B60": "vehicle",
    "B60B": "wheel", "B60B 1": "spoke", "00": "frame", "02": "lever", "04": "spring",
}  # fmt: skip
GROUPS = ("A01B 1", "A01B 3", "A01C 1", "A47J 27", "B25B 1", "B60B 1")
SUBGROUPS = ("00", "02", "04")
COPIES = ("red", "blue", "green")
YEARS = (2019, 2020)


def patents(years: Iterable[int] = YEARS) -> pa.Table:
    """Three patents for each code and year, told apart by a colour."""
    rows = []
    for year, group, subgroup, colour in itertools.product(years, GROUPS, SUBGROUPS, COPIES):
        subclass = group.split()[0]
        path = (group[0], group[:3], subclass, group, subgroup)
        words = " ".join(f"{WORDS[step]} {WORDS[step]}" for step in path)
        rows.append(
            {
                "publication_number": f"XX{year}{len(rows):04d}A1",
                "title": f"{colour} {WORDS[group]} {WORDS[subgroup]}",
                "abstract": f"In {year}, {words} in {colour}.",
                "ipc": f"{group}/{subgroup}",
                "year": year,
            }
        )
    return pa.Table.from_pylist(rows)


def write_patents(path: Path, years: Iterable[int] = YEARS) -> Path:
    """The corpus as a Parquet file."""
    pq.write_table(patents(years), path)
    return path
