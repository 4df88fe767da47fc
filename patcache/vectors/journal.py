"""The journal of one spec's vectors: a line for each finished block, and nothing else exists.

A line carries its own checksum. A last line without its end was being written when the process
died: it does not count, and the next writer cuts it off.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patcache.errors import VectorsDamaged
from patcache.hashing import canonical_json
from patcache.vectors.disk import explained, readable, sync_folder, write_all

JOURNAL_NAME = "blocks.jsonl"
CRC_SIGN = b',"crc":"'  # in canonical JSON; no key before it in order can hold this
CRC_DIGITS = 8


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


@dataclass(frozen=True, slots=True)
class Journal:
    """Every line of a journal that can be believed, in order, and why the others cannot."""

    blocks: list[Block]
    faults: list[tuple[int, str]]  # (number of the line, what is wrong with it)


def scan_journal(folder: Path) -> Journal:
    """What the journal says; a last line without its end was never finished and is left out."""
    path = folder / JOURNAL_NAME
    try:
        with readable(path):
            whole = path.read_bytes()
    except FileNotFoundError:
        return Journal([], [])
    blocks: list[Block] = []
    faults: list[tuple[int, str]] = []
    stop = 0
    for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
        block = _parse(line)
        if block is None:
            faults.append((number, "its checksum is wrong"))
            continue
        if block.start != stop:
            faults.append((number, "it does not follow the line above"))
        if block.start >= stop:
            blocks.append(block)
            stop = block.stop
    return Journal(blocks, faults)


def read_journal(folder: Path) -> list[Block]:
    """The finished blocks, in order. Errors: VectorsDamaged, naming the line."""
    journal = scan_journal(folder)
    if journal.faults:
        number, why = journal.faults[0]
        raise VectorsDamaged(
            f"{folder / JOURNAL_NAME} is damaged in line {number}",
            why,
            f"run `patcache verify --repair`, which keeps the other blocks, or delete {folder} "
            "and embed again",
        )
    return journal.blocks


def cut_torn_line(folder: Path) -> None:
    """Ends the journal after its last finished line. Errors: WriteFailed."""
    path = folder / JOURNAL_NAME
    if not path.exists():
        return
    whole = path.read_bytes()
    finished = whole.rfind(b"\n") + 1
    if finished < len(whole):
        with explained(path):
            os.truncate(path, finished)


def append_block(folder: Path, block: Block) -> None:
    """Makes a block exist: its line, on disk when this returns.

    Errors: WriteFailed; what was written of the line is then taken back, or cut by the next writer.
    """
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
    line = canonical_json({**record, "crc": _crc(canonical_json(record).encode("utf-8"))}) + "\n"
    raw = line.encode("utf-8")
    path = folder / JOURNAL_NAME
    with explained(path, len(raw)), path.open("ab", buffering=0) as stream:
        finished = stream.tell()
        try:
            write_all(stream.fileno(), raw)
            os.fsync(stream.fileno())
        except OSError:
            with suppress(OSError):
                os.ftruncate(stream.fileno(), finished)
            raise
        if finished == 0:
            sync_folder(folder)  # the file is new


def _crc(*parts: bytes) -> str:
    """Checksum of a record: of its canonical JSON, without the checksum itself."""
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return f"{crc:08x}"


def _parse(line: bytes) -> Block | None:
    """The block of a line; None where the line is not what was written."""
    before, _, after = line.partition(CRC_SIGN)
    crc, after = after[:CRC_DIGITS], after[CRC_DIGITS + 1 :]
    if crc != _crc(before, after).encode():
        return None
    try:
        record = json.loads(line)
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
