"""The value of every tuple under every model, by windows of tuples: memory does not grow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.kernels.axis import common_axis
from patcache.queries.counts import IN_SLICE, MODEL_OF, parameters, shapes
from patcache.store.scores import n_tuple_ids

if TYPE_CHECKING:
    import duckdb

    from patcache.queries.question import Question, Subject
    from patcache.records import DoubleArray, IntArray

WINDOW_TUPLES = 131_072
VALUES = f"""
SELECT DISTINCT c.shape_id, c.value FROM data.counts c
WHERE c.sample_id = $sample AND c.scoring_id = $scoring AND c.indicator = $indicator
  AND list_contains($specs, c.spec_id) AND {IN_SLICE.format("c")}"""
CELLS = f"""
SELECT DISTINCT 128 * t.year::INTEGER + ascii(t.section) AS cell FROM data.cell_totals t
WHERE t.sample_id = $sample AND {IN_SLICE.format("t")} ORDER BY cell"""
OF_TUPLES = f"""
SELECT {MODEL_OF.format("d", "spec_id")} AS model, d.tuple_id - $start AS place, v.code,
  128 * t.year::INTEGER + ascii(t.section) AS cell
FROM data.distances d JOIN data.tuples t USING (sample_id, tuple_id)
JOIN value_codes v ON v.shape_id = t.shape_id
  AND v.value = CASE $indicator WHEN 'footrule' THEN d.footrule ELSE d.concordance END
WHERE d.sample_id = $sample AND d.scoring_id = $scoring AND list_contains($specs, d.spec_id)
  AND d.footrule IS NOT NULL AND {IN_SLICE.format("t")}
  AND d.tuple_id >= $start AND d.tuple_id < $stop"""


@dataclass(frozen=True, slots=True)
class Window:
    """The tuples of one window.

    Shapes: codes (M, T), each model's value as its place on the axis, -1 where undefined; cell
    (T,), the place of the tuple's cell among `TupleValues.cells`.
    """

    codes: IntArray
    cell: IntArray


class TupleValues:
    """Values of a slice on one axis: `axis` (V,), ascending; `windows` reads them in pieces.

    cells (C,): the cells of the slice, as 128 years + the number of the section's letter.
    """

    def __init__(
        self, cursor: duckdb.DuckDBPyConnection, subject: Subject, question: Question
    ) -> None:
        import pyarrow as pa

        self._cursor, self._subject, self._question = cursor, subject, question
        self._asked = parameters(subject, question)
        found = cursor.execute(VALUES, self._asked).fetchnumpy()
        is_footrule = question.indicator == "footrule"
        scales = shapes(cursor)
        largest = np.array(
            [
                scales[shape].footrule if is_footrule else scales[shape].concordance
                for shape in found["shape_id"].tolist()
            ],
            dtype=np.int64,
        )
        slice_only = {name: self._asked[name] for name in ("sample", "years", "sections")}
        self.cells: IntArray = cursor.execute(CELLS, slice_only).fetchnumpy()["cell"]
        value = found["value"].astype(np.int64)
        axis = common_axis(largest - value if is_footrule else value, largest)
        self.axis: DoubleArray = axis.values
        codes = {"shape_id": found["shape_id"], "value": value, "code": axis.position}
        self._codes = pa.table({name: np.asarray(column) for name, column in codes.items()})

    def windows(self) -> Iterator[Window]:
        """Every tuple that is defined for any model (with is_common: for every one), once."""
        cursor, n_models = self._cursor, len(self._subject.models)
        n_tuples = n_tuple_ids(cursor, self._subject.sample_id)
        cursor.register("value_codes", self._codes)
        for start in range(0, n_tuples, WINDOW_TUPLES):
            asked = self._asked | {"start": start, "stop": start + WINDOW_TUPLES}
            columns = cursor.execute(OF_TUPLES, asked).fetchnumpy()
            yield self._window(columns, n_models)
        cursor.unregister("value_codes")

    def _window(self, columns: dict[str, Any], n_models: int) -> Window:
        codes = np.full((n_models, WINDOW_TUPLES), -1, dtype=np.int64)
        cell = np.zeros(WINDOW_TUPLES, dtype=np.int64)
        place = columns["place"]
        codes[columns["model"], place] = columns["code"]
        cell[place] = np.searchsorted(self.cells, columns["cell"])
        is_defined = codes >= 0
        is_kept = is_defined.all(axis=0) if self._question.is_common else is_defined.any(axis=0)
        return Window(codes[:, is_kept], cell[is_kept])
