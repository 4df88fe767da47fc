"""Several real processes on one store: readers answer, writers wait or are refused, Ctrl-C ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from patcache.cli import cli
from patcache.records import ModelRequest, Spec
from patcache.steps.embedding import embed as embed_here
from patcache.steps.scoring import score
from patcache.store import StoreFolder
from patcache.store.jobs import read_jobs
from patcache.vectors.folder import PID_NAME, read_spec
from patcache.vectors.verify import check_rows
from tests.steps.paced import BLOCK, Process, embed, wait_until
from tests.steps.study_by_hand import add_patents, random_study, random_texts

N_TEXTS = 4 * BLOCK


@pytest.fixture
def filled(store: StoreFolder) -> StoreFolder:
    add_patents(store, random_texts(N_TEXTS, 8))
    return store


def ask(store: StoreFolder, *arguments: str) -> Any:
    result = CliRunner().invoke(cli, [*arguments, "--store", str(store.path), "--format", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def n_stored(store: StoreFolder) -> int:
    rows = ask(store, "models", "--stored")
    return next((row["n_texts"] for row in rows if row["label"] == "Letters"), 0)


def running(store: StoreFolder) -> dict[str, Any]:
    (row,) = [row for row in ask(store, "status") if row["state"] == "running"]
    return dict(row)


def test_readers_answer_while_texts_are_embedded_and_see_them_grow(store: StoreFolder) -> None:
    random_study(store)
    add_patents(store, random_texts(N_TEXTS - 120, 8), first_id=120)
    embed_here(store, ModelRequest("random"))
    score(store)
    writer = embed(store, is_paced=True)
    for n_blocks in (1, 2, 3):
        writer.go_on()
        wait_until(lambda n=n_blocks: n_stored(store) == n * BLOCK)
        assert ask(store, "sql", "SELECT count(*) AS n FROM patents") == [{"n": N_TEXTS}]
        assert len(ask(store, "leaderboard")) == 1
        wait_until(lambda n=n_blocks: running(store)["done"] >= (n - 1) * BLOCK)
        job = running(store)
        assert (job["command"], job["subject"]) == ("embed", "Letters")
        assert job["pid"] == writer.process.pid
    assert (job["total"], job["left_s"] > 0) == (N_TEXTS, True)
    assert writer.end()[0] == 0
    assert n_stored(store) == N_TEXTS
    assert ask(store, "sql", "SELECT n_texts FROM models ORDER BY 1") == [
        {"n_texts": 119},
        {"n_texts": N_TEXTS},
    ]


SCORES = """
import sys
from patcache.steps import scoring
from patcache.store import StoreFolder
scoring.WINDOW_TUPLES = 20
scoring.score(StoreFolder(sys.argv[1]), progress=lambda done, total: sys.stdin.buffer.read(1))
"""
IMPORTS = """
import sys
from patcache.steps import importing
from patcache.store import StoreFolder
importing.import_files(StoreFolder(sys.argv[1]), sys.argv[2:],
                       progress=lambda done, total: sys.stdin.buffer.read(1))
