"""A graph with weights of 8 bits: smaller, faster, another model, and how far it has moved."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from patcache.embedders.base import Context, load
from patcache.embedders.export import (
    GRAPH,
    RECORD,
    Export,
    copy_settings,
    export_onnx,
    replaced_folder,
    write_record,
)
from patcache.embedders.graph_texts import GRAPH_TEXTS
from patcache.embedders.model_folder import read_json
from patcache.embedders.presets import resolve
from patcache.errors import ModelRefused
from patcache.records import ModelRequest, Runtime

if TYPE_CHECKING:
    from patcache.records import DoubleArray

WEIGHT_TYPES = ("QInt8", "QUInt8")  # the first is faster; which is nearer depends on the processor


@dataclass(frozen=True, slots=True)
class Int8Export:
    """A graph of 8-bit weights, and the cosines of its vectors with those of the fp32 graph.

    fp32: of the graph it was made from. weight_type: the one of WEIGHT_TYPES that moved less.
    """

    graph: Path
    fp32: Export
    weight_type: str
    n_texts: int
    cosine_min: float
    cosine_mean: float


def export_int8(
    model_folder: Path, out_folder: Path, texts: Sequence[str] = GRAPH_TEXTS
) -> Int8Export:
    """Writes the fp32 graph aside, its weights in 8 bits by channel to out_folder, and its drift.

    Both kinds of 8-bit numbers are tried on this processor, and the one kept that is nearer by
    more than 0.001 of mean cosine, else the faster one.
    Errors: those of export_onnx.
    """
    if not texts:
        raise ModelRefused("no texts to measure the drift of 8-bit weights by")
    with replaced_folder(out_folder) as aside, tempfile.TemporaryDirectory() as scratch:
        exact = export_onnx(model_folder, Path(scratch) / "fp32")
        folders = {kind: Path(scratch) / kind for kind in WEIGHT_TYPES}
        cosines = {kind: _drift(exact, kind, folder, texts) for kind, folder in folders.items()}
        best = max(cosines, key=lambda kind: round(float(cosines[kind].mean()), 3))
        shutil.copytree(folders[best], aside, dirs_exist_ok=True)
        write_record(aside, _record(exact, cosines, best))
    found = cosines[best]
    graph = out_folder / GRAPH
    return Int8Export(graph, exact, best, len(found), float(found.min()), float(found.mean()))


def _drift(exact: Export, kind: str, folder: Path, texts: Sequence[str]) -> DoubleArray:
    """Cosines, text by text, of a graph quantized into folder with the exact one."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    folder.mkdir()
    copy_settings(exact.graph.parent, folder)
    root = logging.getLogger()
    root.addFilter(_is_no_advice)
    try:
        quantize_dynamic(
            str(exact.graph),
            str(folder / GRAPH),
            weight_type=QuantType[kind],
            per_channel=True,
            use_external_data_format=any(exact.graph.parent.glob(f"{GRAPH}.*")),
            extra_options={"DefaultTensorType": TensorProto.FLOAT},  # of fused operators
        )
    finally:
        root.removeFilter(_is_no_advice)
    wanted, found = (_vectors(path, texts) for path in (exact.graph.parent, folder))
    cosines: DoubleArray = (wanted * found).sum(axis=1)
    return cosines


def _is_no_advice(record: logging.LogRecord) -> bool:
    """False for what the quantizer says to anybody whose graph it did not prepare itself."""
    return "pre-processing before quantization" not in record.getMessage()


def _vectors(folder: Path, texts: Sequence[str]) -> DoubleArray:
    request = ModelRequest(str(folder), settings=_pooling(folder))
    embedder = load(resolve(request), Context(Runtime(device="cpu")))
    vectors: DoubleArray = np.asarray(embedder.encode(texts, "document").vectors, dtype=np.float64)
    return vectors


def _pooling(folder: Path) -> dict[str, str]:
    """None where the folder says how to pool; drift is of vectors, so else of the mean."""
    return {} if (folder / "1_Pooling" / "config.json").is_file() else {"pooling": "mean"}


def _record(exact: Export, cosines: Mapping[str, DoubleArray], best: str) -> dict[str, object]:
    drift = {
        kind: {"cosine_min": float(found.min()), "cosine_mean": float(found.mean())}
        for kind, found in cosines.items()
    }
    return {
        **read_json(exact.graph.parent / RECORD),
        "arithmetic": "int8",
        "weight_type": best,
        "per_channel": True,
        "drift_from_fp32": {"n_texts": len(cosines[best]), **drift[best]},
        "drift_by_weight_type": drift,
    }
