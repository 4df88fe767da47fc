"""The tree: its shape allows every level of similarity, and its words lead to it."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import pytest

from patcache.demo.corpus import generate
from patcache.demo.names import COINERS, own_names
from patcache.demo.tree import Field, fields
from patcache.ipc import parse, shared_level
from patcache.records import SECTIONS


def children(depth: int) -> dict[str, set[str]]:
    """The codes of one depth by their parents': depth 1 is classes by section."""
    found: dict[str, set[str]] = defaultdict(set)
    for field in fields():
        parsed = parse(field.code)
        steps = (parsed.section, parsed.ipc_class, parsed.subclass, parsed.main_group, parsed.code)
        found[steps[depth - 1]].add(steps[depth])
    return found


@pytest.mark.parametrize(("depth", "least"), [(1, 3), (2, 2), (3, 2), (4, 3)])
def test_every_level_has_a_choice_of_others(depth: int, least: int) -> None:
    assert min(len(codes) for codes in children(depth).values()) >= least


def test_every_section_is_there_and_every_code_is_canonical() -> None:
    assert {field.code[0] for field in fields()} == set(SECTIONS)
    assert all(parse(field.code).code == field.code for field in fields())


def test_every_subclass_has_every_topic_its_rules_ask_for() -> None:
    for field in fields():
        present = {topic for node in field.path for topic in node.topics}
        assert present >= {"things", "parts", "stuff", "acts", "ills", "gains", "traits"}, (
            field.code
        )
        assert field.setting("kind") in ("device", "process", "system")
        assert field.setting("style") in ("plain", "dense")
        assert field.setting("names", "alloy") in COINERS


def test_concepts_are_words_without_marks() -> None:
    for field in fields():
        for node in field.path:
            for concepts in node.topics.values():
                for concept in concepts:
                    for text in (*concept.names, *concept.deeds):
                        assert re.fullmatch(r"[\w' .()-]+", text), (node.code, text)


def test_a_code_keeps_its_coined_names_to_itself() -> None:
    named: list[Field] = [field for field in fields() if field.setting("names")]
    owners: dict[str, str] = {}
    for field in named:
        for depth, node in enumerate(field.path, start=1):
            for name in own_names(node.code, field.setting("names"), depth):
                assert owners.setdefault(name, node.code) == node.code
    assert len(owners) > 150


def test_patents_that_share_more_of_a_code_share_more_words() -> None:
    # Mean share of common words in pairs of one year, by level: it grows with every level.
    rows = [row for row in generate().to_pylist() if row["publication_date"].startswith("2019")]
    codes = [parse(row["ipc"].split(";")[0]) for row in rows]
    bags = [set(f"{row['title']} {row['abstract'] or ''}".lower().split()) for row in rows]
    shares: dict[int, list[float]] = defaultdict(list)
    for i, j in zip(*np.triu_indices(len(rows), k=1), strict=True):
        if rows[i]["family_id"] != rows[j]["family_id"]:
            level = shared_level(codes[i], codes[j])
            shares[level].append(len(bags[i] & bags[j]) / len(bags[i] | bags[j]))
    means = [float(np.mean(shares[level])) for level in range(1, 7)]
    assert means == sorted(means)
    assert means[5] > 1.3 * means[0]