"""


def steps_of(
    store: StoreFolder, program: str, *arguments: str, table: str, last: int
) -> Iterator[int]:
    """Rows of a table after every step of a program that is told to go on after each."""

    def counted() -> int:
        return int(ask(store, "sql", f"SELECT count(*) AS n FROM {table}")[0]["n"])

    command = [sys.executable, "-c", program, str(store.path), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        n_rows = 0
        while n_rows < last:
            before = n_rows
            wait_until(lambda before=before: counted() > before)
            n_rows = counted()
            yield n_rows
            process.stdin.write(b".")
            process.stdin.flush()
        process.stdin.close()
    assert process.returncode == 0


def test_readers_answer_while_tuples_are_scored_and_see_them_grow(store: StoreFolder) -> None:
    random_study(store)
    embed_here(store, ModelRequest("random"))
    seen = []
    for n_scored in steps_of(store, SCORES, table="rci", last=80):
        seen.append(n_scored)
        assert ask(store, "models", "--stored")[0]["n_texts"] == 119
        assert ask(store, "status")[0]["command"] == "score"
    assert seen == [20, 40, 60, 80]
    assert ask(store, "leaderboard")[0]["n"] == 80


def test_readers_answer_while_files_are_imported_and_see_them_grow(
    store: StoreFolder, tmp_path: Path
) -> None:
    files = []
    for first in (0, 30, 60):
        lines = ["publication_number,ipc,title,year"]
        lines += [f"EP{n},H01L 21/{n + 10},Title {n},2020" for n in range(first, first + 30)]
        files.append(str(tmp_path / f"from-{first}.csv"))
        Path(files[-1]).write_text("\n".join(lines) + "\n")
    seen = []
    for n_patents in steps_of(store, IMPORTS, *files, table="patents", last=90):
        seen.append(n_patents)
        assert ask(store, "status")[0]["subject"] == "from-0.csv, from-30.csv, from-60.csv"
        assert ask(store, "models", "--stored") == []
    assert seen == [30, 60, 90]


def test_two_jobs_on_one_spec_encode_each_text_once_where_the_second_waits(
    filled: StoreFolder,
) -> None:
    first, second = embed(filled, "--wait", "60"), embed(filled, "--wait", "60")
    assert [first.end()[0], second.end()[0]] == [0, 0]
    assert len(first.encoded) == N_TEXTS
    assert len(set(first.encoded)) == N_TEXTS


def test_a_second_job_on_one_spec_is_refused_with_the_holders_pid(filled: StoreFolder) -> None:
    first = embed(filled, is_paced=True)
    wait_until(lambda: list(filled.vectors_path.glob(f"*/{PID_NAME}")))
    exit_code, said = embed(filled).end()
    assert exit_code == 4
    assert f"by process {first.process.pid}" in said
    assert "--wait SECONDS" in said
    assert "Traceback" not in said
    assert first.end()[0] == 0
    assert len(first.encoded) == N_TEXTS


def test_jobs_on_different_specs_run_at_once(filled: StoreFolder) -> None:
    first = embed(filled, is_paced=True)
    first.go_on()
    wait_until(lambda: n_stored(filled) == BLOCK)
    assert embed(filled, model="Others").end()[0] == 0
    assert n_stored(filled) == BLOCK
    assert first.end()[0] == 0


def test_the_lock_ends_with_a_killed_process_whatever_pid_it_left(filled: StoreFolder) -> None:
    first = embed(filled, is_paced=True)
    first.go_on()
    wait_until(lambda: n_stored(filled) == BLOCK)
    first.process.kill()
    first.process.communicate()
    assert list(filled.vectors_path.glob(f"*/{PID_NAME}")) != []
    assert [job.state for job in read_jobs(filled)] == ["died"]
    exit_code, _ = embed(filled).end()
    assert exit_code == 0
    assert n_stored(filled) == N_TEXTS


def folder_of(store: StoreFolder) -> Path:
    (folder,) = store.vectors_path.iterdir()
    return folder


def letters(store: StoreFolder) -> Spec:
    return read_spec(folder_of(store))


def test_ctrl_c_ends_after_the_running_block_and_keeps_what_was_finished(
    filled: StoreFolder,
) -> None:
    job = embed(filled, is_paced=True)
    job.go_on()
    wait_until(lambda: n_stored(filled) == BLOCK)
    job.process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        job.process.wait(0.5)  # it waits for the running block
    job.go_on()
    exit_code, said = job.end()
    assert exit_code == 130
    assert "interrupted: what was finished is kept" in said
    assert n_stored(filled) == 2 * BLOCK
    assert [row["state"] for row in ask(filled, "status")] == ["interrupted"]
    assert check_rows(folder_of(filled), letters(filled)).faults == []
    assert embed(filled).end()[0] == 0
    assert n_stored(filled) == N_TEXTS
    assert len(job.encoded) == N_TEXTS


def test_a_second_ctrl_c_does_not_wait_for_the_running_block(filled: StoreFolder) -> None:
    job = embed(filled, is_paced=True)
    job.go_on()
    wait_until(lambda: n_stored(filled) == BLOCK)
    job.process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        job.process.wait(0.5)
    job.process.send_signal(signal.SIGINT)
    assert job.process.wait(30) == 130  # which was never told to go on
    assert n_stored(filled) == BLOCK


def test_a_full_disk_ends_with_an_error_and_a_store_that_opens(
    tmp_path: Path, small_disk: Path
) -> None:
    store = StoreFolder(small_disk / "store")
    add_patents(store, random_texts(20 * BLOCK, 8))
    job = Process(store, ["embed", "random", "--all", "--set", "dim=8192"])
    exit_code, said = job.end()
    assert exit_code == 1
    assert "Traceback" not in said
    assert f"error: the disk is full: {folder_of(store)}" in said
    assert "more bytes were to be written" in said
    n_before = ask(store, "models", "--stored")[0]["n_texts"]
    assert 0 < n_before < 20 * BLOCK
    assert ask(store, "sql", "SELECT count(*) AS n FROM patents") == [{"n": 20 * BLOCK}]
    assert CliRunner().invoke(cli, ["verify", "--store", str(store.path)]).exit_code == 0
    subprocess.run(["mount", "-o", "remount,size=400m", str(small_disk)], check=True)
    assert Process(store, ["embed", "random", "--all", "--set", "dim=8192"]).end()[0] == 0
    assert ask(store, "models", "--stored")[0]["n_texts"] == 20 * BLOCK
