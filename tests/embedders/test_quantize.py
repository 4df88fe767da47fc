"""Weights of 8 bits: a graph and a spec of their own, with their drift beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from patcache.embedders.export import RECORD, export_onnx
from patcache.embedders.graph_texts import GRAPH_TEXTS
from patcache.embedders.onnx_graph import read_graph
from patcache.embedders.quantize import export_int8
from patcache.errors import ModelRefused
from tests.embedders.tiny import SENTENCES, minilm, opened, tiny

pytest.importorskip("onnxruntime")
pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")


def test_eight_bits_are_a_spec_of_their_own_with_its_drift_measured(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "bert", "bert")
    exact = opened(export_onnx(folder, tmp_path / "fp32").graph.parent)
    done = export_int8(folder, tmp_path / "int8", SENTENCES)
    eight = opened(tmp_path / "int8")
    assert eight.spec.identity["engine"]["arithmetic"] == "int8"
    assert exact.spec.identity["engine"]["arithmetic"] == "fp32"
    assert eight.spec.spec_id != exact.spec.spec_id
    wanted, found = (np.asarray(e.encode(SENTENCES, "query").vectors) for e in (exact, eight))
    cosines = (wanted * found).sum(axis=1)
    assert done.cosine_min == pytest.approx(cosines.min(), abs=1e-6)
    assert done.cosine_mean == pytest.approx(cosines.mean(), abs=1e-6)
    assert 0.9 < done.cosine_min < 0.999999  # near, and not the same
    record = json.loads((tmp_path / "int8" / RECORD).read_text())
    assert record["drift_from_fp32"] == {
        "n_texts": 5,
        "cosine_min": done.cosine_min,
        "cosine_mean": done.cosine_mean,
    }
    assert record["weight_type"] == done.weight_type
    assert record["fused"] == dict(done.fp32.fused)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bert", "fp32", "int8"]


def test_drift_without_a_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match="no texts"):
        export_int8(tmp_path, tmp_path / "int8", [])


def test_a_graph_is_int8_although_most_of_its_numbers_are_embeddings(tmp_path: Path) -> None:
    # A multilingual vocabulary in fp32 outweighs layers of 8 bits; a few 8-bit constants do not.
    assert read_graph(mixed(tmp_path / "a.onnx", n_floats=900, n_bytes=100)).arithmetic == "int8"
    assert read_graph(mixed(tmp_path / "b.onnx", n_floats=990, n_bytes=10)).arithmetic == "fp32"


def test_minilm_in_eight_bits_stays_near_itself(tmp_path: Path) -> None:
    done = export_int8(minilm(), tmp_path / "int8")
    # 0.991 and 0.993 on processors with and without 8-bit dot products.
    assert done.n_texts == len(GRAPH_TEXTS)
    assert done.cosine_min > 0.98
    assert done.cosine_mean > 0.985
    assert (tmp_path / "int8" / "model.onnx").stat().st_size < 30_000_000


def mixed(path: Path, n_floats: int, n_bytes: int) -> Path:
    from onnx import helper, numpy_helper

    tensors = [
        numpy_helper.from_array(np.zeros(n_floats, dtype=np.float32), "floats"),
        numpy_helper.from_array(np.zeros(n_bytes, dtype=np.int8), "bytes"),
    ]
    made = helper.make_graph([], "mixed", [], [], initializer=tensors)
    onnx.save(helper.make_model(made), path)
    return path
