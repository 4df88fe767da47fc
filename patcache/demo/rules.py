"""The rules of data/rules.toml as trees: texts, slots to fill, and choices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from patcache.demo.words import read_data


@dataclass(frozen=True, slots=True)
class Text:
    words: str


@dataclass(frozen=True, slots=True)
class Slot:
    name: str  # of a slot or a rule
    is_subject: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    options: tuple[tuple[Part, ...], ...]


Part = Text | Slot | Choice
Pattern = tuple[Part, ...]
END = ""  # no token is empty
OPENED = {"[": "]", "(": ")"}
ENDS = (*OPENED.values(), END)
TOKEN = re.compile(r"[\[\]()|]|\{[^}]+\}|<[^>]+>|[^\[\](){}<>|]+")


def parse(rule: str) -> Pattern:
    """A rule as a tree: [a|b] and (a) become choices, {slot} and <rule> become slots."""
    tokens = TOKEN.findall(rule)
    options, end = _parse_options([*tokens, END], 0, END)
    if end != len(tokens) or len(options) != 1:
        raise ValueError(f"unbalanced brackets in the rule {rule!r}")
    return options[0]


def _parse_options(tokens: list[str], at: int, end: str) -> tuple[tuple[Pattern, ...], int]:
    """The alternatives from a place to the closing bracket that is due, and its place."""
    options: list[list[Part]] = [[]]
    while (token := tokens[at]) not in ENDS:
        if token == "|":
            options.append([])
        elif token in OPENED:
            inner, at = _parse_options(tokens, at + 1, OPENED[token])
            options[-1].append(Choice(((), *inner) if token == "(" else inner))
        else:
            options[-1].append(_leaf(token))
        at += 1
    if token != end:
        raise ValueError(f"unbalanced brackets in a rule: {' '.join(tokens)!r}")
    return tuple(map(tuple, options)), at


def _leaf(token: str) -> Part:
    if token[0] == "{":
        name = token[1:-1]
        return Slot(name.removeprefix("*"), name.startswith("*"))
    return Slot(token[1:-1]) if token[0] == "<" else Text(token)


@cache
def rules() -> dict[str, tuple[Pattern, ...]]:
    """Every rule by name; one of a kind (`clause_device`) that lists "+" adds the plain ones."""
    raw: dict[str, list[str]] = dict(read_data("rules"))
    for name, lines in raw.items():
        if "+" in lines:
            raw[name] = [line for line in lines if line != "+"] + raw[name.rpartition("_")[0]]
    return {name: tuple(map(parse, lines)) for name, lines in raw.items()}
