"""From a torch model folder to an ONNX folder: a graph by token, fused where it can be."""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patcache.embedders.installed import quieten_transformers, versions
from patcache.embedders.model_folder import read_json, weight_files
from patcache.errors import ModelRefused

OPSET = 17
RECORD = "patcache_export.json"
_COPIED = (
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
)


@dataclass(frozen=True, slots=True)
class Export:
    """A graph that was written: where, and how many operators of each kind were fused."""

    graph: Path
    fused: Mapping[str, int]


def export_onnx(model_folder: Path, out_folder: Path) -> Export:
    """Writes model.onnx with the tokenizer and settings beside it, and what was fused.

    Inputs are input_ids, attention_mask and, for families that have them, token_type_ids;
    the output is last_hidden_state. Arithmetic stays float32.
    Errors: ModelRefused where a package is missing or the folder has no safetensors.
    """
    _require(model_folder)
    weight_files(model_folder, model_folder.name)
    config = read_json(model_folder / "config.json")
    out_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out_folder) as aside:
        plain = Path(aside) / "plain.onnx"
        _trace(model_folder, plain)
        fused = _fuse(plain, out_folder / "model.onnx", config)
    _copy_settings(model_folder, out_folder)
    record = {
        "fused": dict(fused),
        "opset": OPSET,
        **versions("torch", "transformers", "onnx", "onnxruntime"),
    }
    (out_folder / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
    return Export(out_folder / "model.onnx", fused)


def _trace(model_folder: Path, target: Path) -> None:
    """Writes the network as torch traces it, with eager attention, which can be fused."""
    import torch
    from transformers import AutoModel

    quieten_transformers()
    model = AutoModel.from_pretrained(
        model_folder,
        dtype=torch.float32,
        use_safetensors=True,
        local_files_only=True,
        attn_implementation="eager",
    ).eval()
    has_types = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
    names = ["input_ids", "attention_mask"] + ["token_type_ids"] * has_types
    example = torch.ones((2, 7), dtype=torch.int64)
    axes = {name: {0: "batch", 1: "tokens"} for name in [*names, "last_hidden_state"]}

    def forward(self: Any, *inputs: Any) -> Any:
        return self.network(**dict(zip(names, inputs, strict=True))).last_hidden_state

    by_token: Any = type("ByToken", (torch.nn.Module,), {"forward": forward})()
    by_token.network = model
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the tracer's notes on constants, and its age
        torch.onnx.export(
            by_token,
            tuple(example for _ in names),
            str(target),
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )


def _fuse(plain: Path, target: Path, config: Mapping[str, Any]) -> dict[str, int]:
    """Writes the graph with what ONNX Runtime can fuse; how many of each kind it did."""
    from onnxruntime.transformers.optimizer import optimize_model

    optimized = optimize_model(
        str(plain),
        model_type="bert",  # the only one of its families that fits encoders of any kind
        num_heads=int(config.get("num_attention_heads") or 0),
        hidden_size=int(config.get("hidden_size") or 0),
        opt_level=0,
        use_gpu=False,
    )
    optimized.save_model_to_file(str(target), use_external_data_format=False)
    found = optimized.get_fused_operator_statistics()
    return {name: int(count) for name, count in found.items() if count}


def _copy_settings(model_folder: Path, out_folder: Path) -> None:
    """Tokenizer, pooling and Dense heads, so that the folder says all that the first one did."""
    for name in _COPIED:
        if (model_folder / name).is_file():
            shutil.copyfile(model_folder / name, out_folder / name)
    for folder in model_folder.glob("[0-9]_*"):
        if folder.is_dir():
            shutil.copytree(folder, out_folder / folder.name, dirs_exist_ok=True)


def _require(model_folder: Path) -> None:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise ModelRefused(
            f"{model_folder} cannot be exported to ONNX",
            str(error),
            "pip install 'patcache[export]'",
        ) from error
