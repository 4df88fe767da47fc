"""How often each difference between two models occurs on the same tuples, per part of a slice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.axis import common_axis
from patcache.kernels.bootstrap import N_POWERS
from patcache.queries.counts import (
    CELL_OF,
    COMMON_TUPLES,
    IN_SLICE,
    Parts,
    counted,
    distinct_pairs,
    parameters,
)

if TYPE_CHECKING:
    import duckdb

    from patcache.queries.counts import ShapeScale
    from patcache.queries.question import Question, Subject
    from patcache.records import DoubleArray, IntArray

# Narrow numbers: with 10 models in 120 cells half the time went into handing wide ones over.
PAIR_OF = """((list_position($specs, {0}) - 1) * len($specs)
  + list_position($specs, {1}) - 1)::INTEGER AS pair"""
DIFFERENCES = f"""
SELECT {PAIR_OF.format("c.spec_a", "c.spec_b")}, {CELL_OF.format("c")},
  c.shape_id, c.difference, c.n::UINTEGER AS n
FROM data.difference_counts c
WHERE c.sample_id = $sample AND c.scoring_id = $scoring AND c.indicator = $indicator
  AND list_contains($specs, c.spec_a) AND list_contains($specs, c.spec_b)
  AND {IN_SLICE.format("c")}"""
COMMON_DIFFERENCES = f"""{COMMON_TUPLES}
SELECT {PAIR_OF.format("v.spec_id", "w.spec_id")}, {CELL_OF.format("v")},
  v.shape_id, v.value - w.value AS difference, count(*)::UINTEGER AS n
FROM valued v JOIN valued w USING (tuple_id)
WHERE v.spec_id < w.spec_id
GROUP BY ALL ORDER BY ALL"""
MAX_NUMBERS = 2_000_000  # of counts laid out at a time


@dataclass(frozen=True, slots=True)
class PairDifferences:
    """Differences of K pairs of models in several parts, over tuples defined for both of a pair.

    Shapes: counts (p, K, 2 V - 1) over values (2 V - 1,), ascending and symmetric about 0; they
    are of the first model of a pair minus the second, positive where the first is better.
    """

    values: DoubleArray
    counts: IntArray

    @property
    def _middle(self) -> int:
        return len(self.values) // 2

    @property
    def positive(self) -> IntArray:
        """Counts (p, K, V - 1) of positive differences, over ascending size."""
        return self.counts[..., self._middle + 1 :]

    @property
    def negative(self) -> IntArray:
        """Counts (p, K, V - 1) of negative differences, over ascending size."""
        return self.counts[..., : self._middle][..., ::-1]

    @property
    def n_zero(self) -> IntArray:
        """Tuples (p, K) with equal values."""
        return self.counts[..., self._middle]

    @property
    def sizes(self) -> DoubleArray:
        """The sizes (V - 1,) of differences that are not 0, ascending."""
        return self.values[self._middle + 1 :]


class Differences:
    """The differences of every cell, as fetched; laid out as counts where they are asked for.

    pairs: every two models once (K, 2), by their numbers, the lower first.
    """

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        subject: Subject,
        question: Question,
        parts: Parts,
        scales: Mapping[int, ShapeScale],
    ) -> None:
        statement = COMMON_DIFFERENCES if question.is_common else DIFFERENCES
        rows = cursor.sql(statement, params=parameters(subject, question)).to_arrow_table()
        pair, cell, shape_ids, number, n = (column.to_numpy() for column in rows.columns)
        is_footrule = question.indicator == "footrule"
        distinct, entry = distinct_pairs(shape_ids, number)
        advantage = -distinct[:, 1] if is_footrule else distinct[:, 1]  # a distance: less is more
        largest = [
            scales[shape_id].footrule if is_footrule else scales[shape_id].concordance
            for shape_id in distinct[:, 0].tolist()
        ]
        axis = common_axis(np.append(0, np.abs(advantage)), np.array([1, *largest]))
        middle = len(axis.values) - 1
        n_models = len(subject.models)
        self.parts = parts
        self.pairs = np.array(list(combinations(range(n_models), 2)), dtype=np.int64).reshape(-1, 2)
        self.values = np.concatenate([-axis.values[:0:-1], axis.values])
        i, j = self.pairs.T
        pair_of, sign_of = np.zeros((2, n_models**2), dtype=np.int32)
        pair_of[i * n_models + j] = pair_of[j * n_models + i] = np.arange(len(self.pairs))
        sign_of[i * n_models + j], sign_of[j * n_models + i] = 1, -1
        steps = (np.sign(advantage) * axis.position[1:]).astype(np.int32)
        self._pair = pair_of[pair]
        self._value = middle + sign_of[pair] * steps[entry]
        self._cell = parts.places_of(cell)
        self._n = n

    def by_part(self) -> Iterator[tuple[slice, PairDifferences]]:
        """Counts of every pair, a few parts at a time."""
        part = self.parts.part_of_cell[self._cell]
        n_at_once = max(1, MAX_NUMBERS // max(1, len(self.pairs) * len(self.values)))
        for start in range(0, len(self.parts), n_at_once):
            stop = min(start + n_at_once, len(self.parts))
            here = (
                slice(None) if stop - start == len(self.parts) else (part >= start) & (part < stop)
            )
            place = part[here] - start, self._pair[here], self._value[here]
            size = (stop - start, len(self.pairs), len(self.values))
            yield (
                slice(start, stop),
                PairDifferences(self.values, counted(place, self._n[here], size)),
            )

    def of_cells(self, pair: int, part: int) -> IntArray:
        """Counts (c, 2 V - 1) of one pair in each cell of one part."""
        cells = self.parts.cells_of(part)
        here = (self._pair == pair) & (self.parts.part_of_cell[self._cell] == part)
        place = np.searchsorted(cells, self._cell[here]), self._value[here]
        return counted(place, self._n[here], (len(cells), len(self.values)))

    def power_sums(self) -> DoubleArray:
        """Power sums (K, C, 5) of every pair's differences in every cell."""
        size = (len(self.pairs), len(self.parts.cells))
        place = np.ravel_multi_index((self._pair, self._cell), size)
        starts = np.flatnonzero(np.diff(place, prepend=-1))  # rows of a cell come together
        runs, n_places = place[starts], size[0] * size[1]
        sums = np.zeros((N_POWERS, n_places))
        weight, value = self._n.astype(np.float64), self.values[self._value]
        for power in range(N_POWERS) if len(runs) else ():
            run_sums = np.add.reduceat(weight, starts)
            sums[power] = np.bincount(runs, weights=run_sums, minlength=n_places)
            weight = weight * value
        return np.moveaxis(sums.reshape(N_POWERS, *size), 0, -1)
