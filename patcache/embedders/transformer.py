"""Networks of transformers by torch: the reference, and the way on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.finish import Finish
from patcache.embedders.hub import locate
from patcache.embedders.installed import quieten_transformers, versions
from patcache.embedders.model_folder import (
    config_digest,
    identity_of,
    read_facts,
    read_json,
    tokenizer_digest,
    weight_files,
    weights_digest,
)
from patcache.errors import ModelRefused
from patcache.records import Role, Runtime, Spec

if TYPE_CHECKING:
    import torch

    from patcache.records import FloatArray

PROBE = "Ein Verfahren, USB-C 3.5mm Ünïcode 混凝土 AND\tlithium-ion"
BATCH_TOKENS = {"cpu": 1024, "mps": 8192, "cuda": 16_384}


class TransformerEmbedder:
    """Texts in batches of like length, by a budget of tokens; padded on the right and masked.

    A text without a token has the zero vector.
    """

    def __init__(
        self,
        spec: Spec,
        model: Any,
        tokenizer: Any,
        finish: Finish,
        width: int,
        provenance: Mapping[str, Any],
    ) -> None:
        self.spec = spec
        self.device = str(next(model.parameters()).device)
        self._model = model
        self._tokenizer = tokenizer
        self._finish = finish
        self._width = width
        self._budget = BATCH_TOKENS.get(self.device.partition(":")[0], 1024)
        self.provenance: Mapping[str, Any] = {**provenance, "batch_tokens": self._budget}

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i].

        Errors: ModelRefused for numbers beyond fp16, or where one text alone is out of memory.
        """
        rows, n_truncated = self._tokens(texts)
        pooled = np.zeros((len(texts), self._width), dtype=np.float32)
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: len(rows[i]))
        done = 0
        while done < len(order):
            waiting = order[done : done + self._budget]  # more could not fit
            batch = next(batches([len(rows[i]) for i in waiting], self._budget))
            members = waiting[batch.start : batch.stop]
            found = self._try(pad([rows[i] for i in members]))
            if found is None:
                self._halve(len(members), max(len(rows[i]) for i in members))
                continue
            pooled[members] = found
            done += len(members)
        self._check_overflow(pooled)
        return Encoded(self._finish(pooled), n_truncated)

    def _tokens(self, texts: Sequence[str]) -> tuple[list[list[int]], int]:
        """Token ids of each text, cut to fit, and how many had to be cut."""
        limit = self.spec.identity["max_tokens"]
        if not texts:
            return [], 0
        tokens = self._tokenizer(
            list(texts), truncation=True, max_length=limit, return_attention_mask=False
        )
        encodings = getattr(tokens, "encodings", None)
        if encodings is not None:
            return tokens["input_ids"], sum(bool(e.overflowing) for e in encodings)
        whole = self._tokenizer(list(texts), truncation=False, return_attention_mask=False)
        return tokens["input_ids"], sum(len(ids) > limit for ids in whole["input_ids"])

    def _try(self, batch: tuple[Any, Any]) -> FloatArray | None:
        """Pooled vectors of a batch, or None if the device has not the memory for it."""
        import torch

        ids, mask = (torch.from_numpy(array).to(self.device) for array in batch)
        try:
            with torch.inference_mode():
                hidden = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
                pooled: FloatArray = pool(hidden, mask, self.spec.identity["pooling"]).cpu().numpy()
                return pooled
        except RuntimeError as error:  # torch's own OutOfMemoryError is one, and others say so
            if "out of memory" not in str(error).lower():
                raise
            return None

    def _halve(self, n_texts: int, longest: int) -> None:
        if n_texts == 1:
            raise ModelRefused(
                f"{self.spec.label} does not fit into the memory of {self.device}",
                f"one text of {longest} tokens is already too much",
                "give a smaller max_tokens, arithmetic=bf16, or another device",
            )
        import torch

        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        self._budget = min(self._budget, n_texts * longest) // 2
        self.provenance = {**self.provenance, "batch_tokens": self._budget}

    def _check_overflow(self, pooled: FloatArray) -> None:
        arithmetic = self.spec.identity["engine"]["arithmetic"]
        bad = np.flatnonzero(~np.isfinite(pooled).all(axis=1))
        if arithmetic == "fp16" and len(bad):
            named = ", ".join(map(str, bad[:10])) + (", ..." if len(bad) > 10 else "")
            raise ModelRefused(
                f"{self.spec.label} overflows in fp16",
                f"{len(bad)} of {len(pooled)} vectors are not finite: texts {named} of this block",
                "take arithmetic=fp32, or bf16 where the processor has it",
            )


def batches(lengths: Sequence[int], budget: int) -> Iterator[range]:
    """Runs of ascending lengths whose padded size fits the budget; one text always does."""
    start = 0
    for stop in range(1, len(lengths) + 1):
        if stop == len(lengths) or (stop + 1 - start) * lengths[stop] > budget:
            yield range(start, stop)
            start = stop


