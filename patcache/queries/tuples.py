"""The tuples that models find hardest or easiest, or differ on most; and one tuple by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from patcache.errors import Misused, NotThere
from patcache.listing import Listing, column
from patcache.queries.comparison import Comparison, compare
from patcache.queries.counts import IN_SLICE, MODEL_OF, parameters
from patcache.queries.question import Question
from patcache.queries.similarities import undefined_notes
from patcache.queries.wording import INDICATOR_NAMES
from patcache.store.scores import n_tuple_ids

if TYPE_CHECKING:
    import duckdb

    from patcache.store import StoreFolder

WINDOW_TUPLES = 131_072  # sorted at a time, so that memory does not grow with the sample
Order = Literal["hardest", "easiest", "disagreement"]

# Values in whole units, larger is better: the sums are exact, so equal tuples are equal.
ORDERED = f"""
WITH valued AS (
  SELECT d.tuple_id, d.spec_id,
    CASE $indicator WHEN 'footrule' THEN h.units_per_rank * h.max_distance - d.footrule
      ELSE d.concordance END AS value,
    CASE $indicator WHEN 'footrule' THEN h.units_per_rank * h.max_distance
      ELSE h.n_cross_pairs END AS largest
  FROM data.tuples t JOIN data.distances d USING (sample_id, tuple_id)
  JOIN data.shapes h USING (shape_id)
  WHERE t.sample_id = $sample AND d.scoring_id = $scoring AND list_contains($specs, d.spec_id)
    AND d.footrule IS NOT NULL AND {IN_SLICE.format("t")}
    AND d.tuple_id >= $start AND d.tuple_id < $stop
), summed AS (
  SELECT tuple_id, sum(value) / (count(*) * any_value(largest))::DOUBLE AS mean,
    CASE WHEN $a IS NULL THEN max(value) - min(value)
      ELSE max(value) FILTER (spec_id = $a) - max(value) FILTER (spec_id = $b)
    END / any_value(largest)::DOUBLE AS difference
  FROM valued GROUP BY tuple_id
  HAVING NOT $is_common OR count(*) = len($specs)
)
SELECT round(CASE $order WHEN 'hardest' THEN mean WHEN 'easiest' THEN -mean
  ELSE -abs(difference) END, 12) AS place, tuple_id, mean, difference
FROM summed WHERE $order <> 'disagreement' OR difference IS NOT NULL
ORDER BY place, tuple_id LIMIT $top"""
DETAILS = f"""
SELECT t.tuple_id, t.year, t.section, p.publication_number, p.code, p.title,
  {MODEL_OF.format("d", "spec_id")} AS model,
  CASE $indicator WHEN 'footrule' THEN
    (h.units_per_rank * h.max_distance - d.footrule) / (h.units_per_rank * h.max_distance)::DOUBLE
    ELSE d.concordance / h.n_cross_pairs::DOUBLE END AS value
FROM data.tuples t JOIN data.distances d USING (sample_id, tuple_id)
JOIN data.shapes h USING (shape_id)
LEFT JOIN data.patents p ON p.patent_id = t.target
WHERE t.sample_id = $sample AND d.scoring_id = $scoring AND list_contains($specs, d.spec_id)
  AND list_contains($tuple_ids, t.tuple_id) AND list_contains($tuple_ids, d.tuple_id)
