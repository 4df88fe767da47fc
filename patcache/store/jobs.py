"""What runs on a store right now: one small file a job, written aside and renamed.

The work itself only counts; a thread of its own writes the file, at most once a second, and shows
by a heartbeat that the process lives while nothing is counted. A jobs folder that cannot be
written stops nothing.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from patcache.records import Progress
    from patcache.store.folder import StoreFolder

State = Literal["running", "done", "failed", "interrupted", "died"]  # died is never written

WRITE_S = 1.0
HEARTBEAT_S = 5.0
SILENT_S = 60.0  # a heart that has not beaten for so long has stopped
RATE_S = 30.0  # the rate is that of so many last seconds
KEPT_JOBS = 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """One job as its file says it; times are seconds since 1970, the rate is in units a second.

    subject: what it works on: a model, a sample, files. rate: of the last half minute.
    """

    job_id: str
    command: str
    subject: str
    unit: str
    pid: int
    host: str
    started_at: float
    heartbeat_at: float
    done: int = 0
    total: int | None = None
    rate: float | None = None
    state: State = "running"
    error: str = ""

    @property
    def started(self) -> str:
        """When it began, ISO 8601 in UTC."""
        return datetime.fromtimestamp(self.started_at, UTC).isoformat(timespec="seconds")

    @property
    def left_s(self) -> float | None:
        """Seconds left at the recent rate; None where that is not known."""
        if self.state != "running" or self.total is None or not self.rate:
            return None
        return max(0, self.total - self.done) / self.rate


@contextlib.contextmanager
def running_job(
    store: StoreFolder, command: str, subject: str, unit: str, progress: Progress | None = None
) -> Iterator[Progress]:
    """Makes what the block does known to other processes until it ends; call what it gives.

    progress: is told as well.
    """
    written = _Written(store.jobs_path, command, subject, unit)

    def advance(done: int, total: int) -> None:
        written.count(done, total)
        if progress is not None:
            progress(done, total)

    with written:
        yield advance


def read_jobs(store: StoreFolder) -> list[Job]:
    """Every job there is a file of, the newest first; one whose process is gone has died."""
    found = [job for path in store.jobs_path.glob("*.json") if (job := _read(path)) is not None]
    return sorted(found, key=lambda job: (job.started_at, job.job_id), reverse=True)


def job_path(store: StoreFolder, job: Job) -> Path:
    """The file of a job."""
    return store.jobs_path / f"{job.job_id}.json"


def is_alive(pid: int) -> bool:
    """Whether a process of this machine runs; taken to where the system cannot say."""
    if os.name == "nt":
        return True  # there, to ask is to end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # of another user
    return True


class _Written:
    """The file of one job of this process, kept up to date while the block runs."""

    def __init__(self, folder: Path, command: str, subject: str, unit: str) -> None:
        now = time.time()
        when = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S")
        job_id = f"{when}-{os.getpid()}-{secrets.token_hex(3)}"
        self._folder = folder
        self._job = Job(job_id, command, subject, unit, os.getpid(), socket.gethostname(), now, now)
        self._counts: tuple[int, int | None] = (0, None)
        self._recent: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="patcache-job", daemon=True)

    def count(self, done: int, total: int) -> None:
        self._counts = (done, total)

    def __enter__(self) -> None:
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            _remove_old(self._folder)
        self._write()
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, error: Any, _trace: Any) -> None:
        self._ended.set()
        self._thread.join()
        state, text = _ending(kind, error)
        self._job = replace(self._job, state=state, error=text)
        self._write()

    def _beat(self) -> None:
        """Writes what was counted since, or that the process still lives."""
        while not self._ended.wait(WRITE_S):
            is_new = self._counts != (self._job.done, self._job.total)
            if is_new or time.time() - self._job.heartbeat_at >= HEARTBEAT_S:
                self._write()

    def _write(self) -> None:
        done, total = self._counts
        rate = self._rate(done)
        self._job = replace(self._job, done=done, total=total, rate=rate, heartbeat_at=time.time())
        path = self._folder / f"{self._job.job_id}.json"
        aside = path.with_name(f"{path.name}.new")
        try:
            aside.write_text(json.dumps(asdict(self._job)), encoding="utf-8")
            aside.replace(path)
        except OSError as error:
            logger.debug("job %s is not shown: %s", self._job.job_id, error)
            with contextlib.suppress(OSError):
                aside.unlink()

    def _rate(self, done: int) -> float | None:
        """Units a second over the last half minute; None as long as nothing was done in it."""
        now = time.monotonic()
        if done < self._recent[-1][1]:
            self._recent.clear()  # the next part of the job counts anew
        self._recent.append((now, done))
        while len(self._recent) > 2 and now - self._recent[1][0] > RATE_S:
            self._recent.popleft()
        then, before = self._recent[0]
        return (done - before) / (now - then) if now > then and done > before else None


def _ending(kind: type[BaseException] | None, error: BaseException | None) -> tuple[State, str]:
    if kind is None:
        return "done", ""
    if issubclass(kind, KeyboardInterrupt):
        return "interrupted", ""
    lines = str(error).splitlines()
    return "failed", lines[0] if lines else kind.__name__


def _read(path: Path) -> Job | None:
    """The job of a file; None where it is none, or is gone by now."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        job = Job(**{field.name: record[field.name] for field in fields(Job)})
        return replace(job, state="died") if _has_died(job) else job
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _has_died(job: Job) -> bool:
    if job.state != "running":
        return False
    is_here = job.host == socket.gethostname()
    return (is_here and not is_alive(job.pid)) or time.time() - job.heartbeat_at > SILENT_S


def _remove_old(folder: Path) -> None:
    """Keeps the last jobs that ended; what a killed process was writing goes as well."""
    ended = []
    for path in folder.glob("*.json"):
        job = _read(path)
        if job is not None and job.state != "running":
            ended.append((job.started_at, path))
    for _, path in sorted(ended, reverse=True)[KEPT_JOBS:]:
        path.unlink(missing_ok=True)
    for path in folder.glob("*.json.new"):
        if time.time() - path.stat().st_mtime > SILENT_S:
            path.unlink(missing_ok=True)
