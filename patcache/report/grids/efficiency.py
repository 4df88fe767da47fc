"""What models cost and give, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.grid import MISSING, Grid, cell_text
from patcache.report.grids.leaderboard import interval_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.efficiency import EfficiencyRow


def grid_of_efficiency(listing: Listing[EfficiencyRow], between: str) -> Grid:
    """One line a model and device: size, speed, mean with its interval, and a * on the front."""
    mean = INDICATOR_NAMES[listing[0].indicator]
    headings = ("model", "dim", "device", "batch", "s/text", "s/tuple", "texts/s", "vector")
    cells = tuple(
        (
            row.model,
            cell_text(row.dim),
            cell_text(row.device),
            batch_text(row),
            cell_text(row.s_per_text, ".2g"),
            cell_text(row.s_per_tuple, ".2g"),
            cell_text(row.texts_per_s, "rate"),
            cell_text(row.vector_bytes, "bytes"),
            cell_text(row.mean, ".3f"),
            interval_text(row.low, row.high, between),
            "*" if row.is_front else "",
        )
        for row in listing
    )
    is_number = (False, True, False, True, *[True] * 6, False)
    return Grid((*headings, mean, "95 % interval", "front"), cells, is_number)


def batch_text(row: EfficiencyRow) -> str:
    """Texts in a call; of times of embedding the tokens in a batch, where a network says so."""
    if row.batch is not None:
        return cell_text(row.batch)
    return MISSING if row.batch_tokens is None else f"{row.batch_tokens:,} tokens"
