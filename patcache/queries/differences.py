"""How often each difference between two models occurs on the same tuples, per part of a slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.kernels.axis import common_axis
from patcache.queries.counts import (
    COMMON_TUPLES,
    IN_SLICE,
    MODEL_OF,
    PART_OF,
    By,
    distinct_pairs,
    parameters,
    shapes,
)

if TYPE_CHECKING:
    import duckdb

    from patcache.queries.question import Question, Subject
    from patcache.records import DoubleArray, IntArray

DIFFERENCES = f"""
SELECT {MODEL_OF.format("c", "spec_a")} AS a, {MODEL_OF.format("c", "spec_b")} AS b,
  {PART_OF.format("c")}, c.shape_id, c.difference, sum(c.n)::BIGINT AS n
FROM data.difference_counts c
WHERE c.sample_id = $sample AND c.scoring_id = $scoring AND c.indicator = $indicator
  AND list_contains($specs, c.spec_a) AND list_contains($specs, c.spec_b)
  AND {IN_SLICE.format("c")}
GROUP BY ALL ORDER BY part"""
COMMON_DIFFERENCES = f"""{COMMON_TUPLES}
SELECT {MODEL_OF.format("v", "spec_id")} AS a, {MODEL_OF.format("w", "spec_id")} AS b,
  {PART_OF.format("v")}, v.shape_id,
  v.value - w.value AS difference, count(*) AS n
FROM valued v JOIN valued w USING (tuple_id)
WHERE v.spec_id < w.spec_id
GROUP BY ALL ORDER BY part"""
NO_PART = 2**62  # above every number of a part


@dataclass(frozen=True, slots=True)
class PairDifferences:
    """Differences of M models in one part, over tuples defined for both of a pair.

    Shapes: counts (M, M, 2 V + 1) over values (2 V + 1,), ascending and symmetric about 0;
    counts[i, j] are of model i minus model j, positive where i is better.
    """

    values: DoubleArray
    counts: IntArray

    @property
    def positive(self) -> IntArray:
        """Counts (M, M, V) of positive differences, over ascending size."""
        return self.counts[..., len(self.values) // 2 + 1 :]

    @property
    def negative(self) -> IntArray:
        """Counts (M, M, V) of negative differences, over ascending size."""
        return self.counts[..., : len(self.values) // 2][..., ::-1]

    @property
    def n_zero(self) -> IntArray:
        """Pairs of equal values (M, M)."""
        return self.counts[..., len(self.values) // 2]


class Differences:
    """The differences of every part, as fetched; `of_part` spreads out one part at a time."""

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        subject: Subject,
        question: Question,
        part_numbers: IntArray,
        by: By = "all",
    ) -> None:
        statement = COMMON_DIFFERENCES if question.is_common else DIFFERENCES
        columns = cursor.execute(statement, parameters(subject, question, by)).fetchnumpy()
        is_footrule = question.indicator == "footrule"
        largest = {
            shape_id: scale.footrule if is_footrule else scale.concordance
            for shape_id, scale in shapes(cursor).items()
        }
        pairs = np.stack([columns["shape_id"], columns["difference"]], axis=1).astype(np.int64)
        distinct, entry = distinct_pairs(pairs)
        advantage = -distinct[:, 1] if is_footrule else distinct[:, 1]  # a distance: less is more
        scale = [1, *(largest[shape_id] for shape_id in distinct[:, 0].tolist())]
        self._axis = common_axis(np.append(0, np.abs(advantage)), np.array(scale))
        self._steps = (np.sign(advantage) * self._axis.position[1:])[entry]
        self._n_models = len(subject.models)
        self._starts = np.searchsorted(columns["part"], np.append(part_numbers, NO_PART))
        self._a, self._b, self._n = columns["a"], columns["b"], columns["n"]

    def of_part(self, part: int) -> PairDifferences:
        """The differences of one part, every pair in both directions."""
        sizes = self._axis.values
        middle = len(sizes) - 1
        counts = np.zeros((self._n_models, self._n_models, 2 * middle + 1), dtype=np.int64)
        here = slice(self._starts[part], self._starts[part + 1])
        a, b, steps, n = self._a[here], self._b[here], self._steps[here], self._n[here]
        np.add.at(counts, (a, b, middle + steps), n)
        np.add.at(counts, (b, a, middle - steps), n)
        return PairDifferences(np.concatenate([-sizes[:0:-1], sizes]), counts)
