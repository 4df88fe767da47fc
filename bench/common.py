"""What every benchmark prints: one JSON line a case, with machine, median and spread."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def machine() -> dict[str, Any]:
    """Where a figure was measured."""
    return {
        "system": platform.platform(terse=True),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def interleaved(repeats: int, **ways: Callable[[], object]) -> dict[str, list[float]]:
    """Seconds of each way, measured in turn so that a busy moment hits them all alike."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - start)
    return times


def spread(times: list[float]) -> dict[str, float]:
    """Median, smallest and largest."""
    return {
        "median_s": round(statistics.median(times), 6),
        "min_s": round(min(times), 6),
        "max_s": round(max(times), 6),
    }


def report(case: str, **facts: Any) -> None:
    """Prints one case."""
    print(json.dumps({"case": case, **facts, "machine": machine()}))


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:  # noqa: PTH123
            names = [line.split(":", 1)[1].strip() for line in stream if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.processor()
