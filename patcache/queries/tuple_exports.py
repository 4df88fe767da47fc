"""Tuples of a slice for other programs: raw values, runs and gold levels, window by window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from patcache.queries.counts import IN_SLICE
from patcache.queries.question import subject_of

if TYPE_CHECKING:
    import pyarrow as pa

    from patcache.queries.question import Question, Subject
    from patcache.records import Progress
    from patcache.store import StoreFolder

WINDOW_TUPLES = 4_096
SPAN = "SELECT coalesce(max(tuple_id) + 1, 0) FROM data.tuples WHERE sample_id = ?"
TUPLES = f"""
WITH wanted AS (
  SELECT t.* FROM data.tuples t
  WHERE t.sample_id = $sample AND t.tuple_id >= $start AND t.tuple_id < $stop
    AND {IN_SLICE.format("t")}
    AND (NOT $is_common OR t.tuple_id IN (
      SELECT d.tuple_id FROM data.distances d
      WHERE d.sample_id = $sample AND d.scoring_id = $scoring AND list_contains($specs, d.spec_id)
        AND d.tuple_id >= $start AND d.tuple_id < $stop AND d.footrule IS NOT NULL
      GROUP BY d.tuple_id HAVING count(*) = len($specs)))
), scored AS (
  SELECT w.tuple_id, w.shape_id, w.year, w.section, w.target, w.candidates,
    list_position($specs, d.spec_id) - 1 AS model, d.similarities, d.footrule, d.concordance
  FROM wanted w JOIN data.distances d ON d.sample_id = $sample AND d.tuple_id = w.tuple_id
  WHERE d.scoring_id = $scoring AND list_contains($specs, d.spec_id)
)"""
VALUES = f"""{TUPLES}
SELECT s.tuple_id, s.year, s.section, p.publication_number AS target,
  $labels[s.model + 1] AS model,
  1 - s.footrule / CASE WHEN $is_paper THEN h.units_per_rank * len(h.levels) * len(h.levels) / 2
    ELSE (h.units_per_rank * h.max_distance)::DOUBLE END AS rci,
  s.concordance / h.n_cross_pairs::DOUBLE AS kendall,
  s.footrule / h.units_per_rank::DOUBLE AS distance_in_ranks,
  s.footrule IS NULL AS is_undefined
FROM scored s JOIN data.shapes h USING (shape_id) JOIN data.patents p ON p.patent_id = s.target
ORDER BY s.tuple_id, s.model"""
# A blank would end a field: numbers are written as in a URL, which changes letters and digits not.
RUNS = f"""{TUPLES}, candidate AS (
  SELECT model, tuple_id, unnest(similarities) AS similarity, unnest(candidates) AS patent_id
  FROM scored WHERE footrule IS NOT NULL
)
SELECT c.model, concat_ws(' ', $qid || c.tuple_id, 'Q0', url_encode(p.publication_number),
  row_number() OVER (PARTITION BY c.model, c.tuple_id
    ORDER BY c.similarity DESC, url_encode(p.publication_number) DESC), c.similarity) AS line
FROM candidate c JOIN data.patents p USING (patent_id)
ORDER BY c.model, c.tuple_id, c.similarity DESC, url_encode(p.publication_number) DESC"""
QRELS = f"""{TUPLES}, candidate AS (
  SELECT w.tuple_id, unnest(w.candidates) AS patent_id, unnest(h.levels) AS level,
    unnest(range(len(h.levels))) AS position
  FROM wanted w JOIN data.shapes h USING (shape_id)
)
SELECT concat_ws(' ', $qid || c.tuple_id, 0, url_encode(p.publication_number), c.level) AS line
FROM candidate c JOIN data.patents p USING (patent_id)
ORDER BY c.tuple_id, c.position"""


def subject(store: StoreFolder, question: Question) -> Subject:
    """The sample and the models of a question. Errors: as for the leaderboard."""
    with store.read() as cursor:
        return subject_of(cursor, question)


def values(
    store: StoreFolder, question: Question, progress: Progress | None = None
) -> Iterator[pa.Table]:
    """One row a tuple and model: tuple_id, year, section, target, model, rci, kendall,
    distance_in_ranks, is_undefined; by tuple_id, models in the order of the subject.

    rci is by the largest distance the question asks for. Errors: as for the leaderboard.
    """
    asked = subject(store, question)
    more = {
        "labels": [model.label for model in asked.models],
        "is_paper": question.dmax == "paper",
    }
    yield from _windows(store, question, asked, VALUES, more, progress)


def run_lines(
    store: StoreFolder, question: Question, progress: Progress | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Lines "qid Q0 docno rank similarity" of each model (its place in the subject), tuple by
    tuple; undefined ones are left out. Equal similarities: the larger docno first, as trec_eval
    breaks ties. Errors: as for the leaderboard.
    """
    asked = subject(store, question)
    for table in _windows(store, question, asked, RUNS, {"qid": f"{asked.sample}-"}, progress):
        model, line = table["model"].to_pylist(), table["line"].to_pylist()
        for place in range(len(asked.models)):
            lines = [text for of, text in zip(model, line, strict=True) if of == place]
            if lines:
                yield place, lines


def qrels_lines(store: StoreFolder, question: Question) -> Iterator[list[str]]:
    """Lines "qid 0 docno level" of every tuple of the slice, candidates in gold order."""
    asked = subject(store, question)
    for table in _windows(store, question, asked, QRELS, {"qid": f"{asked.sample}-"}, None):
        yield table["line"].to_pylist()


def _windows(
    store: StoreFolder,
    question: Question,
    asked: Subject,
    statement: str,
    more: dict[str, Any],
    progress: Progress | None,
) -> Iterator[pa.Table]:
    parameters = {
        "sample": asked.sample_id,
        "scoring": question.scoring_id,
        "specs": [model.spec_id for model in asked.models],
        "years": None if question.years is None else list(question.years),
        "sections": None if question.sections is None else list(question.sections),
        "is_common": question.is_common,
        **more,
    }
    with store.read() as cursor:
        stop = int(cursor.execute(SPAN, [asked.sample_id]).fetchall()[0][0])
    for start in range(0, stop, WINDOW_TUPLES):
        window = {"start": start, "stop": start + WINDOW_TUPLES}
        with store.read() as cursor:
            table = cursor.sql(statement, params=parameters | window).to_arrow_table()
        yield table
        if progress is not None:
            progress(min(stop, start + WINDOW_TUPLES), stop)
