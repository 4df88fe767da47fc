"""The size of batches changes no vector beyond rounding, and no RCI but of tuples near a tie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from patcache.api import Store
from patcache.embedders.batches import pad
from patcache.kernels import footrule
from patcache.records import ModelRequest, Runtime, Shape
from patcache.steps.embedding import embed
from patcache.steps.rows import spec_rows
from patcache.steps.scoring import score
from patcache.store import StoreFolder
from patcache.store.specs import labelled_spec
from patcache.vectors.rows import DenseRows
from tests.embedders.tiny import WORDS, minilm, tiny_bert
from tests.steps.study_by_hand import add_patents, add_tuples

if TYPE_CHECKING:
    from patcache.records import FloatArray

BATCHES = (1, 7, 64)  # texts of the greatest length in a batch
N_TUPLES = 200
LEVELS = (1, 2, 3, 4, 5, 6)
WITHIN = 1e-5  # of a vector of length 1
DISTANCES = """
SELECT d.footrule, d.is_near_tie, d.similarities
FROM data.distances d JOIN data.samples s USING (sample_id)
WHERE s.name = ? AND d.spec_id = ? ORDER BY d.tuple_id"""


@dataclass(frozen=True)
class Run:
    """What one size of batches gave. Shapes: vectors (n, dim) by key; others (T, ..) by tuple."""

    spec_id: str
    largest_batch: int
    vectors: FloatArray
    distances: np.ndarray[Any, Any]
    near_ties: np.ndarray[Any, Any]
    similarities: FloatArray


def changed_tuples(first: Run, second: Run) -> tuple[int, int]:
    """Tuples whose distance changed though neither run counts them as near a tie; and all."""
    differs = first.distances != second.distances
    is_near = first.near_ties | second.near_ties
    return int((differs & ~is_near).sum()), int(differs.sum())


@pytest.fixture
def batch_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each batch had that went to the network."""
    sizes: list[int] = []

    def noting(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        sizes.append(len(rows))
        return pad(rows)

    monkeypatch.setattr("patcache.embedders.transformer.pad", noting)
    return sizes


def run_of(store: StoreFolder, model: Path, budget: int, sizes: list[int], **settings: Any) -> Run:
    sizes.clear()
    request = ModelRequest(str(model), "network", settings)
    runtime = Runtime(device="cpu", threads=1, batch_tokens=budget)
    embed(store, request, runtime=runtime)
    score(store)
    with store.read() as cursor:
        spec = labelled_spec(cursor, "network")
        found = cursor.execute(DISTANCES, ["main", spec.spec_id]).fetchall()
    rows = spec_rows(store, spec)
    assert isinstance(rows, DenseRows)
    order = np.argsort([bytes(key) for key in np.asarray(rows.keys)])
    distances, near_ties, similarities = zip(*found, strict=True)
    return Run(
        spec.spec_id,
        max(sizes),
        np.asarray(rows.gather(order)),
        np.array(distances),
        np.array(near_ties),
        np.array(similarities, dtype=np.float32),
    )


def check(runs: Sequence[Run]) -> list[int]:
    """Holds each run against the first; how many tuples near a tie changed in each."""
    alone = runs[0]
    n_changed = []
    for run in runs[1:]:
        assert run.spec_id == alone.spec_id
        assert np.abs(run.vectors - alone.vectors).max() <= WITHIN
        wrong, changed = changed_tuples(alone, run)
        assert wrong == 0
        n_changed.append(changed)
    return n_changed


def random_network_study(store: StoreFolder, seed: int) -> int:
    """Patents of 1 to 24 words that the tiny network knows, and 200 tuples: their texts."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 25))) for _ in range(280)]
    texts += texts[:20]  # some share their text: exact ties, which are no near-ties
    add_patents(store, [(None, text) for text in texts])
    tuples = [rng.choice(300, 7, replace=False).tolist() for _ in range(N_TUPLES)]
    tuples[0] = [30, 0, 280, 31, 32, 33, 34]  # 0 and 280 are one text
    add_tuples(store, "main", tuples, levels=LEVELS)
    return len({texts[patent] for row in tuples for patent in row})


def test_batches_of_1_7_and_64_give_the_same_vectors_and_distances(
    tmp_path: Path, batch_sizes: list[int]
) -> None:
    model = tiny_bert(tmp_path / "bert")
    runs = []
    for size in BATCHES:
        store = StoreFolder(tmp_path / f"store{size}")
        n_texts = random_network_study(store, seed=11)
        budget = 1 if size == 1 else size * 26  # 24 words, [CLS] and [SEP]
        runs.append(run_of(store, model, budget, batch_sizes))
    assert runs[0].largest_batch == 1
    assert runs[1].largest_batch >= 7
    assert runs[2].largest_batch >= 64
    assert {len(run.distances) for run in runs} == {N_TUPLES}
    assert len(runs[0].vectors) == n_texts
    check(runs)
    for run in runs:  # one text, one row: equal to the last bit whatever the batch
        assert run.similarities[0, 0] == run.similarities[0, 1]


def test_a_change_outside_of_near_ties_would_be_seen() -> None:
    shape = Shape(LEVELS)
    clear = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]] * 2, dtype=np.float32)
    moved = clear.copy()
    moved[0, :2] = [0.2, 0.1]  # two neighbours exchanged: a real change
    near = clear.copy()
    near[1, :2] = [0.2, 0.2 + 1.1e-6]  # just beyond the tolerance: counted as near
    tied = clear.copy()
    tied[1, :2] = [0.2, 0.2]

    def run(similarities: FloatArray) -> Run:
        scores = footrule.score(similarities, shape)
        nothing = np.empty((0, 1), dtype=np.float32)
        return Run("s", 1, nothing, scores.footrule, scores.is_near_tie, similarities)

    assert changed_tuples(run(clear), run(moved)) == (1, 1)
    assert changed_tuples(run(near), run(tied)) == (0, 1)
    assert changed_tuples(run(clear), run(clear)) == (0, 0)


@pytest.mark.slow
def test_minilm_on_real_patents_gives_the_same_rcis_at_1_7_and_64(
    shared: Path, tmp_path: Path, batch_sizes: list[int], record_property: Any
) -> None:
    pytest.importorskip("torch")
    model = minilm()
    runs = []
    for size in BATCHES:
        store = Store(tmp_path / f"store{size}")
        store.import_files(shared / "data" / "patents_en.parquet")
        store.sample("main", targets=2, seed=1)
        budget = 1 if size == 1 else size * 256
        runs.append(run_of(store, model, budget, batch_sizes, pooling="mean"))
    n_tuples = len(runs[0].distances)
    assert n_tuples >= 150
    changed = check(runs)
    record_property("tuples, near a tie, changed", (n_tuples, runs[0].near_ties.sum(), changed))
    assert max(changed) <= n_tuples // 100
