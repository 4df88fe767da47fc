"""A network of transformers on a device by torch: opened, placed, and what is noted of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patcache.embedders.installed import quieten_transformers, versions
from patcache.errors import ModelRefused, in_one_line
from patcache.records import Runtime

BATCH_TOKENS = {"cpu": 1024, "mps": 8192, "cuda": 16_384}
LARGE_CARD_BYTES, LARGE_CARD_TOKENS = 40_000_000_000, 65_536

log = logging.getLogger(__name__)


def require_torch(label: str) -> None:
    """Errors: ModelRefused where torch or transformers is missing, naming the extra."""
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise ModelRefused(
            f"{label} needs torch and transformers", str(error), "pip install 'patcache[torch]'"
        ) from error


def pick_device(runtime: Runtime, label: str) -> str:
    """The device asked for, or the best there is.

    Errors: ModelRefused if it is not there and the CPU is not allowed instead.
    """
    import torch

    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    asked = runtime.device
    if asked == "auto":
        return next((name for name, is_there in has.items() if is_there), "cpu")
    kind, _, number = asked.partition(":")
    is_there = kind == "cpu" or has.get(kind, False)
    if kind == "cuda" and number and is_there:
        is_there = int(number) < torch.cuda.device_count()
    if is_there:
        return asked
    if runtime.allow_cpu:
        return "cpu"
    raise ModelRefused(
        f"asked for {asked} for {label}, but torch {torch.__version__} does not have it here",
        f"it has cpu{''.join(', ' + name for name, is_there in has.items() if is_there)}",
        "drop the device, or allow the CPU (--allow-cpu)",
    )


def batch_tokens(device: str) -> int:
    """Tokens in a batch that suit a device: few on a CPU, more where there is memory for them."""
    import torch

    kind = device.partition(":")[0]
    if kind == "cuda" and torch.cuda.get_device_properties(device).total_memory >= LARGE_CARD_BYTES:
        return LARGE_CARD_TOKENS
    return BATCH_TOKENS.get(kind, BATCH_TOKENS["cpu"])


def open_network(
    folder: Path,
    device: str,
    label: str,
    *,
    auto: str = "AutoModel",
    arithmetic: str = "fp32",
    is_trusted: bool = False,
) -> tuple[Any, Any, list[str]]:
    """Tokenizer and network, ready to compute, and the names of weights that the folder lacks.

    auto: which of transformers' AutoModel classes. is_trusted: whether the folder's code may run.
    Errors: ModelRefused where transformers cannot load it.
    """
    import torch
    from transformers import AutoTokenizer

    quieten_transformers()  # what matters of its reports, missing weights, is given back
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[arithmetic]
    torch.set_float32_matmul_precision("highest")  # no TF32
    torch.backends.cudnn.allow_tf32 = False
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": is_trusted}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
        model, found = _open(folder, auto, {**options, "dtype": dtype})
    except Exception as error:  # transformers and safetensors raise many kinds
        raise ModelRefused(f"{label} cannot be loaded from {folder}", in_one_line(error)) from error
    tokenizer.truncation_side = "right"  # the beginning of a text counts, for every engine
    model.config.use_cache = False  # keys and values are for generating text
    return tokenizer, model.eval().to(device), sorted(found["missing_keys"])


def refuse_missing(missing: list[str], folder: Path, label: str, todo: str = "") -> None:
    """Errors: ModelRefused where weights are missing: they would be random numbers."""
    if missing:
        raise ModelRefused(
            f"{label} lacks weights, which would be random numbers",
            f"{len(missing)} tensors are not in {folder}, such as {missing[0]}",
            todo,
        )


def provenance_of(
    folder: Path, runtime: Runtime, device: str, model: Any, arithmetic: str, label: str
) -> dict[str, Any]:
    """What is noted with each block; a warning is logged for arithmetic the device lacks."""
    import torch

    native = _is_native(arithmetic, device)
    if native is False:
        log.warning(
            "%s computes in %s, which this %s does not have: 7 to 60 times slower than fp32",
            label,
            arithmetic,
            device,
        )
    return {
        **versions("torch", "transformers", "tokenizers", "numpy"),
        "threads": runtime.threads or torch.get_num_threads(),
        "attention": getattr(model.config, "_attn_implementation", None),
        "is_native": native,
        "gpu": torch.cuda.get_device_name(device) if device.startswith("cuda") else None,
        "folder": str(folder),
    }


def _is_native(arithmetic: str, device: str) -> bool | None:
    """Whether a device computes in that format itself; None where torch cannot say."""
    import torch

    if arithmetic == "fp32":
        return True
    if device.startswith("cuda"):
        return arithmetic == "fp16" or torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = getattr(torch.cpu, "get_capabilities", None)
    if device != "cpu" or capabilities is None:
        return None
    return any(has for name, has in capabilities().items() if arithmetic in name)


def _open(folder: Path, auto: str, options: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """The network with torch's own attention where its family has it, and what was loaded."""
    import transformers

    more = {"use_safetensors": True, "output_loading_info": True, **options}
    kind = getattr(transformers, auto)
    try:
        found = kind.from_pretrained(folder, attn_implementation="sdpa", **more)
    except ValueError as error:
        if "scaled_dot_product_attention" not in str(error):
            raise
        found = kind.from_pretrained(folder, attn_implementation="eager", **more)
    model, report = found
    return model, report
