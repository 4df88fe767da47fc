"""Tuples as people read them: a line a tuple, or one tuple with a line a candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.report.grid import MISSING, Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.tuple_view import CandidateRow
    from patcache.queries.tuples import TupleRow

TITLE_CHARACTERS = 28
MOST_COSINE = 1.5  # scores go beyond it, and need fewer decimals
MOST_MODELS = 6  # with a column each; the records have all of them


def grid_of_tuples(listing: Listing[TupleRow], *, with_difference: bool) -> Grid:
    """The tuple, its target, mean and range; each model's value where there are few, by number."""
    labels = list(listing[0].values) if listing else []
    shown = labels if len(labels) <= MOST_MODELS else []
    lines = []
    for row in listing:
        where = (str(row.tuple_id), str(row.year), row.section)
        target = (cell_text(row.target), cell_text(row.code), shortened(row.title))
        ends = (row.mean,) if shown else (row.mean, row.lowest, row.highest)
        difference = (cell_text(row.difference, "+.2f"),) if with_difference else ()
        values = (cell_text(value, ".2f") for value in (*ends, *map(row.values.get, shown)))
        lines.append((*where, *target, *difference, *values))
    headings = ("tuple", "year", "", "target", "code", "title")
    numbers = (
        *(("a - b",) if with_difference else ()),
        *(("mean",) if shown else ("mean", "low", "high")),
        *(str(number + 1) for number in range(len(shown))),
    )
    is_number = (True, True, False, False, False, False, *[True] * len(numbers))
    return Grid((*headings, *numbers), tuple(lines), is_number)


def models_note(listing: Listing[TupleRow]) -> list[str]:
    """Which model each numbered column is; or where their values are."""
    labels = list(listing[0].values) if listing else []
    if len(labels) > MOST_MODELS:
        return [f"low, high: of {len(labels)} models; the value of each: --format csv or json"]
    return [" · ".join(f"{number} {label}" for number, label in enumerate(labels, start=1))]


def grid_of_tuple(listing: Listing[CandidateRow]) -> Grid:
    """The target, then a line a candidate: each model's similarity and rank, by its number."""
    models = list(dict.fromkeys(row.model for row in listing))
    lines = []
    for at in range(0, len(listing), max(1, len(models))):
        of_models = listing[at : at + len(models)]
        first = of_models[0]
        level = "target" if first.level is None else str(first.level)
        patent = (cell_text(first.patent), cell_text(first.code), shortened(first.title))
        places = ("" if first.level is None else place_cell(row) for row in of_models)
        lines.append((level, *patent, *places))
    headings = ("level", "patent", "code", "title", *(str(i + 1) for i in range(len(models))))
    is_number = (True, False, False, False, *[True] * len(models))
    return Grid(headings, tuple(lines), is_number)


def values_note(listing: Listing[CandidateRow]) -> str:
    """Which model each numbered column is, and its value on this tuple."""
    values = {row.model: row.value for row in listing}
    return " · ".join(
        f"{number} {model} {'undefined' if value is None else format(value, '.3f')}"
        for number, (model, value) in enumerate(values.items(), start=1)
    )


def place_cell(row: CandidateRow) -> str:
    """A similarity and the rank it gets, or the ranks of its tie: "0.83  6", "0.00  1-3"."""
    if row.similarity is None:
        return MISSING
    is_tied = row.rank_from != row.rank_to
    rank = f"{row.rank_from}-{row.rank_to}" if is_tied else str(row.rank_from)
    similarity = format(row.similarity, ".1f" if abs(row.similarity) >= MOST_COSINE else ".3f")
    return f"{similarity}  {rank}"


def shortened(title: str | None, characters: int = TITLE_CHARACTERS) -> str:
    """A title that fits into a table; the records have all of it."""
    if title is None or len(title) <= characters:
        return cell_text(title)
    return title[: characters - 1].rstrip() + "…"
