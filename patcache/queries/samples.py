"""What the store knows of its samples: their size, their shortages and their label noise."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from patcache.listing import Listing, column
from patcache.store.samples import sample_id, stored_sample

if TYPE_CHECKING:
    from patcache.store.folder import StoreFolder

By = Literal["level", "cell"]

SAMPLES = """
SELECT s.name, s.kind, s.seed, s.parameters, s.created_at,
       (SELECT count(*) FROM data.tuples t WHERE t.sample_id = s.sample_id),
       (SELECT count(*) FROM data.sample_cells c WHERE c.sample_id = s.sample_id AND n_drawn > 0),
       (SELECT count(*) FROM data.sample_cells c WHERE c.sample_id = s.sample_id),
       (SELECT list(DISTINCT h.levels ORDER BY h.levels) FROM data.shapes h WHERE h.shape_id IN
           (SELECT shape_id FROM data.tuples t WHERE t.sample_id = s.sample_id)),
       (SELECT sum(n_deeper) / sum(n_pairs) FROM data.label_noise l
        WHERE l.sample_id = s.sample_id)
FROM data.samples s ORDER BY s.sample_id"""
SHORT_BY_LEVEL = """
SELECT level, sum(n_patents)::BIGINT, count(*) FROM data.shortages
WHERE sample_id = ? GROUP BY level ORDER BY level"""
SHORT_BY_CELL = """
SELECT c.year, c.section, c.n_patents, c.n_eligible, c.n_drawn,
       coalesce(map_from_entries(list({k: h.level, v: h.n_patents})
                FILTER (h.level IS NOT NULL)), MAP {})
FROM data.sample_cells c LEFT JOIN data.shortages h USING (sample_id, year, section)
WHERE c.sample_id = ? GROUP BY ALL ORDER BY c.year, c.section"""
PATENTS = """
SELECT coalesce(sum(n_patents), 0)::BIGINT, coalesce(sum(n_eligible), 0)::BIGINT,
       coalesce(sum(n_drawn), 0)::BIGINT, count(*)
FROM data.sample_cells WHERE sample_id = ?"""
NOISE_BY_LEVEL = """
SELECT level, sum(n_pairs)::BIGINT, sum(n_deeper)::BIGINT FROM data.label_noise
WHERE sample_id = ? GROUP BY level ORDER BY level"""
NOISE_BY_CELL = """
SELECT year, section, sum(n_pairs)::BIGINT, sum(n_deeper)::BIGINT FROM data.label_noise
WHERE sample_id = ? GROUP BY year, section ORDER BY year, section"""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One sample; levels: those of each shape, "1-6" or "1-6 x2"; noise: None where unmeasured."""

    sample: str = column("sample")
    n_tuples: int = column("tuples", fmt=",")
    n_cells: int = column("cells", fmt=",")
    n_cells_seen: int = column("of", fmt=",")
    levels: str = column("levels")
    kind: str = column("kind")
    seed: int | None = column("seed", fmt="d")
    codes: str | None = column("codes")
    noise: float | None = column("label noise", fmt=".1%")
    created_at: str = column("created", hidden=True)


@dataclass(frozen=True, slots=True)
class LevelShortage:
    """Patents short of candidates at one level; share of all patents the sample looked at."""

    level: int = column("level", fmt="d")
    n_patents: int = column("patents short", fmt=",")
    share: float = column("share", fmt=".1%")
    n_cells: int = column("in cells", fmt=",")


@dataclass(frozen=True, slots=True)
class CellShortage:
    """One cell: its patents, how many can be targets, were drawn, and are short at each level."""

    year: int = column("year", fmt="d")
    section: str = column("section")
    n_patents: int = column("patents", fmt=",")
    n_eligible: int = column("eligible", fmt=",")
    n_drawn: int = column("drawn", fmt=",")
    level_1: int = column("short 1", fmt=",")
    level_2: int = column("2", fmt=",")
    level_3: int = column("3", fmt=",")
    level_4: int = column("4", fmt=",")
    level_5: int = column("5", fmt=",")
    level_6: int = column("6", fmt=",")


@dataclass(frozen=True, slots=True)
class LevelNoise:
    """Pairs drawn at a level that share a deeper one by any of their codes."""

    level: int = column("level", fmt="d")
    n_pairs: int = column("pairs", fmt=",")
    n_deeper: int = column("share a deeper level", fmt=",")
    share: float = column("share", fmt=".1%")


