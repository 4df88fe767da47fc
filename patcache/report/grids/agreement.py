"""Agreement of models as people read it: a matrix, or a line a pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from patcache.report.grid import MISSING, Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.agreement import AgreementRow


def grid_of_agreement(listing: Listing[AgreementRow], show: str) -> Grid:
    """Models as rows and, by number, as columns; or a line a pair with where they differ most."""
    return grid_of_pairs(listing) if show == "pairs" else _matrix(listing, CELLS[show])


def models_of(listing: Listing[AgreementRow]) -> list[str]:
    """The models of all pairs, in the order of the listing."""
    return list(dict.fromkeys([row.model for row in listing] + [row.other for row in listing]))


def grid_of_pairs(listing: Listing[AgreementRow]) -> Grid:
    """A line a pair: correlations, mean difference, and the section and year of the largest."""
    lines = tuple(
        (
            row.model,
            row.other,
            cell_text(row.n),
            *(correlation_cell(value, row) for value in (row.spearman, row.pearson)),
            cell_text(row.mean_difference, ".3f"),
            _where(row.section, row.section_difference, row.section_n),
            _where(row.year, row.year_difference, row.year_n),
        )
        for row in listing
    )
    headings = ("model", "other", "n", "Spearman", "Pearson", "|difference|")
    is_number = (False, False, True, True, True, True, False, False)
    return Grid((*headings, "most in section", "most in year"), lines, is_number)


def _where(part: str | int | None, difference: float | None, n: int | None) -> str:
    return MISSING if part is None else f"{part} {difference:.3f} (n {n:,})"


def _matrix(listing: Listing[AgreementRow], cell: Callable[[AgreementRow], str]) -> Grid:
    models = models_of(listing)
    pairs = {(row.model, row.other): row for row in listing}
    pairs |= {(row.other, row.model): row for row in listing}
    lines = [
        (
            str(number),
            model,
            *("·" if other == model else cell(pairs[model, other]) for other in models),
        )
        for number, model in enumerate(models, start=1)
    ]
    headings = ("", "", *(str(number + 1) for number in range(len(models))))
    return Grid(headings, tuple(lines), (True, False, *[True] * len(models)))


def correlation_cell(value: float | None, row: AgreementRow) -> str:
    """A correlation, or in a word why there is none."""
    if value is None:
        return row.outcome.split(":")[0]
    return f"{round(value, 2) + 0.0:.2f}".replace("0.", ".", 1)


CELLS: dict[str, Callable[[AgreementRow], str]] = {
    "spearman": lambda row: correlation_cell(row.spearman, row),
    "pearson": lambda row: correlation_cell(row.pearson, row),
    "difference": lambda row: cell_text(row.mean_difference, ".3f"),
}
TITLES = {
    "spearman": "Spearman correlation over common tuples",
    "pearson": "Pearson correlation over common tuples",
    "difference": "mean absolute difference over common tuples",
    "pairs": "every two models, and where they differ most",
}
