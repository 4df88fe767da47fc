"""Distributions as people read them: a line a model or level, the histogram as small blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from patcache.report.grid import MISSING, Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.distribution import DistributionRow

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 20  # blocks of a small histogram


def grid_of_distribution(listing: Listing[DistributionRow]) -> Grid:
    """Mean, spread, shape and range of each line; levels and their separation where there are."""
    has_levels = any(row.level is not None for row in listing)
    lines = []
    for row in listing:
        level = (cell_text(row.level),) if has_levels else ()
        apart = (cell_text(row.separation, "+.2f"),) if has_levels else ()
        ends = (row.lowest, row.low, row.high, row.highest)
        lowest, low, high, highest = (cell_text(end, number_format(row)) for end in ends)
        numbers = (cell_text(row.mean, number_format(row)), cell_text(row.deviation, ".3f"))
        interval = MISSING if row.low is None else f"{low} to {high}"
        cells = (cell_text(row.skewness, "+.2f"), row.skew, lowest, interval, highest)
        lines.append((row.model, *level, cell_text(row.n), *numbers, *cells, *apart, blocks(row)))
    headings = ("mean", "sd", "skewness", "", "lowest", "95 % of them", "highest")
    middle = ("separation",) if has_levels else ()
    return Grid(
        ("model", *(("level",) if has_levels else ()), "n", *headings, *middle, "histogram"),
        tuple(lines),
        (
            *(False, *[True] * has_levels, True, True, True, True, False, True, True, True),
            *[True] * has_levels,
            False,
        ),
    )


def number_format(row: DistributionRow) -> str:
    """Three decimals for what lies within 1 of 0, one for scores."""
    return ".1f" if row.kind == "score" else ".3f"


def blocks(row: DistributionRow) -> str:
    """The histogram as characters, from a space for nothing to a full block for the fullest bin."""
    return sparkline(row.histogram, WIDTH)


def sparkline(counts: Sequence[int], width: int) -> str:
    """Counts as `width` characters: a space for none, a block the higher the more there are."""
    step = len(counts) // width
    sums = [sum(counts[at : at + step]) for at in range(0, step * width, step)]
    fullest = max(sums, default=0)
    return "".join(BLOCKS[(len(BLOCKS) * n - 1) // fullest] if n else " " for n in sums)
