"""Real patcache processes whose model goes on when it is told to."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from patcache.store import StoreFolder

ROOT = Path(__file__).parents[2]
MODEL = """
import os, sys
from pathlib import Path

class Letters:
    '''Counts letters; before a block it waits for a byte, or the end, of standard input.'''
    def encode(self, texts):
        if len(texts) > 1:
            if "PACED" in os.environ:
                sys.stdin.buffer.read(1)
            with Path(os.environ["LOG"]).open("a") as log:
                log.write("".join(f"{text}\\n" for text in texts))
        return [[1.0 + text.count(letter) for letter in "abcdefgh"] for text in texts]

class Others(Letters):
    pass
"""
BLOCK = 256


class Process:
    """`patcache ARGUMENTS` beside this one."""

    def __init__(
        self, store: StoreFolder, arguments: Sequence[str], *, is_paced: bool = False
    ) -> None:
        folder = store.path.parent
        (folder / "model.py").write_text(MODEL)
        self.log = folder / "log"
        environment = {**os.environ, "LOG": str(self.log), "PYTHONPATH": str(ROOT)}
        if is_paced:
            environment["PACED"] = "yes"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "patcache", *arguments, "--store", str(store.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
        )

    def go_on(self, n_blocks: int = 1) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"." * n_blocks)
        self.process.stdin.flush()

    def end(self) -> tuple[int, str]:
        """Exit code and what it said, once it has ended by itself."""
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said.decode()

    @property
    def encoded(self) -> list[str]:
        """The texts that the models were given, by all processes."""
        return self.log.read_text().splitlines()


def embed(
    store: StoreFolder, *more: str, model: str = "Letters", is_paced: bool = False
) -> Process:
    arguments = ["embed", f"python:model.py:{model}", "--label", model, "--all", *more]
    return Process(store, arguments, is_paced=is_paced)


def wait_until(is_so: Callable[[], Any]) -> None:
    """Waits for another process, at most a minute."""
    pause = threading.Event()
    for _ in range(3000):
        if is_so():
            return
        pause.wait(0.02)
    raise AssertionError("it did not happen")
