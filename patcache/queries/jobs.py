"""What runs on a store, what ran, and who writes which vectors; the database is not looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patcache.errors import PatcacheError
from patcache.listing import Listing, column
from patcache.store.jobs import Job, is_alive, read_jobs
from patcache.vectors.folder import read_spec, writer_pid

if TYPE_CHECKING:
    from pathlib import Path

    from patcache.store import StoreFolder


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job; rate: of the last half minute while it runs, of the whole job after it."""

    command: str = column("job")
    subject: str = column("of")
    state: str = column("state")
    done: int = column("done")
    total: int | None = column("total")
    unit: str = column("unit")
    rate: float | None = column("per second", fmt="rate")
    left_s: float | None = column("seconds left", fmt=",.0f")
    elapsed_s: float = column("seconds", fmt=",.0f")
    started: str = column("started")
    pid: int = column("pid", fmt="d")
    host: str = column("host", hidden=True)
    error: str = column("error")
    job_id: str = column("id", hidden=True)

    @property
    def share(self) -> float | None:
        """How much of it is done, in [0, 1]; None where the total is not known yet."""
        return None if not self.total else min(1.0, self.done / self.total)


@dataclass(frozen=True, slots=True)
class WriterRow:
    """A process that writes a vector folder; label: of the spec, where it is known."""

    folder: str = column("vectors")
    label: str | None = column("model")
    pid: int = column("pid", fmt="d")


def jobs(store: StoreFolder) -> Listing[JobRow]:
    """The jobs that run, then those that ended, the newest of each first."""
    found = sorted(read_jobs(store), key=lambda job: job.state != "running")
    n_running = sum(job.state == "running" for job in found)
    what = f"{n_running} job{'s' * (n_running != 1)} running" if n_running else "nothing is running"
    notes = tuple(
        f"vectors/{row.folder} ({row.label or 'no spec yet'}): written by process {row.pid}"
        for row in writers(store)
    )
    return Listing(JobRow, tuple(map(_row, found)), caption=(what,), notes=notes)


def writers(store: StoreFolder) -> Listing[WriterRow]:
    """Who writes which vectors at this moment, by what the writers say."""
    rows = []
    for folder in sorted(store.vectors_path.glob("*/")):
        pid = writer_pid(folder)
        if pid is not None and is_alive(pid):
            rows.append(WriterRow(folder.name, _label(folder), pid))
    return Listing(WriterRow, tuple(rows))


def _row(job: Job) -> JobRow:
    elapsed_s = job.heartbeat_at - job.started_at
    whole = job.done / elapsed_s if job.done and elapsed_s > 0 else None
    return JobRow(
        command=job.command,
        subject=job.subject,
        state=job.state,
        done=job.done,
        total=job.total,
        unit=job.unit,
        rate=job.rate if job.state == "running" else whole,
        left_s=job.left_s,
        elapsed_s=elapsed_s,
        started=job.started,
        pid=job.pid,
        host=job.host,
        error=job.error,
        job_id=job.job_id,
    )


def _label(folder: Path) -> str | None:
    try:
        return read_spec(folder).label
    except PatcacheError:
        return None
