"""The demo's own IPC tree: which words belong to which section, class, subclass and group.

data/a.toml to data/h.toml hold one table a code. Its fields are lists of concepts, separated by
commas. A concept may have several names, separated by slashes, and, after `>`, what it is for:
`grinder / mill > crush beans / powder seeds`. Sections A, E and G give most concepts two or three
names, so that patents on one matter share few words.

Settings besides: kind (device, process, system) says which rules apply, unit and heat which
figures, style (plain, dense) how its patents are written, and names which coined names its codes
have of their own (names.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from patcache.demo.words import read_data
from patcache.records import SECTIONS

TOPICS = (
    "things",
    "parts",
    "stuff",
    "acts",
    "ills",
    "gains",
    "traits",
    "sites",
    "users",
    "objects",
)


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing with the names that people give it and, maybe, what it does ("crush beans")."""

    names: tuple[str, ...]
    deeds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """The concepts of one code that its parents do not have."""

    code: str
    topics: Mapping[str, tuple[Concept, ...]]
    settings: Mapping[str, str]  # title, kind, unit, heat, names


@dataclass(frozen=True, slots=True)
class Field:
    """A full code, with the nodes from its section down to itself."""

    code: str
    path: tuple[Node, ...]

    @property
    def subclass(self) -> str:
        return self.code[:4]

    @property
    def main_group(self) -> str:
        return self.code.split("/")[0]

    def setting(self, name: str, default: str = "") -> str:
        """The setting of the deepest node that has it."""
        return next((n.settings[name] for n in self.path[::-1] if name in n.settings), default)


@cache
def fields() -> tuple[Field, ...]:
    """Every full code of the tree, in order; main groups (`A01B 3/00`) are codes of their own."""
    nodes = {node.code: node for section in SECTIONS for node in _nodes(section)}
    return tuple(Field(code, _path(code, nodes)) for code in sorted(nodes) if "/" in code)


def _nodes(section: str) -> list[Node]:
    return [_node(code, table) for code, table in read_data(section.lower()).items()]


def _node(code: str, table: Mapping[str, str]) -> Node:
    topics = {name: _concepts(table[name]) for name in TOPICS if name in table}
    settings = {name: value for name, value in table.items() if name not in TOPICS}
    return Node(code, topics, settings)


def _concepts(text: str) -> tuple[Concept, ...]:
    items = [" ".join(item.split()) for item in text.split(",")]
    return tuple(_concept(item) for item in items if item)


def _concept(item: str) -> Concept:
    names, _, deeds = item.partition(" > ")
    return Concept(tuple(names.split(" / ")), tuple(deeds.split(" / ")) if deeds else ())


def _path(code: str, nodes: Mapping[str, Node]) -> tuple[Node, ...]:
    group = code.split("/")[0] + "/00"
    codes = [code[0], code[:3], code[:4], group] + ([code] if code != group else [])
    return tuple(nodes[code] for code in codes)