@dataclass(frozen=True, slots=True)
class CellNoise:
    """Pairs drawn in a cell that share a deeper level by any of their codes."""

    year: int = column("year", fmt="d")
    section: str = column("section")
    n_pairs: int = column("pairs", fmt=",")
    n_deeper: int = column("share a deeper level", fmt=",")
    share: float = column("share", fmt=".1%")


def samples(store: StoreFolder) -> Listing[SampleRow]:
    """All samples, oldest first."""
    with store.read() as cursor:
        found = cursor.execute(SAMPLES).fetchall()
    rows = tuple(
        SampleRow(
            name, n_tuples, n_cells, n_seen, _levels_words(levels or []), kind, seed,
            json.loads(parameters).get("codes"), noise, created.isoformat(),
        )
        for name, kind, seed, parameters, created, n_tuples, n_cells, n_seen, levels, noise in found
    )  # fmt: skip
    notes = () if rows else ("no samples yet: patcache sample NAME",)
    return Listing(SampleRow, rows, notes=notes)


def shortages(
    store: StoreFolder, name: str, by: By = "level"
) -> Listing[LevelShortage] | Listing[CellShortage]:
    """Patents without enough candidates, by level or by cell. Errors: NotThere."""
    with store.read() as cursor:
        number = sample_id(cursor, name)
        is_imported = stored_sample(cursor, name).kind == "imported"
        totals = cursor.execute(PATENTS, [number]).fetchall()[0]
        sql = SHORT_BY_LEVEL if by == "level" else SHORT_BY_CELL
        found = cursor.execute(sql, [number]).fetchall()
    caption = (_totals_words(name, *totals),)
    notes = ("a patent short at two levels counts at both; nothing is padded",)
    if is_imported:
        caption = (f"sample {name} · {totals[2]:,} tuples in {totals[3]:,} cells, imported",)
        notes = ("its tuples were not drawn here: nothing is known to be short",)
    if by == "level":
        levels = tuple(LevelShortage(level, n, n / totals[0], k) for level, n, k in found)
        return Listing(LevelShortage, levels, caption, notes)
    cells = tuple(
        CellShortage(*counts, *(short.get(level, 0) for level in range(1, 7)))
        for *counts, short in found
    )
    return Listing(CellShortage, cells, caption, notes)


def label_noise(
    store: StoreFolder, name: str, by: By = "level"
) -> Listing[LevelNoise] | Listing[CellNoise]:
    """Candidates that share a deeper level than theirs by any code. Errors: NotThere."""
    with store.read() as cursor:
        number = sample_id(cursor, name)
        found = cursor.execute(
            NOISE_BY_LEVEL if by == "level" else NOISE_BY_CELL, [number]
        ).fetchall()
    caption = (_noise_words(name, sum(row[-2] for row in found), sum(row[-1] for row in found)),)
    notes = () if found else ("not measured: the levels of an imported sample are its own",)
    if by == "level":
        levels = tuple(LevelNoise(level, n, deeper, deeper / n) for level, n, deeper in found)
        return Listing(LevelNoise, levels, caption, notes)
    cells = tuple(
        CellNoise(year, section, n, deeper, deeper / n) for year, section, n, deeper in found
    )
    return Listing(CellNoise, cells, caption, notes)


def _totals_words(name: str, n_patents: int, n_eligible: int, n_drawn: int, n_cells: int) -> str:
    return (
        f"sample {name} · {n_patents:,} patents in {n_cells:,} cells · "
        f"{n_eligible:,} have candidates at every level · {n_drawn:,} drawn"
    )


def _noise_words(name: str, n_pairs: int, n_deeper: int) -> str:
    share = f"{n_deeper / n_pairs:.0%}" if n_pairs else "none"
    return f"sample {name} · {n_pairs:,} candidates · {share} share a deeper level by any code"


def levels_words(levels: tuple[int, ...]) -> str:
    """The levels of a shape as people say them: "1-6", "1-3 6", "1-4 x3 5-6 x4"."""
    runs: list[tuple[int, int, int]] = []  # first level, last level, candidates of each
    for level in sorted(set(levels)):
        size = levels.count(level)
        if runs and (level - 1, size) == runs[-1][1:]:
            runs[-1] = (runs[-1][0], level, size)
        else:
            runs.append((level, level, size))
    return " ".join(
        (f"{first}-{last}" if first < last else str(first)) + (f" x{size}" if size > 1 else "")
        for first, last, size in runs
    )


def _levels_words(shapes: list[list[int]]) -> str:
    words = [levels_words(tuple(levels)) for levels in shapes[:3]]
    return " | ".join([*words, *(["..."] if len(shapes) > 3 else [])])
