"""Queries of a report's sections that need more than the question, or say why they are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from patcache.errors import NotThere
from patcache.queries.cells import cells
from patcache.queries.compare import compare
from patcache.queries.robustness import robustness, robustness_draws
from patcache.queries.where import FALSE_DISCOVERIES, where

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.compare import CompareRow
    from patcache.queries.question import Question
    from patcache.steps.sweeps import Vary
    from patcache.store import StoreFolder

MOST_ROWS = 12  # of each verdict, in what may have thousands


@dataclass(frozen=True, slots=True)
class Asked:
    """What a report is of: the question, and its models from the highest mean to the lowest."""

    question: Question
    models: tuple[str, ...]


def compare_halves(store: StoreFolder, asked: Asked) -> Listing[CompareRow]:
    """The earlier years against the later ones, each about half of the tuples.

    Errors: NotThere where all tuples are of one year.
    """
    n_tuples: dict[int, int] = {}
    for row in cells(store, asked.question, by="year"):
        year = row.year or 0
        n_tuples[year] = max(n_tuples.get(year, 0), row.n + row.n_undefined)
    years = sorted(n_tuples)
    if len(years) < 2:
        raise NotThere("one year has no earlier and later side")
    half = sum(n_tuples.values()) / 2
    before = {year: sum(n_tuples[one] for one in years if one < year) for year in years[1:]}
    split = min(before, key=lambda year: abs(before[year] - half))
    return compare(store, asked.question, split=split)


def _several(listing: Listing[Any], n_draws: int) -> Listing[Any]:
    """The listing of a sweep; nothing of it where there is one draw: it shows no spread."""
    if n_draws > 1:
        return listing
    note = "There is one draw only: `patcache robustness` draws more, and scores them."
    return replace(listing, rows=(), notes=(note,))


def robustness_of_draws(store: StoreFolder, asked: Asked) -> Listing[Any]:
    listing = robustness(store, asked.question)
    return _several(listing, max(row.n_draws for row in listing))


def draws(vary: Vary) -> Callable[[StoreFolder, Asked], Listing[Any]]:
    def query(store: StoreFolder, asked: Asked) -> Listing[Any]:
        listing = robustness_draws(store, asked.question, vary)
        return _several(listing, len({row.sample for row in listing}))

    return query


def where_best(store: StoreFolder, asked: Asked) -> Listing[Any]:
    """The best model's slices, false discoveries limited, whatever the question corrects by."""
    question = replace(asked.question, correction=FALSE_DISCOVERIES.correction)
    if len(asked.models) < 2:
        raise NotThere("one model has no rival to win against")
    return where(store, asked.models[0], question, top=MOST_ROWS)
