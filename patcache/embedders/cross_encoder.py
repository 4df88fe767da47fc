"""Cross-encoders by torch: a network that reads target and candidate together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Resolved, Scores
from patcache.embedders.batches import Batches, Prepared, is_out_of_memory, pad
from patcache.embedders.hub import locate
from patcache.embedders.model_folder import (
    PROBE,
    config_digest,
    own_max_tokens,
    position_limit,
    read_json,
    tokenizer_digest,
    weight_files,
    weights_digest,
)
from patcache.embedders.settings import stated_prompts
from patcache.embedders.torch_network import (
    batch_tokens,
    open_network,
    pick_device,
    provenance_of,
    refuse_missing,
    require_torch,
)
from patcache.errors import ModelRefused
from patcache.records import Spec

if TYPE_CHECKING:
    from patcache.records import FloatArray

WITHOUT_CLASSIFIER = "a cross-encoder is saved with its classifier; an embedding model has none"
OUTPUTS = {1: "logit", 2: "difference"}  # by number of labels
# Keys of config.json about what sentence-transformers makes of the logit.
ACTIVATION_KEYS = ("sbert_ce_default_activation_function", "sentence_transformers")


class CrossEncoder:
    """Pairs in batches of like length, by a budget of tokens; padded on the right and masked.

    The score is the raw logit; with two labels, that of the second minus that of the first. An
    activation after it would keep the order and only lose digits. Of a pair that is too long the
    longer text is cut first. A pair without a token has no score: NaN.
    """

    def __init__(
        self, spec: Spec, model: Any, tokenizer: Any, budget: int, provenance: Mapping[str, Any]
    ) -> None:
        self.spec = spec
        self.device = str(next(model.parameters()).device)
        self._model = model
        self._tokenizer = tokenizer
        self._pad_id = model.config.pad_token_id
        # A decoder finds its last token by the padding's id: without one, each pair alone.
        budget = 1 if self._pad_id is None else budget
        self.provenance: Mapping[str, Any] = {**provenance, "batch_tokens": budget}
        self._batches = Batches(budget, spec.label, self.device)

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> Scores:
        """Scores of queries[i] and documents[i]."""
        return self.score_prepared(self.prepare(queries, documents))

    def prepare(self, queries: Sequence[str], documents: Sequence[str]) -> Prepared:
        """Token ids of each pair, cut to fit; type_ids only for a network that takes them."""
        if not queries:
            return Prepared(queries, [], [], 0)
        limit = self.spec.identity["max_tokens"]
        pairs = (list(queries), list(documents))
        options = {"truncation": "longest_first", "max_length": limit}
        tokens = self._tokenizer(*pairs, return_attention_mask=False, **options)
        encodings = getattr(tokens, "encodings", None)
        if encodings is not None:
            n_truncated = sum(bool(e.overflowing) for e in encodings)
        else:
            whole = self._tokenizer(*pairs, truncation=False, return_attention_mask=False)
            n_truncated = sum(len(ids) > limit for ids in whole["input_ids"])
        type_ids = tokens.get("token_type_ids", [])
        return Prepared(queries, tokens["input_ids"], type_ids, n_truncated)

    def score_prepared(self, prepared: Prepared) -> Scores:
        """Scores of the pairs that were prepared.

        Errors: ModelRefused where one pair alone is out of memory.
        """
        compute = partial(self._try, prepared)
        values = self._batches.pooled(prepared, 1, compute)[:, 0]
        self.provenance = {**self.provenance, "batch_tokens": self._batches.budget}
        values[[not row for row in prepared.ids]] = np.nan
        return Scores(values, prepared.n_truncated)

    def _try(self, prepared: Prepared, members: Sequence[int]) -> FloatArray | None:
        """Scores (n, 1) of some pairs, or None if the device has not the memory for them."""
        import torch

        ids, mask = pad([prepared.ids[i] for i in members])
        ids[mask == 0] = self._pad_id or 0
        given = {"input_ids": ids, "attention_mask": mask}
        if prepared.type_ids:
            given["token_type_ids"] = pad([prepared.type_ids[i] for i in members])[0]
        try:
            tensors = {name: torch.from_numpy(a).to(self.device) for name, a in given.items()}
            with torch.inference_mode():
                logits: FloatArray = self._model(**tensors).logits.float().cpu().numpy()
                return logits[:, 1:] - logits[:, :1] if logits.shape[1] == 2 else logits
        except RuntimeError as error:  # torch's own OutOfMemoryError is one, and others say so
            if not is_out_of_memory(error):
                raise
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        return None


def load(resolved: Resolved, context: Context) -> CrossEncoder:
    """A cross-encoder from a folder or the hub; never code or pickled weights of the model.

    Errors: ModelRefused where torch, the model or the device is missing, weights are, or the
    network has more than two labels.
    """
    settings, label, runtime = resolved.settings, resolved.label, context.runtime
    require_torch(label)
    folder = locate(settings["model"], settings["revision"], label)
    files = weight_files(folder, label)
    max_tokens = _max_tokens(folder, settings["max_tokens"], label)
    device = pick_device(runtime, label)
    tokenizer, model, missing = open_network(
        folder, device, label, auto="AutoModelForSequenceClassification"
    )
    refuse_missing(missing, folder, label, WITHOUT_CLASSIFIER)
    n_special = tokenizer.num_special_tokens_to_add(pair=True)
    if max_tokens <= n_special:  # tokenizers would leave the pair whole
        raise ModelRefused(
            f"{label} cannot cut a pair to {max_tokens} tokens",
            f"{n_special} of them stand around and between the texts",
            f"give --max-tokens {n_special + 2} or more",
        )
    config = read_json(folder / "config.json")
    identity = {
        "embedder": "cross-encoder",
        "pairs": True,
        "engine": {"name": "torch", "arithmetic": "fp32"},
        "weights": weights_digest(files),
        "config": config_digest({k: v for k, v in config.items() if k not in ACTIVATION_KEYS}),
        "tokenizer": tokenizer_digest(folder, tokenizer(PROBE, PROBE)["input_ids"]),
        "output": _output(model, label),
        "max_tokens": max_tokens,
        "prompts": stated_prompts(settings["prompts"], label),
        "normalize": False,
        "storage": "float32",
        "text": settings["text"],
    }
    _set_threads(runtime.threads)
    budget = runtime.batch_tokens or batch_tokens(device)
    provenance = provenance_of(folder, runtime, device, model, "fp32", label)
    return CrossEncoder(Spec(label, identity, dim=1), model, tokenizer, budget, provenance)


def _set_threads(n_threads: int | None) -> None:
    import torch

    if n_threads:
        torch.set_num_threads(n_threads)


def _max_tokens(folder: Path, asked: int | None, label: str) -> int:
    """Tokens of the longest pair. Errors: ModelRefused for more than the network has positions."""
    longest = asked or own_max_tokens(folder, label)
    limit = position_limit(read_json(folder / "config.json"))
    if limit is not None and longest > limit:
        raise ModelRefused(f"{label} cannot read {longest} tokens", f"it has {limit} positions")
    return longest


def _output(model: Any, label: str) -> str:
    n_labels = int(model.config.num_labels)
    if n_labels not in OUTPUTS:
        raise ModelRefused(
            f"{label} has {n_labels} labels, which make no one similarity",
            "a cross-encoder has one label, or two: unlike and alike",
            "give a network that was trained to score pairs",
        )
    return OUTPUTS[n_labels]
