"""The little English grammar needs: plurals, verb forms, and a or an."""

from __future__ import annotations

import re

from patcache.demo.words import read_data, word_lists

VOWELS = "aeiou"
BE_AND_HAVE = {"be": ("is", "are"), "have": ("has", "have")}
LISTS = word_lists("english")
PLURALS: dict[str, str] = read_data("english")["plurals"]
PARTICIPLES: dict[str, str] = read_data("english")["participles"]
AN_BEFORE = re.compile(
    r"(?:[aeio]|u(?!ni[^nm]|s[aeiu]|ti|tensil|biq|-)|hour|honest)|8|11\b|18\b", re.I
)
A_BEFORE = re.compile(r"(?:eu|one\b|once)", re.I)
AN_LETTERS = re.compile(r"(?:[AEFHILMNORSX](?:[A-Z0-9-]|$))")
ARTICLE = re.compile(r"\b([Aa]) (?=(\S+))")


def is_plural(noun: str) -> bool:
    """Whether a bare noun takes a plural verb: `coffee beans` does, `glass` does not."""
    last = noun.split(" of ")[0].split(" in ")[0].split(" for ")[0].split()[-1].lower()
    if last in LISTS["plural_without_s"]:
        return True
    if last in LISTS["singular_with_s"] or last.endswith(("ss", "us", "is")):
        return False
    return last.endswith("s")


def plural(noun: str) -> str:
    """The plural of a countable noun, by its head: the word before ` of `, ` for ` or ` with `."""
    head, joint, rest = _split_head(noun)
    words = head.split(" ")
    words[-1] = _plural_word(words[-1])
    return " ".join(words) + joint + rest


def _split_head(noun: str) -> tuple[str, str, str]:
    found = re.search(r" (?:of|for|with|to|at|in|under|between|below|from) ", noun)
    if found is None:
        return noun, "", ""
    return noun[: found.start()], found.group(), noun[found.end() :]


def _plural_word(word: str) -> str:
    stem, dash, last = word.rpartition("-")
    if last in PLURALS:
        return stem + dash + PLURALS[last]
    if last.isupper() and len(last) > 1:
        return word + "s"
    if last.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if last.endswith("y") and last[-2:-1] not in VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def third(verb: str) -> str:
    """`carries` for `carry`."""
    if verb in BE_AND_HAVE:
        return BE_AND_HAVE[verb][0]
    return "goes" if verb == "go" else _plural_word(verb)


def present(verb: str, many: bool) -> str:
    """The present tense that agrees with a singular or plural subject."""
    return BE_AND_HAVE.get(verb, ("", verb))[1] if many else third(verb)


def gerund(verb: str) -> str:
    """`grinding` for `grind`, `cutting` for `cut`, `tying` for `tie`."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def participle(verb: str) -> str:
    """`ground` for `grind`, `carried` for `carry`, `clamped` for `clamp`."""
    stem, dash, last = verb.rpartition("-")
    if last in PARTICIPLES:
        return stem + dash + PARTICIPLES[last]
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def _doubled(verb: str) -> str:
    last = verb.rpartition("-")[2]
    short = re.fullmatch(r"(?:[^aeiou]*|qu|.*qu)[aeiou][^aeiouwxyh]", last)
    return verb + verb[-1] if short or last in LISTS["doubled"] else verb


def with_articles(text: str) -> str:
    """The text with every `a` before a vowel sound turned into `an`."""
    return ARTICLE.sub(lambda found: found[1] + ("n " if _takes_an(found[2]) else " "), text)


def _takes_an(word: str) -> bool:
    word = word.lstrip("([\"'")
    if re.match(r"[A-Z](?:[A-Z0-9-]|$)", word):
        return AN_LETTERS.match(word) is not None
    return AN_BEFORE.match(word) is not None and A_BEFORE.match(word) is None


def passive(deed: str) -> str | None:
    """`coffee is brewed` of `brew coffee`; None where there is no object."""
    verb, *words = deed.split()
    particle = words.pop(0) if len(words) > 1 and words[0] in LISTS["particles"] else ""
    if not words or words[0] in LISTS["no_object"]:
        return None
    cut = next((i for i, word in enumerate(words) if i and word in LISTS["joints"]), len(words))
    head, tail = " ".join(words[:cut]), words[cut:]
    be = "are" if is_plural(head) or " and " in head else "is"
    return " ".join(filter(None, [head, be, participle(verb), particle, *tail]))
