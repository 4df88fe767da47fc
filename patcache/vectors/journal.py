"""The journal of one spec's vectors: a line for each finished block, and nothing else exists.

A line carries its own checksum. A last line without its end was being written when the process
died: it does not count, and the next writer cuts it off.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patcache.errors import VectorsDamaged
from patcache.hashing import canonical_json

JOURNAL_NAME = "blocks.jsonl"


@dataclass(frozen=True, slots=True)
class Run:
    """How the rows of a block came about: provenance, never identity."""

    started_at: str  # ISO 8601, UTC
    elapsed_s: float
    device: str
    n_truncated: int = 0
    provenance: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Rows start..stop (excluded), and the state of each file after them.

    lengths: items of each file once the block is written; checksums: sha256 of its own bytes.
    """

    start: int
    stop: int
    lengths: Mapping[str, int]
    checksums: Mapping[str, str]
    run: Run


def read_journal(folder: Path) -> list[Block]:
    """The finished blocks, in order. Errors: VectorsDamaged, naming the line."""
    path = folder / JOURNAL_NAME
    try:
        whole = path.read_bytes()
    except FileNotFoundError:
        return []
    lines = whole.split(b"\n")[:-1]  # what follows the last line end was never finished
    blocks: list[Block] = []
    for number, line in enumerate(lines, start=1):
        block = _parse(line)
        if block is None or block.start != (blocks[-1].stop if blocks else 0):
            raise VectorsDamaged(
                f"{path} is damaged in line {number}",
                "its checksum is wrong" if block is None else "it does not follow the line above",
                f"the vectors cannot be told apart without it; delete {folder} and embed again",
            )
        blocks.append(block)
    return blocks


def cut_torn_line(folder: Path) -> None:
    """Ends the journal after its last finished line."""
    path = folder / JOURNAL_NAME
    if not path.exists():
        return
    whole = path.read_bytes()
    finished = whole.rfind(b"\n") + 1
    if finished < len(whole):
        os.truncate(path, finished)


def append_block(folder: Path, block: Block) -> None:
    """Makes a block exist: its line, on disk when this returns."""
    record = {
        "start": block.start,
        "stop": block.stop,
        "lengths": dict(block.lengths),
        "checksums": dict(block.checksums),
        "started_at": block.run.started_at,
        "elapsed_s": block.run.elapsed_s,
        "device": block.run.device,
        "n_truncated": block.run.n_truncated,
        "provenance": dict(block.run.provenance or {}),
    }
    line = canonical_json({**record, "crc": _crc(record)}) + "\n"
    with (folder / JOURNAL_NAME).open("ab", buffering=0) as stream:
        stream.write(line.encode("utf-8"))
        os.fsync(stream.fileno())


def _crc(record: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(canonical_json(record).encode('utf-8')):08x}"


def _parse(line: bytes) -> Block | None:
    """The block of a line; None where the line is not what was written."""
    try:
        record = json.loads(line)
        crc = record.pop("crc")
        if crc != _crc(record):
            return None
        run = Run(
            record["started_at"],
            record["elapsed_s"],
            record["device"],
            record["n_truncated"],
            record["provenance"],
        )
        return Block(record["start"], record["stop"], record["lengths"], record["checksums"], run)
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
