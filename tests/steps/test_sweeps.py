"""Models that are one network and pool it differently share its passes; no byte changes."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from patcache.cli import cli
from patcache.embedders.base import Context, load
from patcache.embedders.flat import variants
from patcache.embedders.presets import resolve
from patcache.errors import ModelRefused, VectorsBusy, WriteFailed
from patcache.records import ModelRequest, Progress, Runtime
from patcache.steps import encoding
from patcache.steps.embedding import EmbedReport, embed, embed_each
from patcache.steps.passes import passes_of
from patcache.steps.rows import spec_rows
from patcache.steps.sharing import find_sharers
from patcache.store import StoreFolder
from patcache.store.jobs import read_jobs
from patcache.store.specs import labelled_spec
from patcache.vectors.rows import DenseRows, open_rows
from tests.embedders.test_model_folder import dense_folder
from tests.embedders.tiny import WORDS, add_pooling, tiny_bert
from tests.steps.killed import CONTEXT, INJECT, Death
from tests.steps.study_by_hand import add_patents, add_tuples

BLOCK = 16
N_TEXTS = 5 * BLOCK + 3
RUNTIME = Runtime(device="cpu", threads=1)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "BLOCK_TEXTS", BLOCK)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def graph(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from patcache.embedders.export import export_onnx

    return export_onnx(bert, tmp_path_factory.mktemp("graph")).graph.parent


@pytest.fixture(params=["torch", "onnx"])
def network(request: pytest.FixtureRequest) -> Path:
    """The same network for either engine."""
    found: Path = request.getfixturevalue("bert" if request.param == "torch" else "graph")
    return found


def texts(n_texts: int, seed: int = 1) -> list[tuple[str | None, str | None]]:
    """Titles and abstracts of one to twelve words; no two are alike."""
    rng = np.random.default_rng(seed)
    return [
        (" ".join(rng.choice(WORDS, 6)), " ".join(rng.choice(WORDS, rng.integers(1, 12))))
        for _ in range(n_texts)
    ]


def requests(network: Path, *poolings: str, **settings: Any) -> list[ModelRequest]:
    return [ModelRequest(str(network), p, {"pooling": p, **settings}) for p in poolings]


@contextmanager
def no_bar(_label: str) -> Iterator[Progress]:
    yield lambda _done, _total: None


def together(
    store: StoreFolder, asked: Sequence[ModelRequest], **options: Any
) -> list[EmbedReport]:
    return list(embed_each(store, asked, no_bar, all_texts=True, runtime=RUNTIME, **options))


def alone(store: StoreFolder, asked: Sequence[ModelRequest]) -> list[EmbedReport]:
    return [embed(store, each, all_texts=True, runtime=RUNTIME) for each in asked]


def filled(path: Path, n_texts: int = N_TEXTS) -> StoreFolder:
    store = StoreFolder(path)
    add_patents(store, texts(n_texts))
    return store


def arrays(store: StoreFolder) -> dict[str, bytes]:
    """The bytes of every array, by spec and name."""
    paths = sorted(store.vectors_path.rglob("*.npy"))
    return {str(path.relative_to(store.vectors_path)): path.read_bytes() for path in paths}


def blocks(store: StoreFolder, label: str) -> list[tuple[int, int, int]]:
    """First and last row of each block, and how many of its texts were cut."""
    with store.read() as cursor:
        rows = spec_rows(store, labelled_spec(cursor, label))
    return [(block.start, block.stop, block.run.n_truncated) for block in rows.blocks]


@pytest.fixture
def passes(bert: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each call of a network had, those that loading tries included."""
    import transformers

    from patcache.embedders.onnx import Network

    calls: list[int] = []
    forward, run_graph = transformers.BertModel.forward, Network.pooled

    def by_torch(self: Any, input_ids: Any, **others: Any) -> Any:
        calls.append(len(input_ids))
        return forward(self, input_ids=input_ids, **others)

    def by_onnx(self: Network, ids: Any, *others: Any) -> Any:
        calls.append(len(ids))
        return run_graph(self, ids, *others)

    monkeypatch.setattr(transformers.BertModel, "forward", by_torch)
    monkeypatch.setattr(Network, "pooled", by_onnx)
    return calls


def told(report: EmbedReport) -> EmbedReport:
    """A report without its time."""
    return replace(report, elapsed_s=0.0)


