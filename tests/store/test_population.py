from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from patcache.store import StoreFolder
from patcache.store.population import read_codes, read_population
from tests.plain_patents import PlainPatent, add_patents

PATENTS = [
    PlainPatent("US2", 2002, ("A61B 5/00",), "own", None),
    PlainPatent("US10", 2001, ("H01L 21/02", "A61B 5/00"), "shared", "f"),
    PlainPatent("US1", 2001, ("H01L 21/02",), "shared", "g"),
    PlainPatent("EP3", 2001, ("A61B 50/00", "B60R 7/06", "A61B 5/00"), "other", "f"),
]


def test_patents_come_sorted_by_year_code_and_number(store: StoreFolder) -> None:
    add_patents(store, PATENTS)
    found = read_population(store, None)
    assert found.patent_ids.tolist() == [3, 2, 1, 0]  # EP3, US1, US10 ("US1" < "US10"), US2
    assert found.main_codes == ("A61B 5/00", "A61B 50/00", "H01L 21/02")
    assert found.codes.tolist() == [1, 2, 2, 0]
    digests = [hashlib.sha256(n.encode()).digest() for n in ("EP3", "US1", "US10", "US2")]
    assert found.words.tolist() == [int.from_bytes(digest[:8], "big") for digest in digests]
    assert found.n_family_unknown == 1


def test_shared_texts_and_families_have_one_number_and_others_none(store: StoreFolder) -> None:
    add_patents(store, PATENTS)
    found = read_population(store, None)
    assert (found.texts >= 0).tolist() == [False, True, True, False]
    assert found.texts[1] == found.texts[2]
    assert (found.families >= 0).tolist() == [True, False, True, False]
    assert found.families[0] == found.families[2]


def digest_of(patents: list[PlainPatent]) -> str:
    combined = 0
    for patent in patents:
        key = hashlib.sha256(patent.text.encode()).hexdigest()[:32].upper()
        family = "" if patent.family is None else f"={patent.family}"
        row = "\x1f".join([patent.number, str(patent.year), ",".join(patent.codes), key, family])
        combined ^= int.from_bytes(hashlib.md5(row.encode()).digest(), "little")
    return hashlib.sha256(f"{len(patents)} {combined:032x}".encode()).hexdigest()


def test_the_digest_is_what_plain_python_makes_of_the_patents(store: StoreFolder) -> None:
    add_patents(store, PATENTS)
    assert read_population(store, None).digest == digest_of(PATENTS)


def test_any_change_of_a_patent_changes_the_digest(tmp_path: Path) -> None:
    first = PATENTS[1]
    changed = [
        replace(first, year=2000),
        replace(first, codes=first.codes[:1]),
        replace(first, codes=(first.codes[0], "A61B 5/02")),
        replace(first, text="another"),
        replace(first, family=None),
        replace(first, family=""),
        replace(first, number="US11"),
    ]
    found = set()
    for number, other in enumerate([first, *changed]):
        store = StoreFolder(tmp_path / str(number))
        add_patents(store, [PATENTS[0], other, *PATENTS[2:]])
        found.add(read_population(store, None).digest)
    assert len(found) == 8


def test_codes_of_patents_come_in_the_order_asked_for(store: StoreFolder) -> None:
    add_patents(store, PATENTS)
    found = read_codes(store, np.array([1, 3, 1, 0], dtype=np.int32))
    lists = [
        [found.names[code] for code in found.codes[low:high]]
        for low, high in zip(found.offsets, found.offsets[1:], strict=False)
    ]
    assert lists == [list(PATENTS[number].codes) for number in (1, 3, 1, 0)]


def test_batches_of_codes_join_up(store: StoreFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("patcache.store.population.BATCH_ROWS", 700)
    patents = [replace(PATENTS[n % 4], number=f"P{n}") for n in range(5000)]
    add_patents(store, patents)
    found = read_codes(store, np.arange(5000, dtype=np.int32))
    assert found.offsets[-1] == len(found.codes) == sum(len(patent.codes) for patent in patents)
    last = found.codes[found.offsets[4999] :]
    assert [found.names[code] for code in last] == list(patents[-1].codes)
