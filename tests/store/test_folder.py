"""The store's file: who may open it, when, and what is refused by name."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest

from patcache.errors import NotThere, StoreBusy, StoreRefused, WriteFailed
from patcache.store import StoreFolder, attach
from patcache.store.migrate import migrations

COUNT = "SELECT count(*) FROM data.requests"
INSERT = "INSERT INTO data.requests VALUES (?, 'spec')"


def count(store: StoreFolder) -> int:
    with store.read() as cursor:
        row = cursor.execute(COUNT).fetchone()
    assert row is not None
    return int(row[0])


def test_first_use_makes_the_folder_and_a_second_finds_it(tmp_path: Path) -> None:
    made = StoreFolder(tmp_path / "a" / "b")
    with made.write() as cursor:
        cursor.execute(INSERT, ["one"])
    assert count(StoreFolder(tmp_path / "a" / "b")) == 1


def test_nothing_is_made_where_a_store_must_exist(tmp_path: Path) -> None:
    with pytest.raises(NotThere, match="no store at"):
        StoreFolder(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_a_failed_unit_of_work_leaves_nothing_behind(store: StoreFolder) -> None:
    with pytest.raises(ZeroDivisionError), store.write() as cursor:
        cursor.execute(INSERT, ["half"])
        raise ZeroDivisionError
    assert count(store) == 0


def test_a_file_of_another_kind_is_named_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "patcache.duckdb"
    file.write_bytes(b"my holiday pictures" * 1000)
    with pytest.raises(StoreRefused, match=r"patcache\.duckdb is damaged or not a DuckDB file"):
        StoreFolder(tmp_path)
    assert file.read_bytes() == b"my holiday pictures" * 1000


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "patcache.duckdb") as connection:
        connection.execute("CREATE TABLE holidays (day DATE)")
    with pytest.raises(StoreRefused, match="not a patcache store"):
        StoreFolder(tmp_path)
    with duckdb.connect(tmp_path / "patcache.duckdb") as connection:
        assert connection.execute("FROM holidays").fetchall() == []


def test_a_file_cut_in_half_is_refused(store: StoreFolder) -> None:
    whole = store.database_path.read_bytes()
    store.database_path.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(StoreRefused, match="patcache.duckdb"):
        StoreFolder(store.path)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreRefused, match="this is a file"):
        StoreFolder(tmp_path / "file")


def test_a_newer_store_is_refused(store: StoreFolder) -> None:
    with store.write() as cursor:
        cursor.execute("INSERT INTO schema_migrations VALUES (9999, '9999_x.sql', 'ab', now())")
    with pytest.raises(StoreRefused, match="newer patcache"):
        StoreFolder(store.path)


def test_a_store_of_other_migrations_is_refused(store: StoreFolder) -> None:
    with store.write() as cursor:
        cursor.execute("UPDATE schema_migrations SET sha256 = 'ab' WHERE version = 1")
    with pytest.raises(StoreRefused, match="another migration 0001_create_tables.sql"):
        StoreFolder(store.path)


def test_an_older_store_is_migrated_with_its_rows_after_a_copy(tmp_path: Path) -> None:
    database = tmp_path / "patcache.duckdb"
    first = migrations()[0]
    with duckdb.connect(database) as connection:
        connection.execute(
            "CREATE TABLE schema_migrations "
            "(version INTEGER, name VARCHAR, sha256 VARCHAR, applied_at TIMESTAMPTZ)"
        )
        connection.execute(first.sql)
        connection.execute(
            "INSERT INTO schema_migrations VALUES (?, ?, ?, now())",
            [first.version, first.name, first.sha256],
        )
        connection.execute(INSERT, ["old"])
    store = StoreFolder(tmp_path)
    assert count(store) == 1
    with store.read() as cursor:
        assert cursor.execute("SELECT count(*) FROM patents").fetchone() == (0,)
    assert (tmp_path / "patcache.duckdb.before").exists()


KILLED_BEFORE_CHECKPOINT = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("CREATE TABLE schema_migrations"
    " (version INTEGER, name VARCHAR, sha256 VARCHAR, applied_at TIMESTAMPTZ)")
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_the_copy_holds_what_a_killed_process_left_in_its_log(tmp_path: Path) -> None:
    path = tmp_path / "patcache.duckdb"
    subprocess.run([sys.executable, "-c", KILLED_BEFORE_CHECKPOINT, str(path)], check=False)
    assert path.with_name("patcache.duckdb.wal").exists()
    StoreFolder(tmp_path)
    with duckdb.connect(path.with_suffix(".duckdb.before"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM schema_migrations").fetchall() == [(0,)]


def test_a_store_deleted_while_open_says_so(store: StoreFolder) -> None:
    store.database_path.unlink()
    with pytest.raises(NotThere, match="is gone"):
        count(store)


def test_four_threads_of_200_units_each_lose_nothing(store: StoreFolder) -> None:
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for unit in range(100):
                with store.write() as cursor:
                    cursor.execute(INSERT, [f"{thread}-{unit}"])
                count(store)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert count(store) == 400


WRITER = """
import sys
from patcache.store import StoreFolder
store = StoreFolder(sys.argv[1], create=False, wait_s=60)
for unit in range(60):
    with store.write() as cursor:
        cursor.execute("INSERT INTO data.requests VALUES (?, 'spec')", [f"{sys.argv[2]}-{unit}"])
    with store.read() as cursor:
        cursor.execute("SELECT count(*) FROM rci").fetchall()
