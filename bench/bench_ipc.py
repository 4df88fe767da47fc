"""The column path of the IPC parser: a million codes, few or nearly all of them distinct.

python -m bench.bench_ipc [NUMBER OF CODES]
"""

from __future__ import annotations

import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable

from patcache.ipc import IpcInvalid, parse, read_all

SEED = 1
REPEATS = 3
DISTINCT_CODES = 70_000  # the IPC has about 75,000
CHECKED = 50_000


def random_code(rng: random.Random) -> str:
    subclass = f"{rng.choice('ABCDEFGH')}{rng.randint(1, 99):02d}{rng.choice('BCDFGHJKLMN')}"
    return f"{subclass} {rng.randint(1, 120)}/{rng.randint(0, 99):02d}"


def spelled_with_dates(code: str, rng: random.Random) -> str:
    """The ST.8 string, whose dates make nearly every spelling of a code a new text."""
    version = f"20{rng.randint(6, 24):02d}0101"
    action = f"20{rng.randint(6, 24):02d}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}"
    return f"{code} {version}A{rng.choice('FL')}I{action}BHUS"


def is_as_parsed(raws: list[str]) -> bool:
    """Whether the column path gives what the plain one gives, for the first codes."""
    for raw, reading in zip(raws[:CHECKED], read_all(raws)[:CHECKED], strict=True):
        try:
            if parse(raw) != reading.code:
                return False
        except IpcInvalid as error:
            if error.reason != reading.reason:
                return False
    return True


def run(case: str, raws: list[str]) -> None:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        read_all(raws)
        times.append(time.perf_counter() - start)
    line = {
        "bench": "ipc",
        "case": case,
        "n_codes": len(raws),
        "n_distinct": len(set(raws)),
        "seed": SEED,
        "machine": platform.machine(),
        "median_s": round(statistics.median(times), 3),
        "spread_s": round(max(times) - min(times), 3),
        "is_equal": is_as_parsed(raws),
    }
    print(json.dumps(line))


def main(n_codes: int = 1_000_000) -> None:
    """One JSON line a case: seconds for the column, and whether it equals the plain parser."""
    rng = random.Random(SEED)
    known = [random_code(rng) for _ in range(DISTINCT_CODES)]
    cases: dict[str, Callable[[], str]] = {
        "70,000 distinct": lambda: rng.choice(known),
        "dated spellings of 70,000": lambda: spelled_with_dates(rng.choice(known), rng),
        "nearly all codes distinct": lambda: random_code(rng),
        "nothing but faults": lambda: f"A61F {rng.randint(0, 10**9):09d}BAD",
    }
    for case, draw in cases.items():
        run(case, [draw() for _ in range(n_codes)])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
