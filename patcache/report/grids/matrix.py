"""The matrix of all pairs as people read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from patcache.quantities import p_text
from patcache.report.grid import MISSING, Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.matrix import PairRow
    from patcache.queries.question import Question


def grid_of_matrix(listing: Listing[PairRow], show: str) -> Grid:
    """Models from best to worst as rows and, by number, as columns; * marks a win of the row."""
    models = list(dict.fromkeys(row.model for row in listing))
    pairs = {(row.model, row.other): row for row in listing}
    cell = CELLS[show]
    rows = []
    for number, model in enumerate(models, start=1):
        against = [pairs[model, other] if other != model else None for other in models]
        wins = sum(pair.beats for pair in against if pair is not None)
        cells = ("·" if pair is None else cell(pair) for pair in against)
        rows.append((str(number), model, *cells, str(wins)))
    headings = ("", "", *(str(number + 1) for number in range(len(models))), "beats")
    return Grid(headings, tuple(rows), (True, False, *[True] * len(models), True))


def p_cell(pair: PairRow) -> str:
    """Corrected p, or in words why there is none to speak of."""
    if pair.outcome != "tested" or pair.p_adjusted is None:
        return pair.outcome
    return p_text(pair.p_adjusted) + "*" * pair.beats


def effect_cell(pair: PairRow) -> str:
    """Probability of superiority."""
    return _number(pair.superiority, ".2f", pair)


def difference_cell(pair: PairRow) -> str:
    """Mean difference."""
    return _number(pair.mean_difference, "+.3f", pair)


def _number(value: float | None, fmt: str, pair: PairRow) -> str:
    return MISSING if value is None else cell_text(value, fmt) + "*" * pair.beats


def title_of_matrix(show: str, question: Question) -> str:
    """What the numbers of the grid are, and what its stars mean."""
    versus = {"greater": "row beats column", "less": "column beats row", "two-sided": "differ"}
    what = {
        "p": f'corrected p of "{versus[question.alternative]}"',
        "effect": "probability that a value of the row is larger than one of the column",
        "difference": "mean of row minus column over common tuples",
    }
    return f"{what[show]} · * the row wins at alpha {question.alpha:g}"


CELLS: dict[str, Callable[[PairRow], str]] = {
    "p": p_cell,
    "effect": effect_cell,
    "difference": difference_cell,
}
