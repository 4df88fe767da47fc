"""An embedding process that dies where it is told to, as by kill -9."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from patcache.records import ModelRequest
from patcache.steps import embedding, encoding, needed, recording
from patcache.store import StoreFolder
from patcache.vectors import disk, journal, npyfile, rows
from tests.steps.study_by_hand import LetterEmbedder

BLOCK = 8
POINTS = (
    "inside spec.json",
    "inside an array",
    "after the vectors",
    "after the keys",
    "inside a line",
    "after a line",
    "inside a transaction",
)
ONCE = ("inside spec.json", "inside a transaction")  # a run comes to them once
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["patcache.steps.embedding", "tests.steps.study_by_hand", "duckdb", "filelock"]
)


def start(store: Path, log: Path, *, sparse: bool, point: str = "", nth: int = 1) -> BaseProcess:
    """A process that embeds every text of a store and dies at the nth time it comes to a point."""
    process = CONTEXT.Process(target=run, args=(store, log, sparse, point, nth))
    process.start()
    return process


def run(store: Path, log: Path, sparse: bool, point: str, nth: int) -> None:
    encoding.BLOCK_TEXTS = BLOCK
    needed.WINDOW_TEXTS = 4 * BLOCK
    if point:
        INJECT[point](Death(nth))
    embedder = LetterEmbedder(log=log, sparse=sparse)
    embedding.embed(
        StoreFolder(store, create=False),
        ModelRequest("letters"),
        embedder=embedder,
        all_texts=True,
    )


class Death:
    """Ends the process the nth time it is met."""

    def __init__(self, nth: int) -> None:
        self._left = nth

    def is_near(self) -> bool:
        self._left -= 1
        return self._left == 0

    def come(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def _half_written(module: Any, death: Death, least: int = 0) -> None:
    write_all = module.write_all

    def written(descriptor: int, raw: Any) -> None:
        if len(raw) > least and death.is_near():
            write_all(descriptor, memoryview(raw)[: len(raw) // 2])
            death.come()
        write_all(descriptor, raw)

    module.write_all = written


def _after_file(is_it: Callable[[str], bool]) -> Callable[[Death], None]:
    def inject(death: Death) -> None:
        write = npyfile.NpyFile.write

        def written(self: npyfile.NpyFile, items: Any, at: int) -> str:
            digest = write(self, items, at)
            if is_it(self.path.name) and death.is_near():
                death.come()
            return digest

        npyfile.NpyFile.write = written  # type: ignore[method-assign]

    return inject


def _after(module: Any, name: str) -> Callable[[Death], None]:
    def inject(death: Death) -> None:
        function = getattr(module, name)

        def done(*args: Any) -> Any:
            result = function(*args)
            if death.is_near():
                death.come()
            return result

        setattr(module, name, done)

    return inject


INJECT: dict[str, Callable[[Death], None]] = {
    "inside spec.json": lambda death: _half_written(disk, death),
    "inside an array": lambda death: _half_written(npyfile, death, least=128),
    "after the vectors": _after_file(lambda name: name in ("vectors.npy", "data.npy")),
    "after the keys": _after_file(lambda name: name == "keys.npy"),
    "inside a line": lambda death: _half_written(journal, death),
    "after a line": _after(rows, "append_block"),
    "inside a transaction": _after(recording, "add_encodings"),
}
