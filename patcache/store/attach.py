"""One in-memory DuckDB instance per process, and who of its threads has which file attached.

Readers of a file share one attachment, counted; a writer has it alone. The last to leave
detaches, so that between two units of work no process holds the file.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import duckdb

Mode = Literal["read", "write", "sole"]  # sole: nobody else of this process, nothing attached


@dataclass(slots=True)
class _File:
    """The state of one file in this process; guarded by `changed`."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    readers: int = 0
    has_writer: bool = False
    writers_waiting: int = 0
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached for one unit of work; release it once."""

    file: _File
    mode: Mode
    alias: str

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose default database is the file."""
        cursor = _instance().cursor()
        try:
            cursor.execute(f"USE {self.alias}")
            yield cursor
        finally:
            cursor.close()

    def release(self) -> None:
        with self.file.changed:
            if self.mode == "read":
                self.file.readers -= 1
            if self.mode != "read" or self.file.readers == 0:
                if self.alias:
                    _instance().execute(f"DETACH {self.alias}")
                self.file.has_writer = False
                self.file.alias = ""
            self.file.changed.notify_all()


_files: dict[Path, _File] = {}
_guard = threading.Lock()
_numbers = itertools.count(1)
_connection: duckdb.DuckDBPyConnection | None = None
_owner_pid = 0


def acquire(path: Path, mode: Mode, deadline: float) -> Attachment:
    """The file attached as asked.

    Errors: TimeoutError when threads of this process kept it until the deadline; duckdb.Error
    when it cannot be attached (held by another process, damaged).
    """
    file = _file_of(path)
    with file.changed:
        _wait_for_turn(file, mode, deadline)
        if mode == "read" and file.readers > 0:
            file.readers += 1
            return Attachment(file, mode, file.alias)
        alias = "" if mode == "sole" else _attach(path, mode)
        file.alias = alias
        if mode == "read":
            file.readers = 1
        else:
            file.has_writer = True
        return Attachment(file, mode, alias)


def _wait_for_turn(file: _File, mode: Mode, deadline: float) -> None:
    """Waits until the file is free for this mode; waiting writers go before new readers."""

    def is_free() -> bool:
        if mode == "read":
            return not file.has_writer and file.writers_waiting == 0
        return not file.has_writer and file.readers == 0

    if mode != "read":
        file.writers_waiting += 1
    try:
        if not file.changed.wait_for(is_free, timeout=max(0.0, deadline - time.monotonic())):
            raise TimeoutError
    finally:
        if mode != "read":
            file.writers_waiting -= 1
            file.changed.notify_all()


def _attach(path: Path, mode: Mode) -> str:
    alias = f"store_{next(_numbers)}"
    quoted = str(path).replace("'", "''")
    options = " (READ_ONLY)" if mode == "read" else ""
    _instance().execute(f"ATTACH '{quoted}' AS {alias}{options}")
    return alias


def _file_of(path: Path) -> _File:
    with _guard:
        return _files.setdefault(path.resolve(), _File())


def _instance() -> duckdb.DuckDBPyConnection:
    """A cursor factory of this process; a forked child gets an instance of its own."""
    global _connection, _owner_pid
    with _guard:
        if _connection is None or _owner_pid != os.getpid():
            import duckdb

            _connection = duckdb.connect(":memory:")
            _owner_pid = os.getpid()
        return _connection.cursor()
