"""Plurals, verb forms, passives and articles of the generated patents."""

from __future__ import annotations

import pytest

from patcache.demo import english


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("drip tray", "drip trays"),
        ("battery box", "battery boxes"),
        ("assembly", "assemblies"),
        ("shelf", "shelves"),
        ("family of seals", "families of seals"),
        ("hoop with a tooth", "hoops with a tooth"),
        ("DTY", "DTYs"),
    ],
)
def test_plurals_go_by_the_head_of_the_noun(noun: str, many: str) -> None:
    assert english.plural(noun) == many


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("carry", ("carries", "carrying", "carried")),
        ("clamp", ("clamps", "clamping", "clamped")),
        ("cut", ("cuts", "cutting", "cut")),
        ("die-cast", ("die-casts", "die-casting", "die-cast")),
        ("emit", ("emits", "emitting", "emitted")),
        ("feed", ("feeds", "feeding", "fed")),
        ("heap-leach", ("heap-leaches", "heap-leaching", "heap-leached")),
        ("open", ("opens", "opening", "opened")),
        ("quench", ("quenches", "quenching", "quenched")),
        ("strip", ("strips", "stripping", "stripped")),
        ("tie", ("ties", "tying", "tied")),
    ],
)
def test_verbs_take_their_forms(verb: str, forms: tuple[str, str, str]) -> None:
    found = (english.third(verb), english.gerund(verb), english.participle(verb))
    assert found == forms


@pytest.mark.parametrize(
    ("deed", "clause"),
    [
        ("brew coffee", "coffee is brewed"),
        ("grind coffee beans", "coffee beans are ground"),
        ("store data", "data are stored"),
        ("carry off heat", "heat is carried off"),
        ("keep doors open", "doors are kept open"),
        ("beat air into milk", "air is beaten into milk"),
        ("roll on pins", None),
        ("evacuate", None),
    ],
)
def test_a_deed_becomes_passive_where_it_has_an_object(deed: str, clause: str | None) -> None:
    assert english.passive(deed) == clause


def test_articles_go_by_sound() -> None:
    with_an = ("apple", "hour", "uneven", "LED", "SQL", "8", "11", "X-ray", "uninterrupted")
    with_a = ("unit", "one-way", "UV", "used", "eugenol", "usual", "70-fold")
    assert [english.with_articles(f"a {word}") for word in with_an] == [f"an {w}" for w in with_an]
    assert [english.with_articles(f"a {word}") for word in with_a] == [f"a {w}" for w in with_a]


def test_verbs_agree_with_their_subject() -> None:
    assert [english.present(verb, False) for verb in ("be", "have", "touch")] == [
        "is",
        "has",
        "touches",
    ]
    assert [english.present(verb, True) for verb in ("be", "have", "touch")] == [
        "are",
        "have",
        "touch",
    ]
