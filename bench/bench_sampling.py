"""Samples from 5.34 million generated patents: 120 cells x 100 targets x 6 levels, and everybody.

Run: python -m bench.bench_sampling [PATENTS]. The peer is what a user would write in SQL: targets
joined with all patents of their year and `arg_min(patent_id, random())` for each level, on a large
and a small cell, times the number of cells. It leaves out nobody, and counts nothing that is short.
Every pair drawn is checked in the same run: same year, the level its codes say, never the target.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.common import report
from patcache.records import TupleSet
from patcache.steps.sampling import SampleParameters, draw_sample
from patcache.store import StoreFolder
from patcache.store.population import read_population
from patcache.store.samples import sample_id, tuple_sets

SEED = 1
N_PATENTS = 5_340_000
YEARS = np.arange(2005, 2020)
TREE = {"classes": 130, "subclasses": 640, "groups": 7_500, "codes": 70_000}
SAME_TEXT_SHARE = 0.02  # patents that repeat the text of another
FAMILY_SHARE = 0.3  # patents whose family is known, in families of about two
BATCH = 500_000

INSERT = """
INSERT INTO data.patents BY NAME
SELECT patent_id,
       'US' || (7000000 + patent_id::BIGINT * 7919 % 90000000) || 'B2' AS publication_number,
       year, 'year' AS year_source, 'year' AS date_precision,
       main_code[1:1] AS section, main_code[1:3] AS ipc_class, main_code[1:4] AS subclass,
       split_part(main_code, '/', 1) AS main_group, main_code AS code,
       CASE WHEN len(list_distinct([main_code, second_code, third_code])) < 3 OR third % 3 = 0
            THEN [main_code] ELSE [main_code, second_code, third_code] END AS codes,
       'text ' || text AS abstract, unhex(md5(text::VARCHAR)) AS same_text_key,
       'F' || family AS family_id, 'en' AS language, 1 AS import_id
FROM (SELECT *, m.code AS main_code, s.code AS second_code, t.code AS third_code
      FROM rows
      JOIN codes m ON m.number = rows.main JOIN codes s ON s.number = rows.second
      JOIN codes t ON t.number = rows.third)"""
PEER = """
WITH targets AS (
    SELECT * FROM data.patents WHERE year = ? AND section = ? ORDER BY hash(patent_id) LIMIT 100
)
SELECT t.patent_id,
       CASE WHEN c.section <> t.section THEN 1 WHEN c.ipc_class <> t.ipc_class THEN 2
            WHEN c.subclass <> t.subclass THEN 3 WHEN c.main_group <> t.main_group THEN 4
            WHEN c.code <> t.code THEN 5 ELSE 6 END AS level,
       arg_min(c.patent_id, random()) AS candidate