def test_three_poolings_take_the_passes_of_one_and_no_byte_changes(
    network: Path, tmp_path: Path, passes: list[int]
) -> None:
    asked = requests(network, "mean", "cls", "last", max_tokens=9)
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")
    reports = together(one, asked)
    shared = list(passes)
    passes.clear()
    first = alone(other, asked[:1])
    assert shared == passes
    rest = alone(other, asked[1:])
    assert [told(report) for report in reports] == [told(report) for report in first + rest]
    assert reports[0].elapsed_s == reports[2].elapsed_s > 0
    assert reports[0].n_truncated > 0
    assert len(arrays(one)) == 6
    assert arrays(one) == arrays(other)
    for pooling in ("mean", "cls", "last"):
        assert blocks(one, pooling) == blocks(other, pooling)
        assert len(blocks(one, pooling)) == 6
    with one.read() as cursor:
        noted = cursor.execute("SELECT model, n_texts FROM models ORDER BY 1").fetchall()
    assert noted == [("cls", N_TEXTS), ("last", N_TEXTS), ("mean", N_TEXTS)]


def test_what_comes_after_the_tokens_is_each_ones_own(tmp_path: Path, passes: list[int]) -> None:
    folder = tiny_bert(tmp_path / "bert")
    dense_folder(folder / "2_Dense")
    from safetensors.numpy import save_file

    weight = np.eye(8, dtype="<f4")[:2]
    save_file({"linear.weight": weight}, folder / "2_Dense" / "model.safetensors")
    add_pooling(folder, "mean", dense=["2_Dense"])
    asked = [
        ModelRequest(str(folder), "own"),  # the mean, then the Dense head: 2 dimensions
        ModelRequest(str(folder), "same", {"pooling": "mean"}),
        ModelRequest(str(folder), "cls", {"pooling": "cls", "storage": "float16"}),
        ModelRequest(str(folder), "cut", {"pooling": "cls", "truncate_dim": 3}),
        ModelRequest(str(folder), "long", {"pooling": "cls", "normalize": False}),
    ]
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")
    reports = together(one, asked)
    n_passes = len(passes)
    passes.clear()
    assert [told(report) for report in reports] == [told(report) for report in alone(other, asked)]
    assert len(passes) > 4 * n_passes - 8
    assert [(report.label, report.dim) for report in reports] == [
        ("own", 2),
        ("own", 2),
        ("cls", 8),
        ("cut", 3),
        ("long", 8),
    ]
    assert [report.n_encoded for report in reports] == [N_TEXTS, 0, N_TEXTS, N_TEXTS, N_TEXTS]
    assert arrays(one) == arrays(other)


def test_a_cut_model_and_the_whole_one_have_one_set_of_vectors(
    bert: Path, tmp_path: Path, passes: list[int]
) -> None:
    asked = variants(str(bert), None, {"pooling": ["mean", "cls"], "dims": [8, 4]})
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")
    reports = together(one, asked)
    n_passes = len(passes)
    assert [told(report) for report in reports] == [told(report) for report in alone(other, asked)]
    assert len(passes) == 3 * n_passes
    assert [report.label for report in reports] == [request.label for request in asked]
    assert len(arrays(one)) == 4
    assert arrays(one) == arrays(other)


