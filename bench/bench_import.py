"""A million generated patents into a fresh store: seconds and peak memory, by format and size.

python -m bench.bench_import [NUMBER OF PATENTS ...]

Each import runs in a process of its own, so that its peak memory is its own. Every line says
whether the stored patents are those of the file.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from bench.common import report

SEED = 1
SIZES = (100_000, 1_000_000)
FORMATS = {"parquet": "", "csv": "(HEADER)", "jsonl": "(FORMAT json)"}
# About 1 kB of text a patent, two to four of 70,000 codes, every fifth text of another patent.
GENERATE = """
COPY (
    WITH picked AS (
        SELECT i, hash(i, k) % 70000 AS c FROM range({n}) t(i), range(4) u(k) WHERE k < 2 + i % 3
    ), codes AS (
        SELECT i, chr(65 + (c % 8)::INTEGER) || lpad((1 + c // 8 % 30)::VARCHAR, 2, '0') || 'B '
               || (1 + c // 240 % 60) || '/' || lpad((c // 14400)::VARCHAR, 2, '0') AS code
        FROM picked
    ), lists AS (SELECT i, list(code) AS ipc FROM codes GROUP BY i)
    SELECT 'US' || (7000000 + i) || 'B2' AS publication_number, 'Invention number ' || i AS title,
           repeat('lorem ipsum dolor ' || (hash(i - i % 5 // 4) % 9999) || ' ', 40)
               || (i - i % 5 // 4) AS abstract,
           ipc, 2000 + i % 20 AS year,
           (DATE '2000-01-01' + (i % 7000)::INTEGER)::VARCHAR AS publication_date
    FROM lists ORDER BY i
) TO '{path}' {options}"""
CONVERT = (
    "COPY (SELECT * REPLACE (ipc::JSON::VARCHAR AS ipc) FROM '{parquet}') TO '{path}' {options}"
)
CHECK = """
SELECT count(*), count(DISTINCT publication_number), sum(hash(title))::VARCHAR,
       sum(length(abstract))::BIGINT, sum(year)::BIGINT, sum(len(codes))::BIGINT
FROM data.patents"""
EXPECTED = """
SELECT count(*), count(DISTINCT publication_number), sum(hash(title))::VARCHAR,
       sum(length(abstract))::BIGINT, sum(year)::BIGINT, sum(len(list_distinct(ipc)))::BIGINT
FROM '{path}'"""


def peak_megabytes() -> float:
    """The most memory this process had; getrusage would give that of its parent where larger."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def import_once(path: str, store_path: str, results: multiprocessing.Queue[Any]) -> None:
    """In a child process: seconds, peak memory, and the stored patents in a few numbers."""
    from patcache.steps.importing import import_files
    from patcache.store import StoreFolder

    store = StoreFolder(store_path)
    start = time.perf_counter()
    counts = import_files(store, [path]).counts
    elapsed_s, cpu_s = time.perf_counter() - start, time.process_time()
    peak_mb = peak_megabytes()
    start = time.perf_counter()
    again = import_files(store, [path]).counts
    again_s = time.perf_counter() - start
    with store.read() as cursor:
        stored = cursor.execute(CHECK).fetchall()[0]
    results.put((elapsed_s, cpu_s, peak_mb, again_s, stored, (counts.n_added, again.n_unchanged)))


def run(file_format: str, n_patents: int, folder: Path) -> None:
    path = folder / f"{n_patents}.{file_format}"
    parquet = folder / f"{n_patents}.parquet"
    sql = GENERATE if file_format == "parquet" else CONVERT
    options = FORMATS[file_format]
    duckdb.execute(sql.format(n=n_patents, path=path, parquet=parquet, options=options))
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[Any] = context.Queue()
    arguments = (str(path), str(folder / f"{path.name}-store"), results)
    process = context.Process(target=import_once, args=arguments)
    process.start()
    elapsed_s, cpu_s, peak_mb, again_s, stored, counts = results.get()
    process.join()
    expected = duckdb.execute(EXPECTED.format(path=parquet)).fetchall()[0]
    report(
        f"import {file_format}",
        n_patents=n_patents,
        seed=SEED,
        file_mb=round(path.stat().st_size / 1e6),
        elapsed_s=round(elapsed_s, 2),
        cpu_s=round(cpu_s, 2),
        rows_per_s=round(n_patents / elapsed_s),
        peak_mb=round(peak_mb),
        again_s=round(again_s, 3),
        is_equal=stored == expected and counts == (n_patents, n_patents),
    )


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """One JSON line for each format and size."""
    duckdb.execute("SET enable_progress_bar = false")
    with tempfile.TemporaryDirectory() as folder:
        for n_patents in sizes:
            for file_format in FORMATS:
                run(file_format, n_patents, Path(folder))


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
