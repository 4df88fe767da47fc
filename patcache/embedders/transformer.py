"""Networks of transformers by torch: the reference, and the way on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.batches import (
    Batches,
    Prepared,
    check_overflow,
    is_out_of_memory,
    pad,
    tokenized,
)
from patcache.embedders.finish import Finish
from patcache.embedders.hub import locate
from patcache.embedders.model_code import code_identity, refuse_code
from patcache.embedders.model_folder import (
    PROBE,
    config_digest,
    identity_of,
    read_facts,
    read_json,
    refuse_too_short,
    tokenizer_digest,
    weight_files,
    weights_digest,
)
from patcache.embedders.torch_network import (
    batch_tokens,
    open_network,
    pick_device,
    provenance_of,
    refuse_missing,
    require_torch,
)
from patcache.errors import ModelRefused
from patcache.records import Role, Spec

if TYPE_CHECKING:
    import torch

    from patcache.records import FloatArray


class TransformerEmbedder:
    """Texts in batches of like length, by a budget of tokens; padded on the right and masked."""

    def __init__(
        self,
        spec: Spec,
        model: Any,
        tokenizer: Any,
        finish: Finish,
        width: int,
        budget: int,
        provenance: Mapping[str, Any],
    ) -> None:
        self.spec = spec
        self.device = str(next(model.parameters()).device)
        self.provenance: Mapping[str, Any] = {**provenance, "batch_tokens": budget}
        self._model = model
        self._tokenizer = tokenizer
        self._finish = finish
        self._width = width
        self._batches = Batches(budget, spec.label, self.device)
        self._fast = getattr(tokenizer, "backend_tokenizer", None)
        if self._fast is not None:
            self._fast.no_padding()
            self._fast.enable_truncation(spec.identity["max_tokens"])

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]; a text without a token has the zero vector."""
        return self.encode_prepared(self.prepare(texts, role))

    def prepare(self, texts: Sequence[str], role: Role) -> Prepared:
        """Token ids of each text, cut to fit."""
        if self._fast is not None:
            return tokenized(self._fast, texts)
        limit = self.spec.identity["max_tokens"]
        whole = [self._tokenizer(text, return_attention_mask=False) for text in texts]
        cut = [
            self._tokenizer(text, truncation=True, max_length=limit, return_attention_mask=False)
            for text in texts
        ]
        n_truncated = sum(len(tokens["input_ids"]) > limit for tokens in whole)
        return Prepared(texts, [tokens["input_ids"] for tokens in cut], [], n_truncated)

    def encode_prepared(self, prepared: Prepared) -> Encoded:
        """Row i for text i.

        Errors: ModelRefused for numbers beyond fp16, or where one text alone is out of memory.
        """
        return self.encode_each([self], prepared)[0]

    def encode_each(
        self, siblings: Sequence[TransformerEmbedder], prepared: Prepared
    ) -> list[Encoded]:
        """By each sibling, row i for text i, from one pass through the network.

        Errors: as of encode_prepared.
        """
        poolings = [sibling.spec.identity["pooling"] for sibling in siblings]

        def compute(members: Sequence[int]) -> FloatArray | None:
            return self._try(pad([prepared.ids[i] for i in members]), poolings)

        width = self._width * len(poolings)
        n_threads = self.provenance["threads"] if self.device == "cpu" else 1
        with threads_inside(1 if self.device == "cpu" else None):
            pooled = self._batches.pooled(prepared, width, compute, n_threads)
        self.provenance = {**self.provenance, "batch_tokens": self._batches.budget}
        parts = np.split(pooled, len(poolings), axis=1)
        return [each._finished(part, prepared) for each, part in zip(siblings, parts, strict=True)]

    def sibling(self, resolved: Resolved) -> TransformerEmbedder:
        """The same network under settings that differ in AFTER_TOKENS alone, as load() gives it.

        Errors: ModelRefused where nothing says how to pool.
        """
        settings, label = resolved.settings, resolved.label
        facts = read_facts(Path(self.provenance["folder"]), settings, label)
        identity = {**self.spec.identity, **identity_of(facts, settings)}
        return TransformerEmbedder(
            Spec(label, identity, facts.output_dim(self._width)),
            self._model,
            self._tokenizer,
            Finish(facts.heads, settings["normalize"]),
            self._width,
            self._batches.budget,
            self.provenance,
        )

    def _finished(self, pooled: FloatArray, prepared: Prepared) -> Encoded:
        pooled = np.ascontiguousarray(pooled)  # the same bits, whatever stood beside it
        arithmetic = self.spec.identity["engine"]["arithmetic"]
        check_overflow(pooled, prepared.texts, arithmetic, self.spec.label)
        return Encoded(self._finish(pooled), prepared.n_truncated)

    def _try(self, batch: tuple[Any, Any], poolings: Sequence[str]) -> FloatArray | None:
        """Pooled vectors of a batch, or None if the device has not the memory for it."""
        import torch

        try:
            ids, mask = (torch.from_numpy(array).to(self.device) for array in batch)
            with torch.inference_mode():
                hidden = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
                parts = [pool(hidden, mask, pooling) for pooling in poolings]
                pooled: FloatArray = torch.cat(parts, dim=1).cpu().numpy()
                return pooled
        except RuntimeError as error:  # torch's own OutOfMemoryError is one, and others say so
            if not is_out_of_memory(error):
                raise
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        return None


@contextmanager
def threads_inside(n_threads: int | None) -> Iterator[None]:
    """torch with that many threads in each of its operations; None: as it is.

    On a CPU a batch a thread is faster than threads in a batch, which wait for each other after
    every operation.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(n_threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
    """A network by torch, from a folder or the hub; never pickled weights.

    Code of the model runs only where the setting trust_remote_code asks for it.
    Errors: ModelRefused where torch, the model or the device is missing, or weights are.
    """
    require_torch(resolved.label)
    settings, label = resolved.settings, resolved.label
    is_trusted = bool(settings.get("trust_remote_code", False))
    folder = locate(settings["model"], settings["revision"], label, with_code=is_trusted)
    files = weight_files(folder, label)
    code = code_identity(folder, label) if is_trusted else refuse_code(folder, label)
    facts = read_facts(folder, settings, label)
    device = pick_device(context.runtime, label)
    arithmetic = settings["arithmetic"]
    tokenizer, model, missing = open_network(
        folder, device, label, arithmetic=arithmetic, is_trusted=is_trusted
    )
    refuse_missing([key for key in missing if "pooler" not in key], folder, label)
    refuse_too_short(facts.max_tokens, tokenizer.num_special_tokens_to_add(pair=False), label)
    probe_ids = tokenizer(PROBE)["input_ids"]
    identity = {
        "embedder": "transformer",
        "engine": {"name": "torch", "arithmetic": arithmetic},
        "weights": weights_digest(files),
        "config": config_digest(read_json(folder / "config.json")),
        "tokenizer": tokenizer_digest(folder, probe_ids),
        **code,
        **identity_of(facts, settings),
    }
    finish = Finish(facts.heads, settings["normalize"])
    width = _width(model, probe_ids, label)
    spec = Spec(label, identity, facts.output_dim(width))
    budget = context.runtime.batch_tokens or batch_tokens(device)
    provenance = provenance_of(folder, context.runtime, device, model, arithmetic, label)
    return TransformerEmbedder(spec, model, tokenizer, finish, width, budget, provenance)


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
