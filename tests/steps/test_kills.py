"""kill -9 at any moment: what is finished afterwards is what an undisturbed run would have made."""

from __future__ import annotations

import itertools
import random
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from patcache.store import StoreFolder
from patcache.vectors.rows import open_rows
from patcache.vectors.verify import check_rows
from tests.steps.killed import BLOCK, ONCE, POINTS, start
from tests.steps.study_by_hand import LetterEmbedder, add_patents, random_texts

N_TEXTS = 12 * BLOCK
LONGEST_S = 0.12  # about what it takes from the first text to the last


def spec_folder(store: Path, sparse: bool) -> Path:
    return store / "vectors" / LetterEmbedder(sparse=sparse).spec.spec_id


def arrays(store: Path, sparse: bool) -> dict[str, bytes]:
    folder = spec_folder(store, sparse)
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.npy"))}


def finish(store: Path, log: Path, sparse: bool) -> None:
    process = start(store, log, sparse=sparse)
    process.join(60)
    assert process.exitcode == 0


def moments(seed: int) -> Iterator[tuple[str, int, float]]:
    """Every point in turn and, as often, a random moment: (point, nth time, seconds)."""
    rng = random.Random(seed)
    for number in itertools.count():
        if number % 2:
            yield "", 1, rng.random() * LONGEST_S
        else:
            point = POINTS[number // 2 % len(POINTS)]
            nth = 1 if point in ONCE else rng.randint(1, N_TEXTS // BLOCK)
            yield point, nth, 0.0


def kill(store: Path, log: Path, sparse: bool, point: str, nth: int, after_s: float) -> bool:
    """Whether the process was killed: at a point always, at a moment where it still ran."""
    process = start(store, log, sparse=sparse, point=point, nth=nth)
    if not point:
        begun = threading.Event()
        while process.is_alive() and not log.exists():
            begun.wait(0.001)  # until it has begun to encode
        begun.wait(after_s)
        process.kill()
    process.join(60)
    assert process.exitcode in ((-9,) if point else (-9, 0))
    return process.exitcode == -9


def kill_and_finish(tmp_path: Path, n_kills: int, seed: int) -> int:
    """How many processes were killed, each followed by a finish that is checked here."""
    empty = tmp_path / "empty"
    add_patents(StoreFolder(empty), random_texts(N_TEXTS, 4))
    whole = {}
    for sparse in (False, True):
        shutil.copytree(empty, tmp_path / "whole")
        finish(tmp_path / "whole", tmp_path / "whole.log", sparse)
        whole[sparse] = arrays(tmp_path / "whole", sparse)
        shutil.rmtree(tmp_path / "whole")
    n_killed = 0
    for number, (point, nth, after_s) in enumerate(moments(seed)):
        if n_killed == n_kills:
            break
        sparse = number % 3 == 0
        store, log = tmp_path / f"store-{number}", tmp_path / f"log-{number}"
        shutil.copytree(empty, store)
        was_killed = kill(store, log, sparse, point, nth, after_s)
        n_killed += was_killed
        n_before = n_rows(store, sparse)
        finish(store, log, sparse)
        assert arrays(store, sparse) == whole[sparse], (point, nth, after_s)
        n_encoded = len(log.read_text().splitlines())
        assert n_encoded <= N_TEXTS + 3 * BLOCK * was_killed, (point, nth)
        assert n_encoded >= N_TEXTS
        assert n_rows(store, sparse) == N_TEXTS >= n_before
        check_finished(store, sparse)
        shutil.rmtree(store)
    return n_killed


def n_rows(store: Path, sparse: bool) -> int:
    return open_rows(spec_folder(store, sparse), LetterEmbedder(sparse=sparse).spec).n_rows


def check_finished(store: Path, sparse: bool) -> None:
    folder = spec_folder(store, sparse)
    assert check_rows(folder, LetterEmbedder(sparse=sparse).spec).faults == []
    with StoreFolder(store, create=False).read() as cursor:
        assert cursor.execute("SELECT n_texts FROM models").fetchall() == [(N_TEXTS,)]


def test_after_20_kills_each_finish_is_that_of_an_undisturbed_run(tmp_path: Path) -> None:
    assert kill_and_finish(tmp_path, 20, seed=20) == 20


@pytest.mark.slow
def test_after_200_kills_each_finish_is_that_of_an_undisturbed_run(tmp_path: Path) -> None:
    assert kill_and_finish(tmp_path, 200, seed=200) == 200
