"""Every family: a text's vector is the same in any batch, by torch and by the exported graph."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from patcache.embedders import export as export_module
from patcache.embedders.base import Context
from patcache.embedders.export import Export, export_onnx
from patcache.errors import ModelRefused
from patcache.records import Runtime
from tests.embedders.tiny import FAMILIES, SENTENCES, WORDS, copied, opened, tiny

if TYPE_CHECKING:
    from patcache.records import FloatArray

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
torch = pytest.importorskip("torch")

LIMIT = 32
LONG = " ".join(WORDS * 10)
# 70 texts from 1 to 32 tokens and one that is cut, short beside long.
TEXTS = [*SENTENCES * 8, *(" ".join((WORDS * 4)[: 1 + n]) for n in range(30)), LONG]
ATTENTION_FUSED = {"bert", "roberta", "distilbert"}
RARER = {"mistral", "distilbert"}  # near one of the others; with -m slow
PARAMETERS = [
    pytest.param(family, marks=pytest.mark.slow) if family in RARER else family
    for family in FAMILIES
]


@dataclass(frozen=True)
class Both:
    """A family's tiny model by torch and as a graph, and its vectors, text by text, by torch."""

    family: str
    folder: Path
    export: Export
    alone: FloatArray

    @property
    def graph_folder(self) -> Path:
        return self.export.graph.parent


