"""One in-memory DuckDB instance per process, and who of its threads has which file attached.

Readers of a file share one attachment, counted; a writer has it alone, and so has a query of the
user's, which runs in a locked-down instance of its own. The last to leave detaches, so that
between two units of work no process holds the file.
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

Mode = Literal["read", "write", "sandbox"]  # sandbox: read-only, for SQL that users write

QUIET = "SET enable_progress_bar = false"  # DuckDB's own would draw over ours
INTERRUPTED = "Query interrupted"
LOCK_DOWN = (
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


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
    instance: duckdb.DuckDBPyConnection
    alias: str

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose default database is the file."""
        if self.mode == "sandbox":
            yield self.instance  # a second cursor could no longer be told its database
            return
        cursor = self.instance.cursor()
        try:
            for statement in (QUIET, f"USE {self.alias}"):
                cursor.execute(statement)
            yield cursor
        finally:
            cursor.close()

    def release(self) -> None:
        with self.file.changed:
            if self.mode == "read":
                self.file.readers -= 1
            if self.mode == "sandbox":
                self.instance.close()
            elif self.file.readers == 0:
                self._detach()
            if self.mode != "read":
                self.file.has_writer = False
            self.file.changed.notify_all()

    def _detach(self) -> None:
        try:
            self.instance.execute(f"DETACH {self.alias}")
        except RuntimeError:  # Ctrl-C: all the same, the file must not stay attached
            self.instance.execute(f"DETACH DATABASE IF EXISTS {self.alias}")
            raise


@contextmanager
def ctrl_c_as_itself() -> Iterator[None]:
    """Turns DuckDB's own error for a statement that Ctrl-C ended into KeyboardInterrupt."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


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
            return Attachment(file, mode, _instance(), file.alias)
        file.alias = f"store_{next(_numbers)}"
        instance = _sandbox(path, file.alias) if mode == "sandbox" else _instance()
        if mode != "sandbox":
            _attach(instance, path, file.alias, read_only=mode == "read")
        if mode == "read":
            file.readers = 1
        else:
            file.has_writer = True
        return Attachment(file, mode, instance, file.alias)


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


def _attach(
    instance: duckdb.DuckDBPyConnection, path: Path, alias: str, *, read_only: bool
) -> None:
    quoted = str(path).replace("'", "''")
    options = " (READ_ONLY)" if read_only else ""
    instance.execute(f"ATTACH '{quoted}' AS {alias}{options}")


def _sandbox(path: Path, alias: str) -> duckdb.DuckDBPyConnection:
    """An instance that reads this one file and nothing else, and cannot be told otherwise."""
    import duckdb

    instance = duckdb.connect(":memory:")
    try:
        _attach(instance, path, alias, read_only=True)
        for statement in (QUIET, f"USE {alias}", *LOCK_DOWN):
            instance.execute(statement)
    except duckdb.Error:
        instance.close()
        raise
    return instance


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
