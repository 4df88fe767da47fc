"""Years, sections or cells as people read them: a line a part, a column a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.report.grid import Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.cells import CellRow


def grid_of_cells(listing: Listing[CellRow]) -> Grid:
    """One line a part: every model's mean, the winner, and how many of its rivals it beats."""
    models = list(dict.fromkeys(row.model for row in listing))
    parts: dict[tuple[int | None, str | None], dict[str, CellRow]] = {}
    for row in listing:
        parts.setdefault((row.year, row.section), {})[row.model] = row
    places = [i for i in range(2) if any(part[i] is not None for part in parts)]
    lines = []
    for part, rows in parts.items():
        where = [cell_text(part[i], "d" if i == 0 else "") for i in places]
        n = cell_text(max(row.n + row.n_undefined for row in rows.values()))
        undefined = cell_text(sum(row.n_undefined for row in rows.values()))
        means = [mean_text(rows[model]) for model in models]
        lines.append((*where, n, undefined, *means, *winner_texts(list(rows.values()))))
    places_headings = [("year", "section")[i] for i in places]
    headings = (*places_headings, "tuples", "undefined", *models, "winner", "beats")
    is_number = (*[i == 0 for i in places], *[True] * (2 + len(models)), False, False)
    return Grid(headings, tuple(lines), is_number)


def mean_text(row: CellRow) -> str:
    """A model's mean, or that it has too few tuples here."""
    return row.outcome if row.outcome == "too few" else cell_text(row.mean, ".3f")


def winner_texts(rows: list[CellRow]) -> tuple[str, str]:
    """Who has the highest mean, and how many of its rivals it beats."""
    winners = [row for row in rows if row.is_winner]
    if not winners:
        return "too few", ""
    if all(row.outcome == "no difference" for row in winners):
        return "no difference", ""
    beats = [f"{row.beats} of {row.n_rivals}" for row in winners]
    return " = ".join(row.model for row in winners), " / ".join(beats)
