"""The definition of a draw in plain Python, one patent at a time: slow, and independent."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass

import numpy as np

from patcache.ipc import parse, shared_level
from patcache.kernels.levels import CodeLists, CodeTree, code_tree
from patcache.kernels.population import Population, population

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Row:
    """A patent; codes begin with the main code, text and family are any labels."""

    number: str
    year: int
    codes: tuple[str, ...]
    text: str
    family: str | None = None


def number_word(number: str) -> int:
    return int.from_bytes(hashlib.sha256(number.encode()).digest()[:8], "big")


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def index(seed: int, number: str, level: int, draw: int, size: int) -> int:
    stream = mix(((number_word(number) ^ mix((seed + GOLDEN) & MASK)) + GOLDEN) & MASK)
    return mix((stream + ((level << 32) + draw + 1) * GOLDEN) & MASK) * size >> 64


class PlainSampler:
    """Draws from rows by listing every candidate."""

    def __init__(self, rows: list[Row], levels: tuple[int, ...], seed: int, strict: bool) -> None:
        self.rows = sorted(rows, key=lambda row: (row.year, row.codes[0], row.number))
        self.levels, self.seed, self.strict = levels, seed, strict

    def at_level(self, target: Row, level: int) -> list[Row]:
        main = parse(target.codes[0])
        return [
            row
            for row in self.rows
            if row is not target
            and row.year == target.year
            and shared_level(main, parse(row.codes[0])) == level
        ]

    def is_allowed(self, target: Row, level: int, row: Row) -> bool:
        if row.text == target.text or (row.family is not None and row.family == target.family):
            return False
        return not self.strict or level == self.deepest(target, row)

    def deepest(self, a: Row, b: Row) -> int:
        pairs = itertools.product(map(parse, a.codes), map(parse, b.codes))
        return max(shared_level(x, y) for x, y in pairs)

    def texts(self, target: Row, level: int) -> set[str]:
        rows = self.at_level(target, level)
        return {row.text for row in rows if self.is_allowed(target, level, row)}

    def is_short(self, target: Row, level: int) -> bool:
        return len(self.texts(target, level)) < self.levels.count(level)

    def can_fill(self, target: Row, levels: list[int], used: frozenset[str]) -> bool:
        if not levels:
            return True
        head, *rest = levels
        free = self.texts(target, head) - used
        return any(self.can_fill(target, rest, used | {text}) for text in free)

    def draw(self, target: Row) -> list[Row] | None:
        """Candidates in gold order, or None where the target is not eligible."""
        wanted = sorted(self.levels, reverse=True)
        if not self.can_fill(target, wanted, frozenset()):
            return None
        chosen: list[Row] = []
        for position, level in enumerate(wanted):
            number, later = wanted[:position].count(level), wanted[position + 1 :]
            chosen.append(self.draw_one(target, level, number, later, chosen))
        ascending = list(reversed(range(len(wanted))))
        ordered = sorted(ascending, key=lambda i: (wanted[i], i))
        return [chosen[i] for i in ordered]

    def draw_one(
        self, target: Row, level: int, number: int, later: list[int], chosen: list[Row]
    ) -> Row:
        used = frozenset(row.text for row in chosen)
        rows = self.at_level(target, level)
        suitable = [
            row
            for row in rows
            if self.is_allowed(target, level, row)
            and row.text not in used
            and self.can_fill(target, later, used | {row.text})
        ]
        for attempt in range(17):
            draw = number * 32 + attempt
            row = rows[index(self.seed, target.number, level, draw, len(rows))]
            if row in suitable:
                return row
        last = index(self.seed, target.number, level, number * 32 + 17, len(suitable))
        return suitable[last]


def arrays_of(rows: list[Row]) -> tuple[list[Row], Population, CodeTree, CodeLists]:
    """Rows in the order of a population, the population, and the codes of all."""
    rows = sorted(rows, key=lambda row: (row.year, row.codes[0], row.number))
    main = code_tree(sorted({row.codes[0] for row in rows}))
    every = code_tree(sorted({code for row in rows for code in row.codes}))
    numbers = {code: number for number, code in enumerate(every.codes)}
    texts = {text: number for number, text in enumerate(sorted({row.text for row in rows}))}
    families = {row.family: n for n, row in enumerate(rows) if row.family is not None}
    patents = population(
        np.array([row.year for row in rows], dtype=np.int16),
        np.array([main.codes.index(row.codes[0]) for row in rows], dtype=np.int32),
        np.array([number_word(row.number) for row in rows], dtype=np.uint64),
        np.array([texts[row.text] for row in rows], dtype=np.int32),
        np.array([families.get(row.family, -1) for row in rows], dtype=np.int32),
        main,
    )
    lists = CodeLists(
        np.array([0, *np.cumsum([len(row.codes) for row in rows])], dtype=np.int64),
        np.array([numbers[code] for row in rows for code in row.codes], dtype=np.int32),
    )
    return rows, patents, every, lists
