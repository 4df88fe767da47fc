"""Distributions as people read them: a line a model or level, the histogram as small blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from patcache.report.grid import MISSING, Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.distribution import DistributionRow

BLOCKS = "▁▂▃▄▅▆▇█"
LARGE = 10.0  # from here on a decimal is enough
WIDTH = 20  # blocks of a small histogram


def grid_of_distribution(listing: Listing[DistributionRow], *, with_blocks: bool = True) -> Grid:
    """Mean, spread, shape and range of each line; levels and their separation where there are.

    with_blocks: the histogram, in characters that LaTeX lacks.
    """
    has_levels = any(row.level is not None for row in listing)
    columns = [column for column in COLUMNS if has_levels or column[0] not in OF_LEVELS]
    columns = columns if with_blocks else columns[:-1]
    lines = tuple(tuple(cell(row) for _, _, cell in columns) for row in listing)
    headings, is_number = (tuple(column[i] for column in columns) for i in range(2))
    return Grid(headings, lines, is_number)  # type: ignore[arg-type]


def number_format(row: DistributionRow) -> str:
    """Three decimals; one for scores that are far larger than cosines."""
    largest = max(abs(row.lowest or 0.0), abs(row.highest or 0.0))
    return ".3f" if largest < LARGE else ".1f"


def ends_text(row: DistributionRow) -> str:
    """The central 95 % of the values: "0.160 to 0.725"."""
    if row.low is None:
        return MISSING
    return " to ".join(cell_text(end, number_format(row)) for end in (row.low, row.high))


def skew_text(row: DistributionRow) -> str:
    """Skewness and the side of the long tail, "-0.42 left"; or in words why there is none."""
    if row.skewness is None:
        return row.skew
    return f"{row.skewness:+z.2f} {SIDES[row.skew]}"


def sparkline(counts: Sequence[int], width: int = WIDTH) -> str:
    """Counts as characters: a dot for none, else a block the higher the more there are."""
    step = max(1, len(counts) // width)
    sums = [sum(counts[at : at + step]) for at in range(0, len(counts), step)]
    fullest = max(sums, default=0)
    return "".join(BLOCKS[(len(BLOCKS) * n - 1) // fullest] if n else "·" for n in sums)


SIDES = {"left-skewed": "left", "right-skewed": "right", "about symmetric": "symmetric"}
OF_LEVELS = ("level", "separation")
COLUMNS: tuple[tuple[str, bool, Callable[[DistributionRow], str]], ...] = (
    ("model", False, lambda row: row.model),
    ("level", True, lambda row: cell_text(row.level)),
    ("n", True, lambda row: cell_text(row.n)),
    ("mean", True, lambda row: cell_text(row.mean, number_format(row))),
    ("sd", True, lambda row: cell_text(row.deviation, number_format(row))),
    ("skewness", False, skew_text),
    ("lowest", True, lambda row: cell_text(row.lowest, number_format(row))),
    ("95 % of them", True, ends_text),
    ("highest", True, lambda row: cell_text(row.highest, number_format(row))),
    ("separation", True, lambda row: cell_text(row.separation, "+.2f")),
    ("histogram", False, lambda row: sparkline(row.histogram)),
)
