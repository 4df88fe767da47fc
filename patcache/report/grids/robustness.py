"""A sweep as people read it: a line a model, or a line a draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.grid import MISSING, Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.robustness import DrawRow, RobustnessRow


def grid_of_robustness(listing: Listing[RobustnessRow]) -> Grid:
    """One line a model: its means over the draws, how they spread, and its ranks."""
    mean = INDICATOR_NAMES[listing[0].indicator]
    headings = ("model", "draws", mean, "above chance", "sd", "lowest", "highest")
    cells = tuple(
        (
            row.model,
            cell_text(row.n_draws),
            cell_text(row.mean, ".3f"),
            cell_text(row.above_chance, "+.3f"),
            cell_text(row.deviation, ".4f"),
            cell_text(row.lowest, ".3f"),
            cell_text(row.highest, ".3f"),
            cell_text(row.mean_rank, ".3g"),
            rank_span(row),
            cell_text(row.n_first),
        )
        for row in listing
    )
    numbers = (False, *[True] * 9)
    return Grid((*headings, "mean rank", "ranks", "first"), cells, numbers)


def rank_span(row: RobustnessRow) -> str:
    """Best and worst rank: "1-2", "1"; "not in every draw" where the model has none."""
    if row.best_rank is None or row.worst_rank is None:
        return row.outcome
    best, worst = f"{row.best_rank:g}", f"{row.worst_rank:g}"
    return best if best == worst else f"{best}-{worst}"


def grid_of_draws(listing: Listing[DrawRow]) -> Grid:
    """One line a draw: its sample, tuples and level of chance, and every model's mean."""
    models = list(dict.fromkeys(row.model for row in listing))
    draws: dict[str, dict[str, DrawRow]] = {}
    for row in listing:
        draws.setdefault(row.sample, {})[row.model] = row
    lines = []
    for sample, rows in draws.items():
        one = next(iter(rows.values()))
        n_tuples = max(row.n + row.n_undefined for row in rows.values())
        value = one.seed if one.vary == "seed" else one.m
        chance = cell_text(one.chance, ".3f")
        means = [cell_text(rows[m].mean, ".3f") if m in rows else MISSING for m in models]
        lines.append((str(value), sample, cell_text(n_tuples), chance, *means))
    heading = "seed" if listing[0].vary == "seed" else "m"
    is_number = (True, False, True, True, *[True] * len(models))
    return Grid((heading, "sample", "tuples", "chance", *models), tuple(lines), is_number)
