"""Arrays with a name for each row, converted once from files that cannot be memory-mapped.

A converted file is a folder of the cache that never changes: values.f32, names.txt, facts.json.
It is written aside and renamed; it can be deleted and comes back.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import FloatArray

FORMAT = "1"
DIGEST_DIGITS = 32
BLOCK_ROWS = 8192

NamedBlocks = Iterable[tuple[list[str], "FloatArray"]]


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Rows with a name each. Shapes: names (n,), values (n, dim) of floats, perhaps on disk."""

    names: list[str]
    values: NDArray[Any]


def convert(blocks: NamedBlocks, digest: str, cache: Path | None) -> NamedRows:
    """The rows of blocks, from the cache if they were converted before; the blocks are read once.

    digest: of the file that the blocks come from. Without a cache the rows lie in memory.
    """
    with ExitStack() as stack:
        if cache is None:
            root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            root = cache / "converted"
            root.mkdir(parents=True, exist_ok=True)
        target = root / f"{FORMAT}-{digest[:DIGEST_DIGITS]}"
        if not target.is_dir():
            _write_aside(blocks, target)
        rows = _open(target)
        return rows if cache is not None else NamedRows(rows.names, np.array(rows.values))


def _write_aside(blocks: NamedBlocks, target: Path) -> None:
    aside = Path(tempfile.mkdtemp(prefix=".writing-", dir=target.parent))
    try:
        _write(blocks, aside)
        aside.rename(target)
    except OSError:
        if not target.is_dir():  # else another process wrote the same first
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write(blocks: NamedBlocks, folder: Path) -> None:
    n_rows, dim = 0, 0
    with (folder / "values.f32").open("wb") as values, (folder / "names.txt").open("wb") as names:
        for block_names, block in blocks:
            values.write(np.ascontiguousarray(block, dtype="<f4").tobytes())
            names.write("".join(f"{name}\n" for name in block_names).encode())
            n_rows, dim = n_rows + len(block), block.shape[1]
    (folder / "facts.json").write_text(json.dumps({"n": n_rows, "dim": dim}), encoding="utf-8")


def _open(folder: Path) -> NamedRows:
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    names = (folder / "names.txt").read_bytes().decode().split("\n")[:-1]
    shape = (facts["n"], facts["dim"])
    if not facts["n"]:
        return NamedRows([], np.empty(shape, dtype=np.float32))
    return NamedRows(names, np.memmap(folder / "values.f32", dtype="<f4", mode="r", shape=shape))


def in_blocks(rows: Iterable[tuple[str, FloatArray]]) -> Iterator[tuple[list[str], FloatArray]]:
    """Rows one by one as blocks of some thousand."""
    names: list[str] = []
    values: list[FloatArray] = []
    for name, value in rows:
        names.append(name)
        values.append(value)
        if len(names) == BLOCK_ROWS:
            yield names, np.stack(values)
            names, values = [], []
    if names:
        yield names, np.stack(values)
