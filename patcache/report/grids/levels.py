"""Accuracy on neighbouring levels and their confusion, as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.report.grid import MISSING, Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.levels import ConfusionRow, LevelRow


def grid_of_levels(listing: Listing[LevelRow]) -> Grid:
    """A line a model, a column each two neighbouring levels: accuracy and half its interval."""
    pairs = [pair for pair in dict.fromkeys((row.shallow, row.deep) for row in listing) if pair[0]]
    found = {(row.model, (row.shallow, row.deep)): row for row in listing}
    lines = []
    for model in dict.fromkeys(row.model for row in listing):
        rows = [found.get((model, pair)) for pair in pairs]
        n = sorted({row.n for row in rows if row is not None}) or [0]
        targets = cell_text(n[0]) if len(n) == 1 else f"{n[0]:,}-{n[-1]:,}"
        lines.append((model, targets, *map(accuracy_cell, rows)))
    headings = ("model", "targets", *(f"{shallow}<{deep}" for shallow, deep in pairs))
    return Grid(headings, tuple(lines), (False, True, *[True] * len(pairs)))


def accuracy_cell(row: LevelRow | None) -> str:
    """An accuracy and half the width of its interval: "0.727 ±.033"."""
    if row is None or row.accuracy is None or row.low is None or row.high is None:
        return MISSING
    half = f"{(row.high - row.low) / 2:.3f}".removeprefix("0")
    return f"{row.accuracy:.3f} ±{half}"


def grid_of_confusion(listing: Listing[ConfusionRow]) -> Grid:
    """A line a model and gold level, a column each place: the share in per cent."""
    places = sorted({row.place for row in listing if row.place is not None})
    found = {(row.model, row.level, row.place): row for row in listing}
    lines = []
    for model, level in dict.fromkeys((row.model, row.level) for row in listing):
        rows = [found.get((model, level, place)) for place in places]
        n = max((row.n for row in rows if row is not None), default=0)
        lines.append((model, cell_text(level), cell_text(n), *map(share_cell, rows)))
    headings = ("model", "gold level", "candidates", *(f"at {place}" for place in places))
    return Grid(headings, tuple(lines), (False, True, True, *[True] * len(places)))


def share_cell(row: ConfusionRow | None) -> str:
    """A share in per cent."""
    return MISSING if row is None or row.share is None else f"{row.share:.1%}"