"""


def test_two_processes_read_and_write_at_once(store: StoreFolder) -> None:
    patient = StoreFolder(store.path, wait_s=60)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(store.path), name]) for name in "ab"
    ]
    seen = []
    while any(writer.poll() is None for writer in writers):
        seen.append(count(patient))
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen == sorted(seen)  # what was committed stays
    assert count(patient) == 120


HOLDER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_a_store_held_by_another_process_names_it(store: StoreFolder) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.database_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdout.readline()
    impatient = StoreFolder.__new__(StoreFolder)
    impatient.path, impatient.wait_s = store.path, 0.2
    start = time.monotonic()
    with pytest.raises(StoreBusy, match=f"process {holder.pid}") as caught:
        count(impatient)
    assert time.monotonic() - start >= 0.2
    assert caught.value.exit_code == 4
    holder.stdin.close()
    holder.wait()
    assert count(store) == 0


def test_a_thread_waits_for_another_and_then_gives_up(store: StoreFolder) -> None:
    impatient = StoreFolder(store.path, wait_s=0.1)
    with (
        store.write(),
        pytest.raises(StoreBusy, match="another thread of this process"),
        impatient.read(),
    ):
        pass
    assert count(store) == 0


KILLED = """
import os, sys
from patcache.store import StoreFolder
store = StoreFolder(sys.argv[1], create=False)
with store.write() as cursor:
    cursor.execute("INSERT INTO data.requests VALUES ('committed', 'spec')")
with store.write() as cursor:
    cursor.execute("INSERT INTO data.requests SELECT i, 'spec' FROM range(50000) t(i)")
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_kill_9_inside_a_transaction_keeps_what_was_committed(store: StoreFolder) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(store.path)], check=False)
    assert done.returncode == -9
    assert count(StoreFolder(store.path)) == 1


def test_a_full_disk_is_named_and_the_store_goes_on_once_there_is_room(small_disk: Path) -> None:
    store = StoreFolder(small_disk / "store")
    filling = (small_disk / "filling").open("wb", buffering=0)
    with pytest.raises(OSError, match="No space"):
        while True:
            filling.write(bytes(4096))
    with pytest.raises(WriteFailed) as caught, store.write() as cursor:
        cursor.execute(
            "INSERT INTO data.requests SELECT uuid()::VARCHAR, uuid()::VARCHAR FROM range(10000)"
        )
    assert caught.value.what == f"the disk is full: {store.database_path}"
    assert caught.value.todo.startswith("make room")
    filling.truncate(0)
    filling.close()
    with store.read() as cursor:
        assert cursor.execute("SELECT count(*) FROM data.requests").fetchone() == (0,)
    with store.write() as cursor:
        cursor.execute("INSERT INTO data.requests VALUES ('key', 'spec')")
    with StoreFolder(store.path).read() as cursor:
        assert cursor.execute("SELECT count(*) FROM data.requests").fetchone() == (1,)


@pytest.mark.parametrize("way", ["read", "write", "sandbox"])
def test_ctrl_c_in_a_statement_is_ctrl_c_and_leaves_the_store_free(
    tmp_path: Path, way: str
) -> None:
    store = StoreFolder(tmp_path / "store")
    with pytest.raises(KeyboardInterrupt), getattr(store, way)() as cursor:
        if way == "write":
            cursor.execute(INSERT, ["half"])
        raise RuntimeError("Query interrupted")  # what DuckDB makes of Ctrl-C
    assert count(store) == 0
    with store.write() as cursor:
        cursor.execute(INSERT, ["whole"])
    assert count(store) == 1
    with pytest.raises(RuntimeError, match="another error"), store.read():
        raise RuntimeError("another error")


def test_ctrl_c_while_the_file_is_let_go_does_not_keep_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StoreFolder(tmp_path / "store")

    class Pressed:
        """A connection in which Ctrl-C ends the first statement."""

        def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
            self.connection, self.is_pressed = connection, False

        def cursor(self) -> duckdb.DuckDBPyConnection:
            return self.connection.cursor()

        def execute(self, statement: str) -> None:
            if statement.startswith("DETACH") and not self.is_pressed:
                self.is_pressed = True
                raise RuntimeError("Query interrupted")
            self.connection.execute(statement)

    instance = attach._instance
    with monkeypatch.context() as patched:
        patched.setattr(attach, "_instance", lambda: Pressed(instance()))
        with pytest.raises(KeyboardInterrupt):
            count(store)
    with store.write() as cursor:  # no other process or thread is said to have it
        cursor.execute(INSERT, ["whole"])
    assert count(store) == 1
