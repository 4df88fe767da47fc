"""Rank groups: which models a sample cannot tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patcache.records import BoolArray


def rank_groups(is_apart: BoolArray) -> list[tuple[int, ...]]:
    """Groups of each model: two models share one exactly where no test told them apart.

    A group is a largest set of models no two of which are apart, so a model between two others
    can be in the groups of both ("1-2") while those two are apart: nothing follows by
    transitivity. Groups are numbered from 1 by their best model, then the next best.

    Shapes: is_apart (M, M) bool, symmetric, models in order from best to worst -> M tuples.
    Source: the compact letter display, built by insert and absorb (Piepho 2004).
    """
    groups = [frozenset(range(len(is_apart)))] if len(is_apart) else []
    for i in range(len(is_apart)):
        for j in range(i + 1, len(is_apart)):
            if is_apart[i, j]:
                groups = _split(groups, i, j)
    ordered = sorted(sorted(group) for group in groups)
    return [
        tuple(number for number, group in enumerate(ordered, start=1) if model in group)
        for model in range(len(is_apart))
    ]


def group_label(numbers: tuple[int, ...]) -> str:
    """Group numbers as people read them: "1", "1-3", "2, 4"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _split(groups: list[frozenset[int]], i: int, j: int) -> list[frozenset[int]]:
    """Each group that holds both becomes two, one without each; a group inside another goes."""
    untouched = [group for group in groups if not {i, j} <= group]
    halves = [group - {k} for group in groups if {i, j} <= group for k in (i, j)]
    kept = list(untouched)
    for half in sorted(set(halves), key=len, reverse=True):
        if not any(half <= group for group in kept):
            kept.append(half)
    return kept
