"""status, verify and gc as people type them, and --wait for vectors that are being written."""

from __future__ import annotations

import csv
import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from patcache.cli import cli
from patcache.cli.status import bar_text, time_text
from patcache.errors import VectorsBusy
from patcache.records import ModelRequest
from patcache.steps import embedding, encoding
from patcache.steps.embedding import embed
from patcache.store import StoreFolder
from patcache.store.jobs import running_job
from patcache.vectors.rows import open_rows
from tests.steps.study_by_hand import LetterEmbedder, random_study


def patcache(store: StoreFolder, *arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--store", str(store.path)], **options)


def embedded(store: StoreFolder) -> Path:
    random_study(store)
    report = embed(store, ModelRequest("letters"), embedder=LetterEmbedder())
    return store.vectors_path / report.spec_id


def flip_last(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)


def test_status_shows_what_runs_what_ended_and_who_writes(store: StoreFolder) -> None:
    assert patcache(store, "status").stdout.splitlines()[0] == "nothing is running"
    folder = embedded(store)
    rows = open_rows(folder, LetterEmbedder().spec)
    with running_job(store, "score", "letters", "tuples"), rows.writing():
        result = patcache(store, "status")
    assert result.exit_code == 0, result.output
    caption, heading, score, embedding_, note = result.stdout.splitlines()
    assert caption == "1 job running"
    assert heading.split()[:3] == ["job", "of", "state"]
    assert score.split()[:3] == ["score", "letters", "running"]
    assert embedding_.split()[:3] == ["embed", "letters", "done"]
    assert "#" * 20 + " 100%" in embedding_
    assert "119 of 119 texts" in embedding_
    assert note == f"vectors/{folder.name} (letters): written by process {os.getpid()}"
    (row,) = json.loads(patcache(store, "status", "--format", "json").stdout)[1:]
    assert (row["command"], row["state"], row["done"], row["total"]) == ("embed", "done", 119, 119)


def test_status_says_last_why_a_job_failed_and_rates_without_exponents(store: StoreFolder) -> None:
    failing = pytest.raises(ValueError, match="out of luck")
    with failing, running_job(store, "embed", "m", "texts") as advance:
        advance(30_000, 40_000)
        raise ValueError("out of luck\nand more")
    heading, failed = patcache(store, "status").stdout.splitlines()[1:]
    assert heading.endswith("  error")
    assert failed.split()[:3] == ["embed", "m", "failed"]
    assert failed.endswith("  out of luck")
    assert "30,000 of 40,000 texts" in failed
    assert "e+0" not in failed  # some 10 million a second


def test_status_answers_while_the_database_is_held(store: StoreFolder) -> None:
    embedded(store)
    held = [sys.executable, "-c", HOLDS, str(store.database_path)]
    with subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert patcache(store, "models", "--wait", "0").exit_code == 4
        result = patcache(store, "status", "--wait", "0")
        process.communicate()
    assert result.exit_code == 0
    assert "embed" in result.stdout


HOLDS = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_status_is_of_a_store(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["status", "--store", str(tmp_path)])
    assert result.exit_code == 3
    assert "no store at" in result.stderr


def test_status_watches_on_a_terminal_only(store: StoreFolder) -> None:
    result = patcache(store, "status", "--watch")
    assert result.exit_code == 2
    assert "--watch draws on a terminal" in " ".join(result.stderr.split())


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made by pty")
def test_status_is_drawn_again_until_ctrl_c(store: StoreFolder) -> None:
    ours, theirs = pty.openpty()
    arguments = [sys.executable, "-m", "patcache", "status", "--watch", "--store", str(store.path)]
    with subprocess.Popen(arguments, stdout=theirs, stderr=theirs, stdin=theirs) as process:
        os.close(theirs)
        shown = read_until(ours, b"nothing is running")
        with running_job(store, "embed", "a-model", "texts"):
            shown += read_until(ours, b"a-model")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
    os.close(ours)
    assert b"1 job running" in shown


def read_until(descriptor: int, text: bytes) -> bytes:
    shown = b""
    while text not in shown:
        assert select.select([descriptor], [], [], 30)[0], shown
        shown += os.read(descriptor, 65536)
    return shown


@pytest.mark.parametrize(
    ("share", "bar"),
    [(None, ""), (0.0, "·" * 20 + "   0%"), (0.5, "#" * 10 + "·" * 10 + "  50%")],
)
def test_a_bar_is_twenty_signs(share: float | None, bar: str) -> None:
    assert bar_text(share) == bar


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0:00"), (59.6, "1:00"), (754, "12:34"), (7384, "2:03:04")]
)
def test_times_are_written_like_clocks(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_verify_lists_what_is_fine_and_names_what_is_not(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "BLOCK_TEXTS", 16)
    folder = embedded(store)
    patcache(store, "embed", "random")
    fine = patcache(store, "verify")
    assert fine.exit_code == 0
    assert "2 of 2 vector folders fine" in fine.stdout
    flip_last(folder / "vectors.npy")
    result = patcache(store, "verify", "--format", "csv")
    assert result.exit_code == 1
    states = {row["model"]: row for row in csv.DictReader(result.stdout.splitlines())}
    assert states["random"]["state"] == "fine"
    letters = states["letters"]
    assert (letters["state"], letters["file"], letters["rows"]) == (
        "damaged",
        "vectors.npy",
        "112 to 118",
    )
    assert "verify --repair" in result.stderr
    assert patcache(store, "verify", "random").exit_code == 0
    asked = patcache(store, "verify", "--repair", input="n\n")
    assert "112 rows are intact and stay; 7 go" in asked.stderr
    assert asked.exit_code == 1
    assert patcache(store, "verify").exit_code == 1
    repaired = patcache(store, "verify", "--repair", "--yes")
    assert repaired.exit_code == 0
    assert "next: patcache embed letters" in repaired.stderr
    assert patcache(store, "verify").exit_code == 0
    assert patcache(store, "verify", "nothing").exit_code == 3


def test_a_folder_that_cannot_be_repaired_keeps_no_other_from_it(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "BLOCK_TEXTS", 16)
    folder = embedded(store)
    patcache(store, "embed", "random")
    patcache(store, "embed", "tfidf", "--tokenizer", "regex")
    with store.read() as cursor:
        rows = cursor.execute("SELECT model, spec_id FROM models").fetchall()
    folders = {model: store.vectors_path / spec_id for model, spec_id in rows}
    (folders["random"] / "spec.json").write_bytes((folder / "spec.json").read_bytes())
    flip_last(folders["tfidf"] / "fit" / "fit.json")
    flip_last(folder / "vectors.npy")
    result = patcache(store, "verify", "--repair", "--yes")
    assert result.exit_code == 1
    for name in ("random", "tfidf"):
        assert f"vectors/{folders[name].name} cannot be repaired: restore a copy" in result.stdout
    assert "next: patcache embed letters" in result.stderr
    after = patcache(store, "verify", "--format", "csv")
    states = {row["model"]: row["state"] for row in csv.DictReader(after.stdout.splitlines())}
    assert states == {"letters": "fine", "random": "damaged", "tfidf": "damaged"}
    assert "verify --repair" not in after.stderr


def test_gc_shows_asks_and_removes(store: StoreFolder) -> None:
    assert "nothing to remove" in patcache(store, "gc").stderr
    foreign = LetterEmbedder("copied", pooling="foreign")
    folder = store.vectors_path / foreign.spec.spec_id
    with open_rows(folder, foreign.spec).writing():
        held = patcache(store, "gc", "--yes")
        assert f"vectors/{folder.name} stays: a process is writing it" in held.stderr
    dry = patcache(store, "gc", "--dry-run")
    assert f"bytes  vectors/{folder.name}  (copied, no model of this store" in dry.stderr
    assert patcache(store, "gc", input="n\n").exit_code == 1
    assert folder.exists()
    assert patcache(store, "gc", "--yes").exit_code == 0
    assert not folder.exists()


@pytest.mark.parametrize(("arguments", "waits"), [((), 0.0), (("--wait", "7"), 7.0)])
def test_only_a_wait_that_was_asked_for_is_for_vectors_too(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], waits: float
) -> None:
    seen: list[tuple[float, float]] = []

    def fake(of: StoreFolder, *_: Any, **__: Any) -> None:
        seen.append((of.busy_wait_s, of.wait_s))
        raise VectorsBusy("busy")

    monkeypatch.setattr(embedding, "embed", fake)
    assert patcache(store, "embed", "random", *arguments).exit_code == 4
    assert seen == [(waits, waits or 10.0)]