def test_roles_with_prompts_of_their_own_share_passes_too(bert: Path, tmp_path: Path) -> None:
    asked = requests(bert, "mean", "cls", prompts={"query": "seat ", "document": "belt "})
    stores = filled(tmp_path / "one"), filled(tmp_path / "other")
    for store in stores:
        add_tuples(store, "main", [range(i, i + 7) for i in range(0, 60, 3)], levels=range(1, 7))
    found = list(embed_each(stores[0], asked, no_bar, runtime=RUNTIME))
    wanted = [embed(stores[1], each, runtime=RUNTIME) for each in asked]
    assert [told(report) for report in found] == [told(report) for report in wanted]
    assert arrays(stores[0]) == arrays(stores[1])


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_killed_between_two_appends_and_finished_no_byte_changes(
    graph: Path, tmp_path: Path, nth: int
) -> None:
    asked = requests(graph, "mean", "cls")
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")
    process = CONTEXT.Process(target=die, args=(one.path, asked, nth))
    process.start()
    process.join(60)
    assert process.exitcode == -9
    assert [len(blocks(one, name)) for name in ("mean", "cls")] == [(nth + 1) // 2, nth // 2]
    together(one, asked)
    alone(other, asked)
    assert arrays(one) == arrays(other)
    for each in asked:
        assert blocks(one, str(each.label)) == blocks(other, str(each.label))


def die(store: Path, asked: list[ModelRequest], nth: int) -> None:
    """Embeds, and dies once the nth line of any journal is written."""
    encoding.BLOCK_TEXTS = BLOCK
    INJECT["after a line"](Death(nth))
    together(StoreFolder(store, create=False), asked)


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_what_an_append_that_failed_left_behind_goes_first(
    network: Path, tmp_path: Path, nth: int, passes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = requests(network, "mean", "cls")
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")
    append, left = DenseRows.append, [2 * nth - 1]

    def full(self: Any, *block: Any) -> None:
        if left[0] == 0:
            raise WriteFailed("the disk is full")
        left[0] -= 1
        append(self, *block)

    with monkeypatch.context() as patched, pytest.raises(WriteFailed):
        patched.setattr(DenseRows, "append", full)
        together(one, asked)
    assert [len(blocks(one, name)) for name in ("mean", "cls")] == [nth, nth - 1]
    passes.clear()
    together(one, asked)
    n_texts = sum(passes) - n_tried(one, asked, passes)
    assert n_texts == N_TEXTS - (nth - 1) * BLOCK  # the block that one of them has counts for both
    alone(other, asked)
    assert arrays(one) == arrays(other)


def n_tried(store: StoreFolder, asked: list[ModelRequest], passes: list[int]) -> int:
    """Texts that loading a network sends through it."""
    before = len(passes)
    load(resolve(asked[0]), Context(RUNTIME))
    tried = passes[before:]
    del passes[before:]
    return sum(tried)


@pytest.mark.parametrize("n_before", [BLOCK + 5, 2 * BLOCK])
def test_where_one_has_vectors_already_the_bytes_are_those_of_one_after_another(
    bert: Path, tmp_path: Path, n_before: int
) -> None:
    asked = requests(bert, "mean", "cls")
    one, other = filled(tmp_path / "one", n_before), filled(tmp_path / "other", n_before)
    for store in (one, other):
        alone(store, asked[1:])
        add_patents(store, texts(N_TEXTS)[n_before:], first_id=n_before)
    found, wanted = together(one, asked), alone(other, asked)
    assert [told(report) for report in found] == [told(report) for report in wanted]
    assert [report.n_encoded for report in found] == [N_TEXTS, N_TEXTS - n_before]
    assert arrays(one) == arrays(other)


def test_one_that_is_up_to_date_costs_the_others_nothing(
    bert: Path, tmp_path: Path, passes: list[int]
) -> None:
    store = filled(tmp_path / "store")
    asked = requests(bert, "mean", "cls", "last")
    alone(store, asked[1:2])
    n_passes = len(passes)
    passes.clear()
    assert [report.n_encoded for report in together(store, asked)] == [N_TEXTS, 0, N_TEXTS]
    assert len(passes) == n_passes
    passes.clear()
    assert [report.n_encoded for report in together(store, asked)] == [0, 0, 0]
    assert passes == []


def test_a_folder_copied_from_another_store_is_not_encoded_again(
    bert: Path, tmp_path: Path, passes: list[int]
) -> None:
    asked = requests(bert, "mean", "cls")
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")
    (report,) = alone(other, asked[:1])
    shutil.copytree(other.vectors_path / report.spec_id, one.vectors_path / report.spec_id)
    n_passes = len(passes)
    passes.clear()
    assert [report.n_encoded for report in together(one, asked)] == [0, N_TEXTS]
    assert len(passes) == n_passes


def test_where_another_process_writes_one_of_them_none_is_encoded(
    bert: Path, tmp_path: Path, passes: list[int]
) -> None:
    store, other = filled(tmp_path / "store"), filled(tmp_path / "other")
    asked = requests(bert, "mean", "cls")
    alone(other, asked)
    busy, free = (rows_of(other, store, name) for name in ("cls", "mean"))
    with busy.writing(), pytest.raises(VectorsBusy, match=busy.folder.name):
        together(store, asked)
    assert (busy.n_rows, free.n_rows) == (0, 0)
    with free.writing(), busy.writing():  # nothing is held any longer
        pass
    assert [report.n_encoded for report in together(store, asked)] == [N_TEXTS, N_TEXTS]


def rows_of(known: StoreFolder, store: StoreFolder, label: str) -> Any:
    """The rows in a store of a spec that another store knows."""
    with known.read() as cursor:
        spec = labelled_spec(cursor, label)
    return open_rows(store.vectors_path / spec.spec_id, spec)


def test_a_pooling_that_the_folder_does_not_say_is_refused_as_alone(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert", pooling=None)
    store = filled(tmp_path / "store")
    asked = [ModelRequest(str(folder), "cls", {"pooling": "cls"}), ModelRequest(str(folder), "own")]
    with pytest.raises(ModelRefused) as by_itself:
        alone(store, asked[1:])
    with pytest.raises(ModelRefused) as beside:
        together(store, asked)
    assert (beside.value.what, beside.value.why) == (by_itself.value.what, by_itself.value.why)


def test_ctrl_c_leaves_each_with_the_same_blocks_and_the_rest_follows(
    bert: Path, tmp_path: Path
) -> None:
    asked = requests(bert, "mean", "cls")
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")

    @contextmanager
    def pressing(_label: str) -> Iterator[Progress]:
        yield lambda done, _total: signal.raise_signal(signal.SIGINT) if done else None

    with pytest.raises(KeyboardInterrupt):
        list(embed_each(one, asked, pressing, all_texts=True, runtime=RUNTIME))
    assert blocks(one, "mean") == blocks(one, "cls")
    assert 1 <= len(blocks(one, "mean")) < 5
    together(one, asked)
    alone(other, asked)
    assert arrays(one) == arrays(other)


def test_reports_come_in_the_order_asked_for_under_one_bar_a_network(
    bert: Path, tmp_path: Path
) -> None:
    store = filled(tmp_path / "store")
    mean, cls, last = requests(bert, "mean", "cls", "last", max_tokens=9)
    (short,) = requests(bert, "mean", max_tokens=5)
    short = replace(short, label="short")
    drawn: list[tuple[str, int, int]] = []

    @contextmanager
    def bar(label: str) -> Iterator[Progress]:
        yield lambda done, total: drawn.append((label, done, total))

    asked = [mean, ModelRequest("random"), cls, short, last]
    found = list(embed_each(store, asked, bar, all_texts=True, runtime=RUNTIME))
    assert [report.label for report in found] == ["mean", "random", "cls", "short", "last"]
    last_drawn = {label: (done, total) for label, done, total in drawn}
    assert last_drawn == {
        "mean, cls, last": (N_TEXTS, N_TEXTS),
        "random": (N_TEXTS, N_TEXTS),
        "short": (N_TEXTS, N_TEXTS),
    }
    subjects = {job.subject for job in read_jobs(store)}
    assert subjects == set(last_drawn)


def test_the_command_says_of_each_what_it_would_say_alone(bert: Path, tmp_path: Path) -> None:
    store = filled(tmp_path / "store")
    sweep = ["embed", str(bert), "--label", "tiny", "--pooling", "mean,cls", "--dims", "8,4"]
    options = ["--all", "--device", "cpu", "--threads", "1", "--store", str(store.path)]
    said = CliRunner().invoke(cli, [*sweep, *options]).stderr.splitlines()
    shown = [re.sub(r" · [\d,]+/s on cpu", "", line) for line in said]
    assert shown == [
        f"  tiny@mean@8d  {N_TEXTS} texts encoded",
        f"  tiny@mean@4d  up to date · {N_TEXTS} vectors",
        f"  tiny@cls@8d   {N_TEXTS} texts encoded",
        f"  tiny@cls@4d   up to date · {N_TEXTS} vectors",
    ]


def test_what_is_refused_later_keeps_nothing_from_being_embedded_first(
    bert: Path, tmp_path: Path
) -> None:
    store = filled(tmp_path / "store")
    asked = [*requests(bert, "mean"), ModelRequest("no-such-model"), *requests(bert, "cls")]
    reports = embed_each(store, asked, no_bar, all_texts=True, runtime=RUNTIME)
    assert next(reports).n_encoded == N_TEXTS
    with pytest.raises(ModelRefused, match="no-such-model"):
        next(reports)


def test_other_tokens_several_devices_and_refits_share_nothing(bert: Path, tmp_path: Path) -> None:
    store = StoreFolder(tmp_path / "store")

    def sharers(*asked: ModelRequest, device: str = "cpu", refit: bool = False) -> list[int]:
        found = find_sharers(store, dict(enumerate(asked)), Runtime(device), refit=refit)
        return list(found)

    mean, cls = requests(bert, "mean", "cls")
    assert sharers(mean, cls) == [0, 1]
    assert sharers(mean) == []
    assert sharers(mean, cls, device="cpu,cpu") == []
    assert sharers(mean, cls, refit=True) == []
    assert sharers(ModelRequest("random"), mean, cls) == []
    for settings in (
        {"max_tokens": 9},
        {"text": "title"},
        {"prompts": {"query": "a"}},
        {"arithmetic": "bf16"},
    ):
        assert sharers(mean, *requests(bert, "cls", **settings)) == []


def test_blocks_are_those_that_each_would_make_alone() -> None:
    def shown(missing: list[list[int]], size: int) -> list[tuple[tuple[int, ...], list[int]]]:
        arrays = [np.array(positions, dtype=np.int64) for positions in missing]
        return [(each.members, each.positions.tolist()) for each in passes_of(arrays, size)]

    assert shown([[], []], 2) == []
    assert shown([[3, 4, 5]], 2) == [((0,), [3, 4, 5])]
    assert shown([[3, 4, 5], [3, 4, 5]], 2) == [((0, 1), [3, 4, 5])]
    assert shown([[5], [3, 4, 5], []], 2) == [((1,), [3, 4]), ((0, 1), [5])]
    assert shown([[4, 5], [3, 4, 5]], 2) == [((0,), [4, 5]), ((1,), [3, 4, 5])]  # no whole block
    assert shown([[4, 6], [3, 4, 5, 6]], 2) == [((0,), [4, 6]), ((1,), [3, 4, 5, 6])]
