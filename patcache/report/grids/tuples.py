"""Tuples as people read them: a line a tuple, or one tuple with a line a candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.report.grid import MISSING, Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.tuple_view import CandidateRow
    from patcache.queries.tuples import TupleRow

TITLE_CHARACTERS = 28
MOST_MODELS = 6  # with a column each; the records have all of them


def grid_of_tuples(listing: Listing[TupleRow], *, with_difference: bool) -> Grid:
    """The tuple, its target, mean and range; each model's value where there are few, by number."""
    labels = list(listing[0].values) if listing else []
    shown = labels if len(labels) <= MOST_MODELS else []
    lines = []
    for row in listing:
        where = (str(row.tuple_id), str(row.year), row.section)
        target = (cell_text(row.target), cell_text(row.code), shortened(row.title))
        found = (row.mean, row.lowest, row.highest)
        difference = (cell_text(row.difference, "+.2f"),) if with_difference else ()
        values = (cell_text(row.values[label], ".2f") for label in shown)
        numbers = (cell_text(value, ".2f") for value in found)
        lines.append((*where, *target, *numbers, *difference, *values))
    headings = ("tuple", "year", "", "target", "code", "title", "mean", "low", "high")
    extra = ("a - b",) if with_difference else ()
    numbered = [str(number + 1) for number in range(len(shown))]
    is_number = (True, True, False, False, False, False)
    n_numbers = 3 + len(extra) + len(numbered)
    return Grid((*headings, *extra, *numbered), tuple(lines), (*is_number, *[True] * n_numbers))


def models_note(listing: Listing[TupleRow]) -> list[str]:
    """Which model each numbered column is; or where their values are."""
    labels = list(listing[0].values) if listing else []
    if len(labels) > MOST_MODELS:
        return [f"low, high: of {len(labels)} models; the value of each: --format csv or json"]
    return [" · ".join(f"{number} {label}" for number, label in enumerate(labels, start=1))]


def grid_of_tuple(listing: Listing[CandidateRow]) -> Grid:
    """The target, then a line a candidate: each model's similarity and rank, its value above."""
    models = {row.model: row.value for row in listing}
    lines: dict[tuple[int | None, int], dict[str, CandidateRow]] = {}
    n_models = max(1, len(models))
    for number, row in enumerate(listing):
        lines.setdefault((row.level, number // n_models), {})[row.model] = row
    cells = []
    for (level, _), of_model in lines.items():
        first = next(iter(of_model.values()))
        patent = (cell_text(first.patent), cell_text(first.code), shortened(first.title))
        places = (place_cell(of_model[model]) if level else "" for model in models)
        cells.append(("target" if level is None else str(level), *patent, *places))
    headings = [
        f"{model} {'undefined' if value is None else format(value, '.3f')}"
        for model, value in models.items()
    ]
    is_number = (True, False, False, False, *[True] * len(models))
    return Grid(("level", "patent", "code", "title", *headings), tuple(cells), is_number)


def place_cell(row: CandidateRow) -> str:
    """A similarity and the rank it gets, or the ranks of its tie: "0.83  6", "0.00  1-3"."""
    if row.similarity is None:
        return MISSING
    is_tied = row.rank_from != row.rank_to
    rank = f"{row.rank_from}-{row.rank_to}" if is_tied else str(row.rank_from)
    return (
        f"{row.similarity:.3g}  {rank}"
        if abs(row.similarity) > 1
        else (f"{row.similarity:.3f}  {rank}")
    )


def shortened(title: str | None, characters: int = TITLE_CHARACTERS) -> str:
    """A title that fits into a table; the records have all of it."""
    if title is None or len(title) <= characters:
        return cell_text(title)
    return title[: characters - 1].rstrip() + "…"