@pytest.fixture(scope="module", params=PARAMETERS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    family = request.param
    folder = tiny(tmp_path_factory.mktemp(family), family)
    export = export_onnx(folder, tmp_path_factory.mktemp(f"{family}-graph"))
    return Both(family, folder, export, vectors(folder, batch_tokens=1))


def vectors(folder: Path, batch_tokens: int | None, name: str = "") -> FloatArray:
    runtime = Runtime(device="cpu", threads=1, batch_tokens=batch_tokens)
    encoded = opened(f"{folder}{name}", Context(runtime)).encode(TEXTS, "document")
    assert encoded.n_truncated == 1
    found: Any = encoded.vectors
    return np.asarray(found)


@pytest.mark.parametrize("n_texts", [1, 7, 64])
def test_by_torch_neither_batch_nor_company_changes_a_vector(both: Both, n_texts: int) -> None:
    found = vectors(both.folder, n_texts * LIMIT)
    np.testing.assert_allclose(found, both.alone, atol=1e-5)


@pytest.mark.parametrize("n_texts", [None, 1, 7, 64])
def test_the_graph_gives_torchs_vectors_alone_and_in_batches(
    both: Both, n_texts: int | None
) -> None:
    found = vectors(both.graph_folder, n_texts and n_texts * LIMIT)
    np.testing.assert_allclose(found, both.alone, atol=1e-5)


@pytest.mark.parametrize("pooling", ["@cls", "@last"])
def test_other_poolings_agree_too(both: Both, pooling: str) -> None:
    alone = vectors(both.folder, 1, pooling)
    np.testing.assert_allclose(vectors(both.folder, 64 * LIMIT, pooling), alone, atol=1e-5)
    np.testing.assert_allclose(vectors(both.graph_folder, None, pooling), alone, atol=1e-5)
    np.testing.assert_allclose(vectors(both.graph_folder, 64 * LIMIT, pooling), alone, atol=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_tokenizers_own_padding_does_not_count(both: Both, side: str, tmp_path: Path) -> None:
    # tokenizer.json that pads to 30 on a side, tokenizer_config.json that says the side and 1e30.
    for name, folder in (("torch", both.folder), ("graph", both.graph_folder)):
        padding = copied(folder, tmp_path / name)
        content = json.loads((padding / "tokenizer.json").read_text())
        content["padding"] = {
            "strategy": {"Fixed": 30}, "direction": side.capitalize(), "pad_to_multiple_of": None,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
        }  # fmt: skip
        (padding / "tokenizer.json").write_text(json.dumps(content))
        config = json.loads((padding / "tokenizer_config.json").read_text())
        config |= {"padding_side": side, "model_max_length": 10**30}
        (padding / "tokenizer_config.json").write_text(json.dumps(config))
        np.testing.assert_allclose(vectors(padding, 7 * LIMIT), both.alone, atol=1e-5)


def test_what_was_fused_and_how_near_torch_it_is_stand_in_the_record(both: Both) -> None:
    record = json.loads((both.graph_folder / export_module.RECORD).read_text())
    assert record["family"] == both.export.family == both.family
    assert record["fused"] == dict(both.export.fused)
    assert 0 <= record["largest_difference_to_torch"] <= 1e-5
    fused = both.export.fused
    norms = sum(count for name, count in fused.items() if "LayerNormalization" in name)
    assert norms > 0
    if both.family in ATTENTION_FUSED:
        assert fused["Attention"] == 2  # one a layer
    else:
        assert "Attention" not in fused


def test_attention_by_torch_is_its_own_where_the_family_has_it(both: Both) -> None:
    attention = opened(both.folder).provenance["attention"]
    assert attention == ("eager" if both.family == "mpnet" else "sdpa")


def test_a_budget_of_tokens_is_kept_and_recorded(both: Both) -> None:
    for folder in (both.folder, both.graph_folder):
        embedder = opened(folder, Context(Runtime(device="cpu", threads=1, batch_tokens=77)))
        embedder.encode(TEXTS, "document")
        assert embedder.provenance["batch_tokens"] == 77
        assert embedder.provenance["threads"] == 1


def test_a_graph_that_is_not_what_torch_gives_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny(tmp_path / "bert", "bert")
    fuse = export_module._fuse

    def wrong(plain: Path, target: Path, *rest: Any) -> dict[str, int]:
        import onnx
        from onnx import numpy_helper

        fused = fuse(plain, target, *rest)
        model = onnx.load(target)
        first = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
        moved = numpy_helper.to_array(first) * np.float32(1.1)
        first.CopyFrom(numpy_helper.from_array(moved, first.name))
        onnx.save(model, target)
        return fused

    monkeypatch.setattr(export_module, "_fuse", wrong)
    with pytest.raises(ModelRefused, match="does not give what torch gives"):
        export_onnx(folder, tmp_path / "graph")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bert"]


def test_a_family_that_cannot_be_traced_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny(tmp_path / "gpt2", "gpt2")

    def untraceable(*_: Any, **__: Any) -> None:
        raise RuntimeError("Unsupported: ONNX export of operator unfold\nmore")

    monkeypatch.setattr(torch.onnx, "export", untraceable)
    with pytest.raises(ModelRefused, match="family gpt2 cannot be exported") as refusal:
        export_onnx(folder, tmp_path / "graph")
    assert "operator unfold" in refusal.value.why
    assert "--engine torch" in refusal.value.todo


def test_weights_too_large_for_one_file_lie_beside_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny(tmp_path / "bert", "bert")
    whole = opened(export_onnx(folder, tmp_path / "whole").graph.parent)
    monkeypatch.setattr(export_module, "ONE_FILE_BYTES", 100)
    parted = export_onnx(folder, tmp_path / "parted")
    assert (tmp_path / "parted" / "model.onnx.data").is_file()
    found = opened(parted.graph.parent)
    assert np.array_equal(
        found.encode(SENTENCES, "query").vectors, whole.encode(SENTENCES, "query").vectors
    )


def test_an_export_replaces_an_export_and_nothing_else(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "bert", "bert")
    first = export_onnx(folder, tmp_path / "graph")
    (first.graph.parent / "old.txt").write_text("of the first export")
    second = export_onnx(folder, tmp_path / "graph")
    assert second == first
    assert not (tmp_path / "graph" / "old.txt").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises(ModelRefused, match="is not empty"):
        export_onnx(folder, tmp_path / "mine")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep me"
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelRefused, match="cannot be exported") as refusal:
        export_onnx(folder, tmp_path / "other")
    assert "no tokenizer.json" in refusal.value.why
