"""Pairs of models as people ask for them: is the lesser one good enough?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from patcache.report.grid import Grid, grid_of

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.equivalence import EquivalenceRow


def grid_of_equivalence(listing: Listing[EquivalenceRow]) -> Grid:
    """Each pair once, the model with the lower mean first; equal ones both ways."""
    rows = tuple(row for row in listing if (row.mean_difference or 0) <= 0)
    return grid_of(replace(listing, rows=rows))
