"""One tuple: its target, its candidates, and where every model puts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import NotThere
from patcache.kernels.footrule import tie_blocks
from patcache.listing import Listing, column
from patcache.queries.comparison import Comparison, compare
from patcache.queries.question import Question, Subject
from patcache.queries.wording import INDICATOR_NAMES

if TYPE_CHECKING:
    import duckdb

    from patcache.store import StoreFolder

TUPLE = """
SELECT t.target, t.candidates, t.year, t.section, h.levels, h.chance, s.first, s.last
FROM data.tuples t JOIN data.shapes h USING (shape_id)
RIGHT JOIN (SELECT min(tuple_id) AS first, max(tuple_id) AS last FROM data.tuples
            WHERE sample_id = ?) s ON t.sample_id = ? AND t.tuple_id = ?"""
PATENTS = """
SELECT patent_id, publication_number, code, title FROM data.patents
WHERE list_contains(?, patent_id)"""
SCORES = """
SELECT d.spec_id, d.similarities,
  CASE ? WHEN 'footrule' THEN
    (h.units_per_rank * h.max_distance - d.footrule) / (h.units_per_rank * h.max_distance)::DOUBLE
    ELSE d.concordance / h.n_cross_pairs::DOUBLE END
FROM data.distances d JOIN data.tuples t USING (sample_id, tuple_id)
JOIN data.shapes h USING (shape_id)
WHERE d.sample_id = ? AND d.tuple_id = ? AND d.scoring_id = ?"""


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One candidate of a tuple under one model, or its target, whose level is None.

    rank_from, rank_to: the ranks it can have, 1 the least similar; they differ where it is tied.
    similarity and ranks are None for the target and where the model is undefined on the tuple.
    value: the model's RCI (or Kendall) on this tuple.
    """

    tuple_id: int = column("tuple", fmt="d")
    year: int = column("year", fmt="d")
    section: str = column("section")
    level: int | None = column("level", fmt="d")
    patent: str | None = column("patent")
    code: str | None = column("code")
    title: str | None = column("title")
    model: str = column("model")
    similarity: float | None = column("similarity", fmt=".3f")
    rank_from: int | None = column("rank from", fmt="d")
    rank_to: int | None = column("rank to", fmt="d")
    value: float | None = column("value", fmt=".3f")


@dataclass(frozen=True, slots=True)
class _Tuple:
    """A tuple as it is drawn, and what is known of its patents: number, code and title."""

    tuple_id: int
    year: int
    section: str
    members: tuple[int, ...]  # patent_ids: the target, then the candidates, least similar first
    levels: tuple[int, ...]  # of the candidates
    chance: float
    patents: Mapping[int, tuple[str, str, str | None]]


@dataclass(frozen=True, slots=True)
class _Score:
    """One model on one tuple: value, and of each candidate its similarity and its ranks."""

    label: str
    value: float | None
    candidates: Sequence[tuple[float | None, int | None, int | None]]


def tuple_view(
    store: StoreFolder, tuple_id: int, question: Question | None = None
) -> Listing[CandidateRow]:
    """The target and then the candidates, deepest level first, each under every model.

    Models are in the order of the whole sample, best first. Errors: NotThere for a tuple_id, a
    sample or a model that is not there.
    """
    asked = replace(question or Question(), years=None, sections=None, is_common=False)
    comparison = compare(store, asked)
    with store.read() as cursor:
        shown = _tuple(cursor, comparison.subject, tuple_id)
        scores = _scores(cursor, comparison, tuple_id)
    rows = tuple(
        _row(shown, place, score)
        for place in (0, *range(len(shown.levels), 0, -1))
        for score in scores
    )
    is_footrule = asked.indicator == "footrule"
    caption = (
        f"sample {comparison.subject.sample} · tuple {tuple_id} · {shown.year} · "
        f"section {shown.section} · {INDICATOR_NAMES[asked.indicator]} "
        f"(chance {shown.chance if is_footrule else 0:.3f})"
    )
    notes = ["ranks count from 1, the least similar candidate; a span of ranks is a tie"]
    if undefined := [score.label for score in scores if score.value is None]:
        notes.append(f"undefined here: {', '.join(undefined)}")
    return Listing(CandidateRow, rows, (caption,), tuple(notes))


def _row(shown: _Tuple, place: int, score: _Score) -> CandidateRow:
    """The target, place 0, or a candidate under one model."""
    patent, code, title = shown.patents.get(shown.members[place], (None, None, None))
    similarity, rank_from, rank_to = score.candidates[place - 1] if place else (None, None, None)
    return CandidateRow(
        tuple_id=shown.tuple_id,
        year=shown.year,
        section=shown.section,
        level=shown.levels[place - 1] if place else None,
        patent=patent,
        code=code,
        title=title,
        model=score.label,
        similarity=similarity,
        rank_from=rank_from,
        rank_to=rank_to,
        value=score.value,
    )


def _tuple(cursor: duckdb.DuckDBPyConnection, subject: Subject, tuple_id: int) -> _Tuple:
    sample = subject.sample_id
    rows = cursor.execute(TUPLE, [sample, sample, tuple_id]).fetchall()
    target, candidates, year, section, levels, chance, first, last = rows[0]
    if target is None:
        raise NotThere(
            f"no tuple {tuple_id} in sample {subject.sample}",
            f"its tuples are numbered {first} to {last}",
            "`patcache tuples` lists some",
        )
    members = (target, *candidates)
    found = cursor.execute(PATENTS, [list(members)]).fetchall()
    patents = {patent_id: (number, code, title) for patent_id, number, code, title in found}
    return _Tuple(tuple_id, year, section, members, tuple(levels), chance, patents)


def _scores(
    cursor: duckdb.DuckDBPyConnection, comparison: Comparison, tuple_id: int
) -> list[_Score]:
    question, models = comparison.question, comparison.subject.models
    asked = [question.indicator, comparison.subject.sample_id, tuple_id, question.scoring_id]
    found = {row[0]: row[1:] for row in cursor.execute(SCORES, asked).fetchall()}
    scores = []
    for model in (models[i] for i in comparison.best_first):
        similarities, value = found.get(model.spec_id, ([], None))
        scores.append(_score(model.label, similarities, value, question.tie_tolerance))
    return [score for score in scores if score.candidates]


def _score(
    label: str, similarities: list[float], value: float | None, tie_tolerance: float
) -> _Score:
    if value is None:
        return _Score(label, None, [(None, None, None)] * len(similarities))
    low, high, _ = tie_blocks(np.array([similarities], dtype=np.float32), tie_tolerance)
    ranks = low[0].tolist(), high[0].tolist()
    return _Score(label, value, list(zip(similarities, *ranks, strict=True)))
