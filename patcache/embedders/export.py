"""From a torch model folder to an ONNX folder: a graph by token, fused where it can be, checked."""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Resolved
from patcache.embedders.batches import pad
from patcache.embedders.finish import unit_length
from patcache.embedders.graph_texts import GRAPH_TEXTS
from patcache.embedders.hub import locate
from patcache.embedders.installed import quieten_transformers, versions
from patcache.embedders.model_folder import position_limit, read_json, weight_files
from patcache.embedders.onnx import INPUTS, open_tokenizer
from patcache.embedders.presets import resolve
from patcache.errors import ModelRefused, WriteFailed, in_one_line
from patcache.records import ModelRequest

if TYPE_CHECKING:
    from patcache.records import FloatArray

OPSET = 17
GRAPH = "model.onnx"
RECORD = "patcache_export.json"
CHECK_TOKENS = 64
LARGEST_DIFFERENCE = 1e-4
ONE_FILE_BYTES = 1_900_000_000  # a protocol buffer ends at 2 GB
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
    """A graph that was written: where, what of it was fused, how near it is to torch.

    family: the model_type of config.json. fused: operators of each kind.
    largest_difference: of any number between the two engines' token vectors of length 1.
    """

    graph: Path
    family: str
    fused: Mapping[str, int]
    largest_difference: float


def export_onnx(model_folder: Path, out_folder: Path) -> Export:
    """Writes model.onnx with the tokenizer and settings beside it, and what was fused.

    Inputs are input_ids, attention_mask and, for families that have them, token_type_ids;
    the output is last_hidden_state. Arithmetic stays float32. An earlier export is replaced.
    Errors: ModelRefused where a package is missing, the folder has no safetensors or tokenizer,
    out_folder holds something else, or the graph does not give what torch gives.
    """
    _require(model_folder)
    size_bytes = sum(path.stat().st_size for path in weight_files(model_folder, model_folder.name))
    _check_tokenizer(model_folder)
    family = str(read_json(model_folder / "config.json").get("model_type", "unknown"))
    with replaced_folder(out_folder) as aside:
        model = _open_eager(model_folder)
        copy_settings(model_folder, aside)
        with tempfile.TemporaryDirectory(dir=aside.parent) as plain:
            _trace(model, Path(plain) / GRAPH, family)
            fused, difference = _fuse_and_check(model, Path(plain) / GRAPH, aside, size_bytes)
        write_record(
            aside,
            {
                "family": family,
                "fused": dict(fused),
                "largest_difference_to_torch": difference,
                "arithmetic": "fp32",
                "opset": OPSET,
                **versions("torch", "transformers", "onnx", "onnxruntime"),
            },
        )
    return Export(out_folder / GRAPH, family, fused, difference)


def torch_model(name: str) -> tuple[Resolved, Path]:
    """What a name of a torch model stands for (a preset, folder or hub name), and its folder.

    Errors: ModelRefused where it is no model of that kind, or neither here nor to be fetched.
    """
    resolved = resolve(ModelRequest(name))
    if resolved.kind != "transformer":
        raise ModelRefused(
            f"{name} cannot be exported to ONNX",
            f"it is a {resolved.kind} model; what can be is a network by torch",
            "name a folder or hub name with safetensors weights, or a preset of one",
        )
    settings = resolved.settings
    return resolved, locate(settings["model"], settings["revision"], resolved.label)


