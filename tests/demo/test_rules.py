"""The grammar file: every name in it is defined, every rule can be written, brackets close."""

from __future__ import annotations

import re

import pytest

from patcache.demo.dice import Dice
from patcache.demo.grammar import SLOTS, Writer
from patcache.demo.rules import Choice, Pattern, Slot, parse, rules
from patcache.demo.subject import draw_subject
from patcache.demo.tree import fields

KINDS = ("device", "process", "system", "method")
STARTS = ("opening", "title", "body", "detail", "context", "examples", "industries", "closing")


def names_in(pattern: Pattern) -> set[str]:
    """The slots and rules a pattern asks for, verbs aside."""
    found: set[str] = set()
    for part in pattern:
        if isinstance(part, Slot) and not part.name.startswith("v:"):
            found.add(part.name)
        elif isinstance(part, Choice):
            found.update(*map(names_in, part.options))
    return found


def test_every_name_in_the_rules_is_a_slot_or_a_rule() -> None:
    asked = {
        name for alternatives in rules().values() for p in alternatives for name in names_in(p)
    }
    assert asked - set(SLOTS) - set(rules()) == set()


def test_no_rule_is_left_unused() -> None:
    asked = {
        name for alternatives in rules().values() for p in alternatives for name in names_in(p)
    }
    by_code = {"adjective", "adverb", "closing", "market", "material", "merit", "number", "post"}
    wanted = asked | by_code | set(STARTS) | {"step"}
    bases = {re.sub(rf"_(?:{'|'.join(KINDS)})$", "", name) for name in rules()}
    assert bases - wanted == set()


def test_a_rule_is_choices_slots_and_texts() -> None:
    pattern = parse("{*part} [{v:be}|stays] hot( {site})")
    assert [type(part).__name__ for part in pattern] == ["Slot", "Text", "Choice", "Text", "Choice"]
    assert pattern[0] == Slot("part", is_subject=True)
    assert pattern[4] == Choice(((), (pattern[4].options[1])))  # type: ignore[union-attr]


@pytest.mark.parametrize("rule", ["[open", "closed]", "(half", "a (b]c"])
def test_brackets_that_do_not_close_are_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="unbalanced"):
        parse(rule)


def test_every_field_can_be_written_about_in_every_kind_of_sentence() -> None:
    for number, field in enumerate(fields()):
        dice = Dice(7, number)
        writer = Writer(draw_subject(field, field, dice), dice)
        for rule in STARTS:
            text = writer.title() if rule == "title" else writer.sentence(rule)
            assert not re.search(r"[\[\]{}<>|]|\s,|  |\bthe the\b|\ba an?\b", text), (
                field.code,
                text,
            )
            assert not text[0].islower(), (field.code, text)  # a compound may begin with a number