ORDER BY model"""


@dataclass(frozen=True, slots=True)
class TupleRow:
    """One tuple and its target. mean, lowest, highest: of the models that define it.

    difference: value of the first of two models minus that of the second, where two are named;
    else highest minus lowest. values: of each model by label; None where undefined.
    """

    tuple_id: int = column("tuple", fmt="d")
    year: int = column("year", fmt="d")
    section: str = column("section")
    target: str | None = column("target")
    code: str | None = column("code")
    title: str | None = column("title")
    mean: float = column("mean", fmt=".3f")
    lowest: float = column("lowest", fmt=".3f")
    highest: float = column("highest", fmt=".3f")
    difference: float | None = column("difference", fmt="+.3f")
    values: Mapping[str, float | None] = column("values")


def tuples(
    store: StoreFolder,
    question: Question | None = None,
    *,
    order: Order | None = None,
    top: int = 20,
    between: tuple[str, str] | None = None,
) -> Listing[TupleRow]:
    """The first tuples of an order: hardest, easiest, or where models differ most.

    hardest (the default) and easiest go by the mean over the models; between names two models
    whose difference counts (order "disagreement", the default where they are named), else it is
    highest minus lowest. Equal tuples stand by tuple_id. Errors: as for the leaderboard; NotThere
    for a model in `between` that is not among those compared; ValueError for a top below 1.
    """
    if top < 1:
        raise ValueError(f"top {top} is not 1 or more")
    order = order or ("hardest" if between is None else "disagreement")
    comparison = compare(store, question or Question())
    pair = None if between is None else _specs_of(comparison, between)
    with store.read() as cursor:
        ordered = _ordered(cursor, comparison, order, top, pair)
        details = _details(cursor, comparison, [row[0] for row in ordered])
    rows = tuple(
        _row(comparison, details[tuple_id], mean, difference)
        for tuple_id, mean, difference in ordered
    )
    caption = f"{comparison.about} · {_order_words(comparison, order, between)}"
    return Listing(TupleRow, rows, (caption,), tuple(_notes(comparison, rows)))


def _specs_of(comparison: Comparison, between: tuple[str, str]) -> tuple[str, str]:
    specs = {model.label: model.spec_id for model in comparison.subject.models}
    if missing := [label for label in between if label not in specs]:
        raise NotThere(
            f"no scores of {', '.join(missing)} among the models compared",
            f"compared: {', '.join(specs)}",
            "name two of them: --between A,B",
        )
    first, second = between
    if first == second:
        raise Misused(
            f"{first} does not differ from itself",
            "both names are the same model",
            "name two models: --between A,B",
        )
    return specs[first], specs[second]


def _ordered(
    cursor: duckdb.DuckDBPyConnection,
    comparison: Comparison,
    order: Order,
    top: int,
    pair: tuple[str, str] | None,
) -> list[tuple[int, float, float | None]]:
    a, b = pair or (None, None)
    subject = comparison.subject
    asked = parameters(subject, comparison.question) | {"a": a, "b": b, "order": order, "top": top}
    asked["is_common"] = comparison.question.is_common
    first: list[Any] = []
    for start in range(0, n_tuple_ids(cursor, subject.sample_id), WINDOW_TUPLES):
        window = {"start": start, "stop": start + WINDOW_TUPLES}
        first += cursor.execute(ORDERED, asked | window).fetchall()
        first = sorted(first, key=lambda row: row[:2])[:top]
    return [(tuple_id, mean, difference) for _, tuple_id, mean, difference in first]


def _details(
    cursor: duckdb.DuckDBPyConnection, comparison: Comparison, tuple_ids: list[int]
) -> dict[int, list[tuple[Any, ...]]]:
    """The rows of each tuple, a row a model."""
    asked = parameters(comparison.subject, comparison.question)
    asked = {name: asked[name] for name in ("sample", "scoring", "indicator", "specs")}
    found: dict[int, list[tuple[Any, ...]]] = {}
    for row in cursor.execute(DETAILS, asked | {"tuple_ids": tuple_ids}).fetchall():
        found.setdefault(row[0], []).append(row)
    return found


def _row(
    comparison: Comparison,
    details: list[tuple[Any, ...]],
    mean: float,
    difference: float | None,
) -> TupleRow:
    value = {model: found for *_, model, found in details}
    defined = [found for found in value.values() if found is not None]
    tuple_id, year, section, target, code, title = details[0][:6]
    return TupleRow(
        tuple_id=tuple_id,
        year=year,
        section=section,
        target=target,
        code=code,
        title=title,
        mean=mean,
        lowest=min(defined),
        highest=max(defined),
        difference=difference,
        values={comparison.labels[i]: value.get(i) for i in comparison.best_first},
    )


def _order_words(comparison: Comparison, order: Order, between: tuple[str, str] | None) -> str:
    name = INDICATOR_NAMES[comparison.question.indicator]
    of = f"{len(comparison.labels)} models" if len(comparison.labels) > 1 else comparison.labels[0]
    if order != "disagreement":
        return f"{order} first, by the mean {name} of {of}"
    if between is None:
        return f"largest difference between two of {of} first"
    return f"largest difference first: {name} of {between[0]} minus that of {between[1]}"


def _notes(comparison: Comparison, rows: tuple[TupleRow, ...]) -> Iterator[str]:
    yield from undefined_notes(comparison)
    if not rows:
        yield "no tuple here is defined for the models asked for"
        return
    if comparison.counts.n_undefined.any() and not comparison.question.is_common:
        yield "a mean is over the models that define the tuple; --common: only what all define"
    yield "one of them whole: patcache tuples --show ID"