@contextmanager
def replaced_folder(out_folder: Path) -> Iterator[Path]:
    """A folder to fill, which takes the name out_folder when all went well.

    Errors: ModelRefused where out_folder holds something that was not exported by patcache;
    WriteFailed.
    """
    if out_folder.exists() and not out_folder.is_dir():
        raise ModelRefused(f"{out_folder} is a file", "", "name a folder for the graph")
    is_ours = (out_folder / RECORD).is_file()
    if out_folder.is_dir() and not is_ours and any(out_folder.iterdir()):
        raise ModelRefused(
            f"{out_folder} is not empty, and no graph that patcache exported",
            f"it has no {RECORD}",
            "name a new folder",
        )
    try:
        out_folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=out_folder.parent) as parent:
            aside = Path(parent) / "new"
            aside.mkdir()
            yield aside
            if out_folder.is_dir():
                out_folder.rename(Path(parent) / "old")
            aside.rename(out_folder)
    except OSError as error:
        raise WriteFailed(
            f"{out_folder} cannot be written",
            in_one_line(error),
            "nothing is left behind; name a folder that can be written, on a disk with room",
        ) from error


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    (folder / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")


def copy_settings(model_folder: Path, out_folder: Path) -> None:
    """Tokenizer, pooling and Dense heads, so that the folder says all that the first one did."""
    for name in _COPIED:
        if (model_folder / name).is_file():
            shutil.copyfile(model_folder / name, out_folder / name)
    for folder in model_folder.glob("[0-9]_*"):
        if folder.is_dir():
            shutil.copytree(folder, out_folder / folder.name, dirs_exist_ok=True)


def _open_eager(model_folder: Path) -> Any:
    """The network with attention in single steps, which can be traced and fused."""
    import torch
    from transformers import AutoModel

    quieten_transformers()
    try:
        model = AutoModel.from_pretrained(
            model_folder,
            dtype=torch.float32,
            use_safetensors=True,
            local_files_only=True,
            attn_implementation="eager",
        )
    except Exception as error:  # transformers and safetensors raise many kinds
        raise ModelRefused(
            f"{model_folder} cannot be loaded to export it", in_one_line(error)
        ) from error
    model.config.use_cache = False
    return model.eval()


def _trace(model: Any, target: Path, family: str) -> None:
    """Writes the network as torch traces it. Errors: ModelRefused naming the family."""
    import torch

    has_types = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
    names = list(INPUTS if has_types else INPUTS[:2])
    example = torch.ones((2, 7), dtype=torch.int64)
    axes = {name: {0: "batch", 1: "tokens"} for name in [*names, "last_hidden_state"]}

    def forward(self: Any, *inputs: Any) -> Any:
        return self.network(**dict(zip(names, inputs, strict=True))).last_hidden_state

    by_token: Any = type("ByToken", (torch.nn.Module,), {"forward": forward})()
    by_token.network = model
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # the tracer's notes on constants, and its age
            torch.onnx.export(
                by_token.eval(),
                tuple(example for _ in names),
                str(target),
                input_names=names,
                output_names=["last_hidden_state"],
                dynamic_axes=axes,
                opset_version=OPSET,
                dynamo=False,
            )
    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
        first = str(error).strip().splitlines()[0][:300] if str(error).strip() else ""
        raise ModelRefused(
            f"models of the family {family} cannot be exported to ONNX",
            f"{type(error).__name__}: {first}",
            "run it by torch: --engine torch",
        ) from error


def _fuse_and_check(
    model: Any, plain: Path, folder: Path, size_bytes: int
) -> tuple[dict[str, int], float]:
    """What was fused, and the largest difference to torch of the graph that was written.

    Attention of families like BART is fused as if it saw the words to come: then without it.
    Errors: ModelRefused where even that graph does not give what torch gives.
    """
    for with_attention in (True, False):
        fused = _fuse(plain, folder / GRAPH, model.config, size_bytes, with_attention)
        difference = _difference(model, folder)
        if difference <= LARGEST_DIFFERENCE:
            return fused, difference
    raise ModelRefused(
        f"the graph does not give what torch gives, of the family {model.config.model_type}",
        f"numbers of its token vectors differ by up to {difference:.2g}",
        "run it by torch: --engine torch",
    )


def _fuse(
    plain: Path, target: Path, config: Any, size_bytes: int, with_attention: bool
) -> dict[str, int]:
    """Writes the graph with what ONNX Runtime can fuse; how many of each kind it did."""
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    options = FusionOptions("bert")
    options.enable_attention = with_attention

    optimized = optimize_model(
        str(plain),
        model_type="bert",  # the only one of its families that fits encoders of any kind
        num_heads=int(getattr(config, "num_attention_heads", 0) or 0),
        hidden_size=int(getattr(config, "hidden_size", 0) or 0),
        optimization_options=options,
        opt_level=0,
        use_gpu=False,
    )
    is_large = size_bytes > ONE_FILE_BYTES
    optimized.save_model_to_file(str(target), use_external_data_format=is_large)
    found = optimized.get_fused_operator_statistics()
    return {name: int(count) for name, count in found.items() if count}


def _difference(model: Any, folder: Path) -> float:
    """The largest difference of token vectors of length 1, between the graph and torch.

    Texts of different lengths, each alone and all in one batch beside each other.
    """
    import onnxruntime
    import torch

    limit = position_limit(read_json(folder / "config.json")) or CHECK_TOKENS
    tokenizer = open_tokenizer(folder / "tokenizer.json", min(CHECK_TOKENS, limit))
    rows = [row for row in (tokenizer.encode(text).ids for text in GRAPH_TEXTS) if row]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(folder / GRAPH), options, providers=["CPUExecutionProvider"]
    )
    together = _by_graph(session, rows)
    largest = 0.0
    for row, beside in zip(rows, together, strict=True):
        with torch.inference_mode():
            hidden = model(input_ids=torch.tensor([row])).last_hidden_state[0].numpy()
        for found in (beside, _by_graph(session, [row])[0]):
            gap = np.abs(unit_length(hidden) - unit_length(found)).max()
            largest = max(largest, float(gap)) if np.isfinite(gap) else float("inf")
    return largest


def _by_graph(session: Any, rows: list[list[int]]) -> list[FloatArray]:
    """Token vectors of each text by a graph, all in one batch."""
    ids, mask = pad(rows)
    columns = dict(zip(INPUTS, (ids, mask, np.zeros_like(ids)), strict=True))
    feed = {entry.name: columns[entry.name] for entry in session.get_inputs()}
    hidden = session.run(None, feed)[0]
    return [hidden[i, : len(row)] for i, row in enumerate(rows)]


def _check_tokenizer(model_folder: Path) -> None:
    """Errors: ModelRefused where the graph would read other tokens than torch does."""
    from transformers import AutoTokenizer

    path = model_folder / "tokenizer.json"
    why = "it has no tokenizer.json, which the graph is run with"
    if path.is_file():
        try:
            theirs = AutoTokenizer.from_pretrained(model_folder, local_files_only=True)
        except Exception as error:  # transformers raises many kinds
            raise ModelRefused(
                f"{model_folder} cannot be loaded to export it", in_one_line(error)
            ) from error
        ours = open_tokenizer(path, CHECK_TOKENS)
        wanted = [theirs(text, truncation=True, max_length=CHECK_TOKENS) for text in GRAPH_TEXTS]
        if [t["input_ids"] for t in wanted] == [ours.encode(text).ids for text in GRAPH_TEXTS]:
            return
        why = "its tokenizer.json gives other tokens than transformers does"
    raise ModelRefused(
        f"{model_folder} cannot be exported to ONNX",
        why,
        "write it anew: transformers.AutoTokenizer.from_pretrained(...).save_pretrained(...)",
    )


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
