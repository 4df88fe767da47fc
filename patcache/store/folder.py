"""A store on disk: one folder, one DuckDB file that nobody holds.

DuckDB lets one process write a file or several read it. So every unit of work attaches the file,
does its work, fetches everything and detaches again (about a millisecond), and tries again for a
while when another process is in between.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from patcache.errors import NotThere, StoreBusy, StoreRefused, WriteFailed
from patcache.store import attach
from patcache.store.migrate import check_version, migrate

if TYPE_CHECKING:
    import duckdb

DATABASE_NAME = "patcache.duckdb"
DEFAULT_WAIT_S = 10.0
WRITER_PAUSE_S = (0.005, 0.025)  # writers ask more often than readers, so that they win
READER_PAUSE_S = (0.020, 0.040)
LOCKED = "Could not set lock"
NOT_A_DATABASE = re.compile(r"not a valid DuckDB|corrupt|checksum|deserializ", re.IGNORECASE)
UNWRITABLE = re.compile(
    r"Could not (write|sync|truncate)|No space left|quota exceeded", re.IGNORECASE
)
DISK_FULL = re.compile(r"No space left|quota exceeded|File too large", re.IGNORECASE)
HOLDER = re.compile(r"held in (?P<program>.*?) \(PID (?P<pid>\d+)\)")


class StoreFolder:
    """One study on disk: the database, the vectors and the jobs of one folder.

    path: created on first use unless `create` is false. wait_s: how long a unit of work waits
    for another process; busy_wait_s: how long a job waits for another that writes the vectors it
    would write. files_only: the database is not looked at, for what reads the other files.
    Errors: NotThere, StoreRefused (foreign, damaged, newer), StoreBusy.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        create: bool = True,
        wait_s: float = DEFAULT_WAIT_S,
        busy_wait_s: float = 0.0,
        files_only: bool = False,
    ) -> None:
        self.path = Path(path).expanduser().absolute()
        self.wait_s = wait_s
        self.busy_wait_s = busy_wait_s
        if self.path.exists() and not self.path.is_dir():
            raise StoreRefused(
                f"{self.path} is not a store",
                "a store is a folder; this is a file",
                "give a folder: --store DIR",
            )
        if not self.database_path.exists():
            self._create(create)
        elif not files_only and self._needs_migration():
            migrate(self)

    @property
    def database_path(self) -> Path:
        return self.path / DATABASE_NAME

    @property
    def vectors_path(self) -> Path:
        return self.path / "vectors"

    @property
    def indexes_path(self) -> Path:
        return self.path / "indexes"

    @property
    def cache_path(self) -> Path:
        """Rebuildable things: token ids, word vectors read from text."""
        return self.path / "cache"

    @property
    def jobs_path(self) -> Path:
        return self.path / "jobs"

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor on the store, read-only: fetch everything before leaving the block."""
        with self._attached("read") as cursor:
            yield cursor

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor inside one transaction: committed on leaving, rolled back on an error.

        Errors: WriteFailed, and then nothing of it is stored.
        """
        with self._writes_explained(), self._attached("write") as cursor:
            cursor.execute("BEGIN TRANSACTION")
            try:
                yield cursor
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
            cursor.execute("COMMIT")

    @contextmanager
    def sandbox(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for SQL that users write: reads this store, no other file, no settings."""
        with self._attached("sandbox") as connection:
            yield connection

    @contextmanager
    def _writes_explained(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            message = str(error).splitlines()[0]
            if not UNWRITABLE.search(message):
                raise
            is_full = DISK_FULL.search(message) is not None
            raise WriteFailed(
                f"{'the disk is full' if is_full else 'cannot write'}: {self.database_path}",
                message,
                f"{'make room' if is_full else 'check the disk'} and run the same command again; "
                "what was finished is kept",
            ) from error

    @contextmanager
    def _attached(self, mode: attach.Mode) -> Iterator[duckdb.DuckDBPyConnection]:
        import duckdb

        deadline = time.monotonic() + self.wait_s
        low, high = WRITER_PAUSE_S if mode == "write" else READER_PAUSE_S
        while True:
            try:
                with attach.ctrl_c_as_itself():
                    attachment = attach.acquire(self.database_path, mode, deadline)
                break
            except duckdb.Error as error:
                self._explain(error, deadline)
            except TimeoutError as error:
                raise self._busy("another thread of this process") from error
            time.sleep(random.uniform(low, high))
        with attach.ctrl_c_as_itself():
            try:
                with attachment.cursor() as cursor:
                    yield cursor
            finally:
                attachment.release()

    def _explain(self, error: duckdb.Error, deadline: float) -> None:
        """Returns where another try is worth it; raises what the user can understand otherwise."""
        message = str(error)
        if LOCKED in message:
            if time.monotonic() < deadline:
                return
            holder = HOLDER.search(message)
            who = (
                f"process {holder['pid']} ({Path(holder['program']).name})"
                if holder
                else "another process"
            )
            raise self._busy(who) from error
        if not self.database_path.exists():
            raise NotThere(
                f"{self.database_path} is gone", "it was there when the store was opened"
            ) from error
        if NOT_A_DATABASE.search(message):
            raise StoreRefused(
                f"{self.database_path} is damaged or not a DuckDB file",
                message.splitlines()[0],
                "nothing was changed; restore a copy, or choose another --store",
            ) from error
        raise StoreRefused(f"cannot open {self.database_path}", message.splitlines()[0]) from error

    def _busy(self, who: str) -> StoreBusy:
        return StoreBusy(
            f"{self.path} is busy",
            f"{who} is using it, and still was after {self.wait_s:g} s",
            "try again, or wait longer: --wait SECONDS",
        )

    def _create(self, create: bool) -> None:
        if not create:
            raise NotThere(
                f"no store at {self.path}",
                f"there is no {DATABASE_NAME} in it",
                "make one with `patcache import FILE --store DIR`, or name another: --store DIR",
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreRefused(f"cannot make a store at {self.path}", str(error)) from error
        migrate(self)

    def _needs_migration(self) -> bool:
        with self.read() as cursor:
            return check_version(cursor, self.database_path)
