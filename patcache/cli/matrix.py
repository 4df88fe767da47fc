"""`patcache matrix`: every pair of models of a slice."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import MISSING, PEOPLE_WRITERS, Grid, write_listing
from patcache.cli.questions import question_options

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.matrix import PairRow
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


@click.command()
@store_option(create=False)
@question_options
@click.option(
    "--show",
    type=click.Choice(("p", "effect", "difference")),
    default="p",
    show_default=True,
    help="In the grid: corrected p, probability of superiority, or mean difference.",
)
@format_option
def matrix(store: StoreFolder, question: Question, show: str, fmt: str) -> None:
    """Test every pair of models of a slice: does the row's model beat the column's?

    table, md and latex show a grid; csv, json and jsonl have one record a pair with everything.
    """
    show_matrix(store, question, show, fmt)


def show_matrix(store: StoreFolder, question: Question, show: str, fmt: str) -> None:
    """The matrix of a question, to stdout."""
    from patcache.kernels.effects import N_RESAMPLES
    from patcache.queries import matrix as queries

    is_grid = fmt in PEOPLE_WRITERS
    listing = queries.matrix(store, question, n_resamples=0 if is_grid else N_RESAMPLES)
    if is_grid:
        listing = dataclasses.replace(listing, caption=(*listing.caption, _title(show, question)))
    write_listing(listing, fmt, grid_of_matrix(listing, show))


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
    p = pair.p_adjusted
    text = "<.001" if p < 0.001 else "1.0" if p > 0.9995 else f"{p:.3f}".removeprefix("0")
    return text + "*" * pair.beats


def effect_cell(pair: PairRow) -> str:
    """Probability of superiority."""
    return _number(pair.superiority, ".2f", pair)


def difference_cell(pair: PairRow) -> str:
    """Mean difference."""
    return _number(pair.mean_difference, "+.3f", pair)


def _number(value: float | None, fmt: str, pair: PairRow) -> str:
    return MISSING if value is None else format(value, fmt) + "*" * pair.beats


def _title(show: str, question: Question) -> str:
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
