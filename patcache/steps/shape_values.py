"""What the kernels say of a shape, for the store."""

from __future__ import annotations

from patcache.errors import SampleRefused
from patcache.kernels.footrule import MAX_CANDIDATES, chance, max_distance, units_per_rank
from patcache.kernels.tau import n_cross_pairs
from patcache.records import Shape
from patcache.store.sample_writes import ShapeValues


def shape_values(shape: Shape) -> ShapeValues:
    """Units, largest distance, pairs and chance level. Errors: SampleRefused for no such shape."""
    if not 2 <= shape.n_candidates <= MAX_CANDIDATES or len(set(shape.levels)) < 2:
        raise SampleRefused(
            f"a tuple of {shape.n_candidates} candidates at levels {shape.levels}",
            f"a tuple has 2 to {MAX_CANDIDATES} candidates at two levels or more",
        )
    return ShapeValues(
        units_per_rank(shape.n_candidates),
        max_distance(shape),
        n_cross_pairs(shape),
        float(chance(shape)),
    )