def pad(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Token ids padded on the right with 0, and the mask that says which are tokens.

    The mask decides, so the id of the padding does not matter, and a model needs none. On the
    right, positions count from the first token whatever stands beside a text.

    Shapes: ids and mask (n, longest) int64.
    """
    lengths = np.array([len(row) for row in rows])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
    ids = np.zeros(mask.shape, dtype=np.int64)
    ids[mask == 1] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows])
    return ids, mask


def pool(hidden: torch.Tensor, mask: torch.Tensor, pooling: str) -> torch.Tensor:
    """One vector a text from its tokens: their mean, the first, or the last one.

    Shapes: hidden (n, tokens, dim), mask (n, tokens) -> (n, dim) float32. Padding on either side.
    """
    hidden = hidden.float()
    if pooling == "mean":
        kept = hidden.masked_fill(mask.unsqueeze(-1) == 0, 0.0)  # not times 0: padding may be NaN
        return kept.sum(dim=1) / mask.sum(dim=1, keepdim=True)
    import torch

    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    if pooling == "cls":
        at = places.masked_fill(mask == 0, mask.shape[1]).amin(dim=1)
    else:
        at = places.masked_fill(mask == 0, -1).amax(dim=1)
    return hidden[torch.arange(len(hidden), device=hidden.device), at]


def load(resolved: Resolved, context: Context) -> TransformerEmbedder:
    """A network by torch, from a folder or the hub; never code or pickled weights of the model.

    Errors: ModelRefused where torch, the model or the device is missing, or weights are.
    """
    _require_torch(resolved.label)
    settings, label = resolved.settings, resolved.label
    folder = locate(settings["model"], settings["revision"], label)
    files = weight_files(folder, label)
    facts = read_facts(folder, settings, label)
    device = pick_device(context.runtime, label)
    tokenizer, model = _open(folder, settings["arithmetic"], device, label)
    probe_ids = tokenizer(PROBE)["input_ids"]
    identity = {
        "embedder": "transformer",
        "engine": {"name": "torch", "arithmetic": settings["arithmetic"]},
        "weights": weights_digest(files),
        "config": config_digest(read_json(folder / "config.json")),
        "tokenizer": tokenizer_digest(folder, probe_ids),
        **identity_of(facts, settings),
    }
    finish = Finish(facts.heads, settings["normalize"])
    width = _width(model, probe_ids, label)
    spec = Spec(label, identity, facts.output_dim(width))
    provenance = _provenance(folder, context.runtime, device)
    return TransformerEmbedder(spec, model, tokenizer, finish, width, provenance)


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


def _open(folder: Path, arithmetic: str, device: str, label: str) -> tuple[Any, Any]:
    """Tokenizer and network, ready to compute, every weight from the folder."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    quieten_transformers()  # what matters of its reports, missing weights, is refused below
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[arithmetic]
    torch.set_float32_matmul_precision("highest")  # no TF32
    torch.backends.cudnn.allow_tf32 = False
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
        model, found = AutoModel.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, output_loading_info=True, **options
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        first = str(error).strip().splitlines()[0][:300] if str(error).strip() else ""
        raise ModelRefused(
            f"{label} cannot be loaded from {folder}", f"{type(error).__name__}: {first}"
        ) from error
    missing = [key for key in found["missing_keys"] if "pooler" not in key]
    if missing:
        raise ModelRefused(
            f"{label} lacks weights, which would be random numbers",
            f"{len(missing)} tensors are not in {folder}, such as {missing[0]}",
        )
    tokenizer.truncation_side = "right"  # the beginning of a text counts, for every engine
    model.config.use_cache = False  # keys and values are for generating text
    return tokenizer, model.eval().to(device)


def _width(model: Any, ids: list[int], label: str) -> int:
    """The size of the last layer, found by a forward pass, which also proves that there is one."""
    import torch

    batch = torch.tensor([ids], device=next(model.parameters()).device)
    try:
        with torch.inference_mode():
            hidden = model(input_ids=batch, attention_mask=torch.ones_like(batch)).last_hidden_state
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelRefused(
            f"{label} gives no last layer for a text", f"{type(error).__name__}: {error}"
        ) from error
    return int(hidden.shape[-1])


def _provenance(folder: Path, runtime: Runtime, device: str) -> dict[str, Any]:
    import torch

    if runtime.threads:
        torch.set_num_threads(runtime.threads)
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else None
    return {
        **versions("torch", "transformers", "tokenizers", "numpy"),
        "threads": torch.get_num_threads(),
        "gpu": name,
        "folder": str(folder),
    }


def _require_torch(label: str) -> None:
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise ModelRefused(
            f"{label} needs torch and transformers", str(error), "pip install 'patcache[torch]'"
        ) from error
