"""What runs on a store is known to others, and never stands in the way of the work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from patcache.store import StoreFolder, jobs
from patcache.store.jobs import Job, is_alive, job_path, read_jobs, running_job


def one_job(store: StoreFolder) -> Job:
    (job,) = read_jobs(store)
    return job


def wait_until(is_so: Any) -> None:
    """Waits for another thread or process, at most half a minute."""
    pause = threading.Event()
    for _ in range(3000):
        if is_so():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen")


def test_a_job_is_known_while_it_runs_and_after_it(store: StoreFolder) -> None:
    told: list[tuple[int, int]] = []
    with running_job(store, "embed", "minilm", "texts", lambda *of: told.append(of)) as advance:
        job = one_job(store)
        assert (job.command, job.subject, job.unit) == ("embed", "minilm", "texts")
        assert (job.state, job.pid, job.done, job.total) == ("running", os.getpid(), 0, None)
        advance(3, 10)
    job = one_job(store)
    assert told == [(3, 10)]
    assert (job.state, job.done, job.total, job.error) == ("done", 3, 10, "")
    assert job.heartbeat_at >= job.started_at


def test_what_was_counted_is_written_by_a_thread_and_not_by_the_work(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "WRITE_S", 0.01)
    with running_job(store, "score", "main", "tuples") as advance:
        advance(1, 100)
        wait_until(lambda: one_job(store).done == 1)
        advance(40, 100)
        wait_until(lambda: one_job(store).done == 40)
        job = one_job(store)
        assert job.rate is not None
        assert job.left_s == pytest.approx(60 / job.rate)


def test_a_silent_job_still_has_a_heartbeat(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "WRITE_S", 0.01)
    monkeypatch.setattr(jobs, "HEARTBEAT_S", 0.02)
    with running_job(store, "embed", "a large model", "texts"):
        first = one_job(store).heartbeat_at
        wait_until(lambda: one_job(store).heartbeat_at > first)
        assert (one_job(store).state, one_job(store).done) == ("running", 0)


@pytest.mark.parametrize(
    ("error", "state", "text"),
    [
        (KeyboardInterrupt(), "interrupted", ""),
        (ValueError("a line\nmore"), "failed", "a line"),
        (MemoryError(), "failed", "MemoryError"),
    ],
)
def test_how_a_job_ended_is_kept(
    store: StoreFolder, error: BaseException, state: str, text: str
) -> None:
    with pytest.raises(type(error)), running_job(store, "embed", "m", "texts"):
        raise error
    job = one_job(store)
    assert (job.state, job.error) == (state, text)


def test_the_rate_is_that_of_the_last_half_minute(store: StoreFolder) -> None:
    written = jobs._Written(store.jobs_path, "embed", "m", "texts")
    written._recent[0] = (now := 100.0, 0)

    def rate_after(seconds: float, done: int, monkey: pytest.MonkeyPatch) -> float | None:
        nonlocal now
        now += seconds
        monkey.setattr(jobs.time, "monotonic", lambda: now)
        return written._rate(done)

    with pytest.MonkeyPatch.context() as monkey:
        assert rate_after(10, 100, monkey) == 10
        assert rate_after(40, 180, monkey) == 2  # 80 in the last 40 s: the first 10 s are past
        assert rate_after(10, 180, monkey) == pytest.approx(80 / 50)
        assert rate_after(1, 5, monkey) is None  # a new file: counted from its start
        assert rate_after(1, 25, monkey) == 20


DIES = """
import os, sys
from patcache.store import StoreFolder
from patcache.store.jobs import running_job
with running_job(StoreFolder(sys.argv[1]), "embed", "m", "texts") as advance:
    os.kill(os.getpid(), 9)
"""


def test_a_job_whose_process_is_gone_has_died(store: StoreFolder) -> None:
    done = subprocess.run([sys.executable, "-c", DIES, str(store.path)])
    assert done.returncode == -9
    job = one_job(store)
    assert job.state == "died"
    assert not is_alive(job.pid)
    assert json.loads(job_path(store, job).read_text())["state"] == "running"


def put(store: StoreFolder, job: Job) -> None:
    store.jobs_path.mkdir(exist_ok=True)
    fields = {name: getattr(job, name) for name in Job.__dataclass_fields__}
    job_path(store, job).write_text(json.dumps(fields))


def known(number: int, **changes: Any) -> Job:
    job = Job(f"job-{number}", "embed", "m", "texts", os.getpid(), "elsewhere", number, number)
    return replace(job, **changes)


def test_a_job_of_another_machine_has_died_when_its_heart_stopped(store: StoreFolder) -> None:
    with running_job(store, "embed", "m", "texts"):
        now = one_job(store).heartbeat_at
    put(store, known(1, heartbeat_at=now + 10))
    put(store, known(2, heartbeat_at=now - 100))
    assert {job.job_id: job.state for job in read_jobs(store)[1:]} == {
        "job-1": "running",
        "job-2": "died",
    }


def test_the_next_job_removes_all_but_the_last_twenty_that_ended(store: StoreFolder) -> None:
    for number in range(30):
        put(store, known(number, state="done" if number % 2 else "failed"))
    put(store, known(0, job_id="runs", heartbeat_at=2e10))
    left = store.jobs_path / "job-1.json.new"
    left.write_text("half")
    os.utime(left, (0, 0))
    other = store.jobs_path / "import.lock"
    other.touch()
    with running_job(store, "embed", "m", "texts"):
        pass
    ids = [job.job_id for job in read_jobs(store)]
    assert sorted(ids[1:]) == sorted([*(f"job-{n}" for n in range(10, 30)), "runs"])
    assert other.exists()
    assert not left.exists()


def test_files_that_are_no_jobs_are_left_out(store: StoreFolder) -> None:
    store.jobs_path.mkdir()
    for text in ("", "[]", "{}", '{"job_id": 3', '{"job_id": "x"}'):
        (store.jobs_path / f"{len(text)}.json").write_text(text)
    assert read_jobs(store) == []


def test_a_jobs_folder_that_cannot_be_written_stops_nothing(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.jobs_path.write_text("a file where the folder should be")
    with running_job(store, "embed", "m", "texts") as advance:
        advance(1, 2)
    assert read_jobs(store) == []
    store.jobs_path.unlink()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with running_job(store, "embed", "m", "texts") as advance:
        advance(1, 2)
    assert list(store.jobs_path.iterdir()) == []
