"""A trend over years or sections as people read it: a line a part, a column a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from patcache.ipc import SECTION_TITLES
from patcache.queries.wording import INDICATOR_NAMES
from patcache.report.grid import Grid, cell_text

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.cells import CellRow

Show = Literal["beats", "rci"]

LINE_CHARACTERS = 100
MOST_CHARACTERS = 76  # of all models' names with their gaps; longer ones become numbers


def grid_of_parts(listing: Listing[CellRow], show: Show) -> Grid:
    """Beaten models or mean RCI of each model in each part; * marks the best of a line."""
    models, lines = models_of(listing), lines_of(listing)
    is_years = listing[0].year is not None
    cells = []
    for rows in lines:
        texts, word = _texts(rows, show)
        cells.append((part_text(rows[0]), cell_text(n_tuples(rows)), *texts, word))
    headings = ("year" if is_years else "section", "tuples", *_headings(models), "")
    is_number = (is_years, True, *[True] * len(models), False)
    if not any(line[-1] for line in cells):
        headings, is_number = headings[:-1], is_number[:-1]
        cells = [line[:-1] for line in cells]
    return Grid(headings, tuple(cells), is_number)


def title_of_parts(listing: Listing[CellRow], show: Show) -> tuple[str, ...]:
    """What the numbers of the grid are, what its signs mean, and whom numbers stand for."""
    models = models_of(listing)
    others = {1: "there is no other model to beat", 2: "whether a model beats the other one"}
    what = {
        "beats": others.get(len(models), f"how many of the {len(models) - 1} others a model beats")
        + " · * the most in the line" * (len(models) > 1),
        "rci": f"mean {INDICATOR_NAMES[listing[0].indicator]} ± half of its 95 % interval"
        " · * the highest in the line",
    }
    if _headings(models) == models:
        return (what[show],)
    return (what[show], *_key([f"{number} {name}" for number, name in enumerate(models, start=1)]))


def models_of(listing: Listing[CellRow]) -> tuple[str, ...]:
    """The models in the order of the listing."""
    return tuple(dict.fromkeys(row.model for row in listing))


def lines_of(listing: Listing[CellRow]) -> tuple[tuple[CellRow, ...], ...]:
    """The rows of each part, in the order of the listing."""
    parts: dict[tuple[int | None, str | None], list[CellRow]] = {}
    for row in listing:
        parts.setdefault((row.year, row.section), []).append(row)
    return tuple(tuple(rows) for rows in parts.values())


def part_text(row: CellRow) -> str:
    """The year, or the section with what it is about."""
    if row.section is None:
        return str(row.year)
    title = f"{row.section} {SECTION_TITLES[row.section]}"
    return title if row.year is None else f"{row.year} {title}"


def n_tuples(rows: tuple[CellRow, ...]) -> int:
    """Tuples of a part, whether a model could rank them or not."""
    return max(row.n + row.n_undefined for row in rows)


def best_of(rows: tuple[CellRow, ...], show: Show) -> set[str]:
    """The models that lead a part; none where all are alike."""
    tested = [row for row in rows if row.outcome == "tested"]
    if show == "rci":
        best = {row.model for row in tested if row.is_winner}
    else:
        most = max((row.beats for row in tested), default=0)
        best = {row.model for row in tested if row.beats == most > 0}
    return best if len(best) < len(rows) else set()


def _texts(rows: tuple[CellRow, ...], show: Show) -> tuple[list[str], str]:
    """The cells of a line; where all say the same word, that word once, at its end."""
    words = {row.outcome for row in rows}
    if words in ({"too few"}, {"no difference"}) and (show == "beats" or "too few" in words):
        return [""] * len(rows), words.pop()
    best = best_of(rows, show)
    return [_text(row, show) + " *"[row.model in best] for row in rows], ""


def _text(row: CellRow, show: Show) -> str:
    if row.outcome == "too few":
        return row.outcome
    if show == "beats":
        return str(row.beats) if row.outcome == "tested" else row.outcome
    mean = cell_text(row.mean, ".3f")
    if row.mean is None or row.low is None or row.high is None:
        return mean
    half = f"{max(row.mean - row.low, row.high - row.mean):.3f}"
    return f"{mean}±{half.removeprefix('0')}"


def _key(items: list[str]) -> list[str]:
    """Items in as many lines as they need."""
    lines = [items[0]]
    for item in items[1:]:
        if len(lines[-1]) + len(item) + 3 <= LINE_CHARACTERS:
            lines[-1] += f" · {item}"
        else:
            lines.append(item)
    return lines


def _headings(models: tuple[str, ...]) -> tuple[str, ...]:
    """The models' names, or, where these take too much room, their numbers."""
    if sum(len(model) + 2 for model in models) <= MOST_CHARACTERS:
        return models
    return tuple(str(number + 1) for number in range(len(models)))
