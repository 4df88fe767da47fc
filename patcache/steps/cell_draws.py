"""Targets and candidates, cell by cell, as positions in a population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from patcache.kernels.eligibility import chosen_targets, eligibility
from patcache.kernels.plan import Plan
from patcache.kernels.population import Population, excluded
from patcache.kernels.tuples import CHUNK_TARGETS, draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import BoolArray, IntArray

CellName = tuple[int, str]
SECTION_NUMBERS = 256
EVERYBODY = 1 << 40


@dataclass(frozen=True, slots=True)
class CellCounts:
    """One (year, section) of a draw; n_short: patents short of candidates, by level."""

    year: int
    section: str
    n_patents: int
    n_eligible: int
    n_drawn: int
    n_short: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class CellDraw:
    """Shapes: targets (T,) ascending positions; candidates (T, m). cells: those drawn now.

    sizes: patents of every cell of the population. n_short: patents of the cells drawn that are
    short at some level.
    """

    targets: IntArray
    candidates: NDArray[np.int32]
    cells: list[CellCounts]
    sizes: Mapping[CellName, int]
    n_short: int


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Shapes: eligible (E,) positions; n_eligible (C,), n_short (L, C), by cell."""

    eligible: IntArray
    n_eligible: IntArray
    n_short: IntArray
    n_short_anywhere: int


def draw_cells(
    patents: Population,
    sections: NDArray[np.str_],
    plan: Plan,
    per: Literal["cell", "year", "section"],
    targets: int | None,
    seen: Mapping[CellName, tuple[int, int]],
) -> CellDraw:
    """Tuples of every cell not seen before.

    per: what `targets` counts; None takes everybody eligible. seen: cells drawn earlier, with
    their number of patents and of tuples; what those used of a year's or section's number is gone.
    """
    first = np.unique(patents.starts[1])  # where each cell begins
    names = [(int(patents.years[at]), str(sections[at])) for at in first]
    sizes = np.diff(np.append(first, len(patents)))
    is_new = np.array([name not in seen for name in names], dtype=bool)
    verdict = _judge(patents, plan, first, is_new)
    owner = np.searchsorted(first, verdict.eligible, side="right") - 1
    groups = np.array([_group(name, number, per) for number, name in enumerate(names)])
    quotas = _quotas(names, groups, per, targets, seen)
    chosen = chosen_targets(patents, verdict.eligible, groups[owner], quotas, plan.seed)
    n_drawn = np.bincount(np.searchsorted(first, chosen, side="right") - 1, minlength=len(first))
    levels = sorted(set(plan.levels))
    cells = [
        CellCounts(
            *names[cell],
            int(sizes[cell]),
            int(verdict.n_eligible[cell]),
            int(n_drawn[cell]),
            {level: int(n) for level, n in zip(levels, verdict.n_short[:, cell], strict=True)},
        )
        for cell in np.flatnonzero(is_new)
    ]
    return CellDraw(
        chosen,
        draw(patents, chosen, plan).candidates,
        cells,
        dict(zip(names, sizes.tolist(), strict=True)),
        verdict.n_short_anywhere,
    )


def _judge(patents: Population, plan: Plan, first: IntArray, is_new: BoolArray) -> _Verdict:
    """Who of the new cells is eligible, and what is short, in chunks of targets."""
    out = excluded(patents)
    n_cells, n_levels = len(first), len(set(plan.levels))
    n_eligible = np.zeros(n_cells, dtype=np.int64)
    n_short = np.zeros((n_levels, n_cells), dtype=np.int64)
    anywhere = 0
    eligible = [np.empty(0, dtype=np.int64)]
    for start in range(0, len(patents), CHUNK_TARGETS):
        positions = np.arange(start, min(start + CHUNK_TARGETS, len(patents)))
        cell = np.searchsorted(first, positions, side="right") - 1
        positions, cell = positions[is_new[cell]], cell[is_new[cell]]
        found = eligibility(patents, out, positions, plan)
        eligible.append(positions[found.is_eligible])
        n_eligible += np.bincount(cell[found.is_eligible], minlength=n_cells)
        for row in range(n_levels):
            n_short[row] += np.bincount(cell[found.is_short[row]], minlength=n_cells)
        anywhere += int(found.is_short.any(axis=0).sum())
    return _Verdict(np.concatenate(eligible), n_eligible, n_short, anywhere)


def _group(name: CellName, number: int, per: Literal["cell", "year", "section"]) -> int:
    year, section = name
    return {"cell": number, "year": year, "section": ord(section)}[per]


def _quotas(
    names: list[CellName],
    groups: IntArray,
    per: Literal["cell", "year", "section"],
    targets: int | None,
    seen: Mapping[CellName, tuple[int, int]],
) -> dict[int, int]:
    """How many targets each group still gets."""
    quotas = dict.fromkeys(groups.tolist(), EVERYBODY if targets is None else targets)
    if per == "cell":
        return quotas
    for name, (_, n_drawn) in seen.items():
        group = _group(name, 0, per)
        if group in quotas:
            quotas[group] -= n_drawn
    return quotas
