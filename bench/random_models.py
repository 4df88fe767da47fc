"""Networks of known shapes with random weights, saved like real ones: speed needs no training."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BERT_BASE: dict[str, Any] = {}  # transformers' own defaults
TINY_BERT: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}
LLAMA_1B: dict[str, Any] = {  # 1.24 billion weights
    "vocab_size": 128_256,
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 4096,
}
TINY_LLAMA: dict[str, Any] = {
    **TINY_BERT,
    "vocab_size": 30_522,
    "num_key_value_heads": 1,
    "max_position_embeddings": 512,
}


def random_bert(folder: Path, shape: dict[str, Any]) -> Path:
    """A BERT of a shape; without a tokenizer yet."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    BertModel(BertConfig(**shape)).save_pretrained(folder)
    return folder


def random_llama(folder: Path, shape: dict[str, Any]) -> Path:
    """A decoder of a shape, without a padding token; without a tokenizer yet."""
    import torch
    from transformers import LlamaConfig, LlamaModel

    torch.manual_seed(0)
    LlamaModel(LlamaConfig(**shape, pad_token_id=None)).save_pretrained(folder)
    return folder


def add_tokenizer(folder: Path, texts: Sequence[str], *, special: bool, limit: int) -> None:
    """A tokenizer of the texts' own words, with [CLS] and [SEP] if special, pooled by the mean."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(
        texts, trainers.WordLevelTrainer(vocab_size=30_000, special_tokens=names)
    )
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    saved: Any = PreTrainedTokenizerFast
    saved(tokenizer_object=tokenizer, unk_token="[UNK]", model_max_length=limit).save_pretrained(
        folder
    )
    add_mean_pooling(folder)


def add_mean_pooling(folder: Path) -> None:
    """modules.json and 1_Pooling, as sentence-transformers reads them."""
    (folder / "1_Pooling").mkdir(exist_ok=True)
    width = json.loads((folder / "config.json").read_text(encoding="utf-8"))["hidden_size"]
    pooling = {"word_embedding_dimension": width, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    kinds = (("Transformer", ""), ("Pooling", "1_Pooling"))
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")


def borrow_tokenizer(folder: Path, source: Path) -> None:
    """The tokenizer of another model of the same vocabulary size, pooled by the mean."""
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)
    add_mean_pooling(folder)


def n_flops(config: dict[str, Any], lengths: Sequence[int]) -> float:
    """Operations of a network for texts of those lengths in tokens, its matrix products only.

    Source: two for each weight of a layer and token, and 4 T T H for attention (all T tokens).
    """
    width, inner = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"]
    kept = config.get("num_key_value_heads") or heads
    projections = width * width * (2 + 2 * kept / heads)
    matrices = 3 if config["model_type"] == "llama" else 2
    per_token = 2 * (projections + matrices * width * inner)
    total = sum(length * per_token + 4 * length * length * width for length in lengths)
    return float(total * config["num_hidden_layers"])