FROM targets t JOIN data.patents c ON c.year = t.year AND c.patent_id <> t.patent_id
GROUP BY ALL"""
CELLS = "SELECT year, section, count(*) FROM data.patents GROUP BY ALL ORDER BY 3"


def code_names(rng: np.random.Generator) -> list[str]:
    """A tree of codes with the sizes of the IPC: every parent has a child, the rest anywhere."""
    classes = _children(rng, 8, TREE["classes"])
    subclasses = _children(rng, TREE["classes"], TREE["subclasses"])
    groups = _children(rng, TREE["subclasses"], TREE["groups"])
    codes = _children(rng, TREE["groups"], TREE["codes"])
    names = list("ABCDEFGH")
    names = [f"{names[parent]}{rank + 1:02d}" for parent, rank in classes]
    names = [f"{names[parent]}{chr(65 + rank)}" for parent, rank in subclasses]
    names = [f"{names[parent]} {rank + 1}" for parent, rank in groups]
    return [f"{names[parent]}/{rank:02d}" for parent, rank in codes]


def _children(rng: np.random.Generator, n_parents: int, n_children: int) -> list[tuple[int, int]]:
    limit = 26 if n_children == TREE["subclasses"] else 900
    counts = np.ones(n_parents, dtype=int)
    while counts.sum() < n_children:
        parent = int(rng.integers(n_parents))
        counts[parent] += counts[parent] < limit
    return [(parent, rank) for parent in range(n_parents) for rank in range(counts[parent])]


def make(path: Path, n_patents: int) -> None:
    """Fills a store with generated patents; codes by Zipf, more patents in later years."""
    import pyarrow as pa

    rng = np.random.default_rng(SEED)
    names = code_names(rng)
    weights = 1 / np.arange(1, len(names) + 1) ** 0.9
    rng.shuffle(weights)
    codes = pa.table({"number": np.arange(len(names)), "code": names})
    by_year = np.linspace(1, 2, len(YEARS))
    store = StoreFolder(path)
    for start in range(0, n_patents, BATCH):
        size = min(BATCH, n_patents - start)
        ids = np.arange(start, start + size, dtype=np.int32)
        drawn = rng.choice(len(names), (3, size), p=weights / weights.sum())
        is_copy = rng.random(size) < SAME_TEXT_SHARE
        family = rng.integers(int(n_patents * FAMILY_SHARE / 2), size=size)
        is_known = rng.random(size) < FAMILY_SHARE
        rows = pa.table(
            {
                "patent_id": ids,
                "year": rng.choice(YEARS, size, p=by_year / by_year.sum()).astype(np.int16),
                "main": drawn[0],
                "second": drawn[1],
                "third": drawn[2],
                "text": np.where(is_copy, rng.integers(n_patents, size=size), ids),
                "family": pa.array(family, mask=~is_known),
            }
        )
        with store.write() as cursor:
            cursor.register("rows", rows)
            cursor.register("codes", codes)
            cursor.execute(INSERT)


def wrong_pairs(store: StoreFolder, name: str) -> tuple[int, int]:
    """Pairs of a sample whose relation is not the one their level claims, and all pairs."""
    with store.read() as cursor:
        columns = cursor.execute("SELECT patent_id, year, code FROM data.patents").fetchnumpy()
        tuples = tuple_sets(cursor, sample_id(cursor, name))
    codes, number = np.unique(columns["code"].astype("U16"), return_inverse=True)
    prefixes = [codes.astype(f"U{width}") for width in (1, 3, 4)]
    prefixes += [np.array([code.partition("/")[0] for code in codes]), codes]
    keys = np.stack([np.unique(p, return_inverse=True)[1] for p in prefixes]).astype(np.int32)
    at = np.argsort(columns["patent_id"])
    number, years = number[at].astype(np.int32), columns["year"][at]
    wrong = sum(_wrong(some, keys, number, years) for some in tuples)
    return wrong, sum(some.candidates.size for some in tuples)


def _wrong(some: TupleSet, keys: Any, number: Any, years: Any) -> int:
    wrong = 0
    for level, column in zip(some.shape.levels, some.candidates.T, strict=True):
        shared = np.zeros(len(column), dtype=np.int8)
        for key in keys:
            shared += key[number[some.targets]] == key[number[column]]
        ok = (shared + 1 == level) & (years[some.targets] == years[column])
        wrong += int((~ok | (some.targets == column)).sum())
    return wrong


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a piece of work gives, with its wall and processor seconds (all threads)."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, round(time.perf_counter() - wall, 3), round(time.process_time() - cpu, 3)


def medians(times: list[Any]) -> list[float]:
    """Medians of wall and processor seconds."""
    return [statistics.median(column) for column in zip(*times, strict=True)]


def run(path: Path, case: str, repeats: int, parameters: SampleParameters) -> None:
    """One case in a process of its own, so that its peak memory is its own."""
    store = StoreFolder(path)
    fetch, whole = [], []
    for number in range(repeats):
        fetch.append(timed(lambda: read_population(store, None))[1:])
        found, *seconds = timed(lambda n=number: draw_sample(store, f"{case}-{n}", parameters))
        whole.append(seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    wrong, n_pairs = wrong_pairs(store, f"{case}-0")
    report(
        case,
        n_patents=found.n_patents,
        seed=SEED,
        n_tuples=found.n_tuples,
        n_cells=found.n_cells,
        repeats=repeats,
        fetch_wall_cpu_s=medians(fetch),
        whole_wall_cpu_s=medians(whole),
        whole_wall_spread_s=[min(whole)[0], max(whole)[0]],
        peak_memory_gb=round(peak / 1e9, 2),
        pairs_checked=n_pairs,
        pairs_wrong=wrong,
        noise_share=round(found.noise_share, 4),
    )


def peer(path: Path) -> None:
    """The SQL join on a large and a small cell, extrapolated to all cells."""
    store = StoreFolder(path)
    with store.read() as cursor:
        cells = cursor.execute(CELLS).fetchall()
        times = []
        for year, section, n_patents in (cells[0], cells[-1]):
            asked = [year, section]
            _, wall, cpu = timed(lambda a=asked: cursor.execute(PEER, a).fetchall())
            times.append((n_patents, wall, cpu))
    wall, cpu = (sum(row[column] for row in times) / len(times) * len(cells) for column in (1, 2))
    report(
        "sql-join",
        cells_patents_wall_cpu_s=times,
        n_cells=len(cells),
        extrapolated_wall_cpu_s=[round(wall, 1), round(cpu, 1)],
    )


def main() -> None:
    n_patents = int(sys.argv[1]) if len(sys.argv) > 1 else N_PATENTS
    start = multiprocessing.get_context("spawn")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        jobs: list[tuple[Any, tuple[Any, ...]]] = [
            (make, (path, n_patents)),
            (run, (path, "cells-100", 3, SampleParameters())),
            (peer, (path,)),
            (run, (path, "everybody", 1, SampleParameters(targets=None))),
            (run, (path, "cells-100-strict", 1, SampleParameters(codes="strict"))),
        ]
        for job, arguments in jobs:
            process = start.Process(target=job, args=arguments)
            process.start()
            process.join()
            if process.exitcode:
                raise SystemExit(process.exitcode)


if __name__ == "__main__":
    main()
