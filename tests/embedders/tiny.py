"""Random networks of a few hundred numbers, saved like real ones, and texts to fit on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from patcache.embedders.base import Context, Embedder, load
from patcache.embedders.installed import minilm_folder
from patcache.embedders.presets import resolve
from patcache.hashing import keys_digest, text_key
from patcache.records import ModelRequest, Runtime

WORDS = ["a", "method", "for", "grinding", "wheels", "lithium", "battery", "cell", "seat", "belt"]
SENTENCES = [
    "a method for grinding wheels",
    "battery cell",
    "a seat belt for a wheel",
    "a method for a lithium battery cell",
    "belt",
]


class Texts(list[str]):
    """Texts to fit on, in the order of their keys, as the store hands them out."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(sorted(set(texts), key=text_key))
        self.digest = keys_digest(map(text_key, self))


def opened(name: str | Path, context: Context | None = None, **settings: Any) -> Embedder:
    """The embedder of a name, on one thread of the CPU: tests run beside each other."""
    request = ModelRequest(str(name), None, settings)
    return load(resolve(request), context or Context(Runtime(device="cpu", threads=1)))


def minilm() -> Path:
    """The folder of MiniLM; skips where no package holds it."""
    folder = minilm_folder()
    if folder is None:
        pytest.skip("no sample package with MiniLM is installed")
    return folder


def save_tokenizer(
    folder: Path, *, special: bool, limit: int = 10**30, pad: str | None = "[PAD]"
) -> None:
    """A tokenizer of whole words, with [CLS] and [SEP] around a text if special."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
    names: dict[str, Any] = {"unk_token": "[UNK]", "pad_token": pad, "model_max_length": limit}
    saved: Any = PreTrainedTokenizerFast
    saved(tokenizer_object=tokenizer, **names).save_pretrained(folder)


def tiny_bert(folder: Path, *, pooling: str | None = "mean") -> Path:
    """A BERT of two layers of 8, 32 positions, with a pooling configuration if asked for."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    config = transformers.BertConfig(
        vocab_size=14,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        initializer_range=0.5,  # far from 0, so that every token matters
    )
    transformers.BertModel(config).save_pretrained(folder)
    save_tokenizer(folder, special=True)
    if pooling:
        add_pooling(folder, pooling)
    return folder


def tiny_cross_encoder(folder: Path, n_labels: int = 1) -> Path:
    """A BERT like tiny_bert with a classifier, which tells the two texts of a pair apart."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=14,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        initializer_range=0.5,
        num_labels=n_labels,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    save_tokenizer(folder, special=True)
    path = folder / "tokenizer_config.json"
    names = {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}
    path.write_text(json.dumps({**json.loads(path.read_text()), **names}))
    return folder


def tiny_decoder(folder: Path, family: str) -> Path:
    """A GPT-2 or Llama without a padding token, whose tokenizer has no limit; 24 positions."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    sizes: dict[str, Any] = {"vocab_size": 14, "initializer_range": 0.5}
    if family == "gpt2":
        config = transformers.GPT2Config(n_positions=24, n_embd=8, n_layer=2, n_head=2, **sizes)
        transformers.GPT2Model(config).save_pretrained(folder)
    else:
        config = transformers.LlamaConfig(
            hidden_size=8,
            intermediate_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=24,
            pad_token_id=None,
            **sizes,
        )
        transformers.LlamaModel(config).save_pretrained(folder)
    save_tokenizer(folder, special=False, pad=None)
    return folder


_ENCODER = {
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}
_DECODER = {**_ENCODER, "num_key_value_heads": 1, "max_position_embeddings": 32}
_BART = {
    "d_model": 8,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "bos_token_id": 2,
    "eos_token_id": 3,
    "decoder_start_token_id": 3,
    "init_std": 0.3,
}
# Name of transformers' classes, settings of the network, whether it reads [CLS] and [SEP].
FAMILIES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "bert": ("Bert", {**_ENCODER, "max_position_embeddings": 32}, True),
    "roberta": ("Roberta", {**_ENCODER, "max_position_embeddings": 34, "pad_token_id": 1}, True),
    "mpnet": ("MPNet", {**_ENCODER, "max_position_embeddings": 34, "pad_token_id": 1}, True),
    "bart": ("Bart", {**_BART, "max_position_embeddings": 32, "pad_token_id": 1}, True),
    "gpt2": ("GPT2", {"n_positions": 32, "n_embd": 8, "n_layer": 2, "n_head": 2}, False),
    "llama": ("Llama", {**_DECODER, "pad_token_id": None}, False),
    "mistral": ("Mistral", {**_DECODER, "pad_token_id": None, "sliding_window": 8}, False),
    "qwen3": ("Qwen3", {**_DECODER, "head_dim": 4}, False),
    "modernbert": (
        "ModernBert",
        {
            **_ENCODER,
            "max_position_embeddings": 32,
            "global_attn_every_n_layers": 2,
            "local_attention": 8,
            "pad_token_id": 0,
            "bos_token_id": 2,
            "cls_token_id": 2,
            "eos_token_id": 3,
            "sep_token_id": 3,
        },
        True,
    ),
    "distilbert": (
        "DistilBert",
        {"dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 16, "max_position_embeddings": 32},
        True,
    ),
}


def tiny(folder: Path, family: str) -> Path:
    """A random network of a family, two layers of 8 and 32 positions, pooled by the mean."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(7)
    name, settings, special = FAMILIES[family]
    config_class = getattr(transformers, f"{name}Config")
    config = config_class(vocab_size=14, **{"initializer_range": 0.3, **settings})
    getattr(transformers, f"{name}Model")(config).save_pretrained(folder)
    save_tokenizer(folder, special=special, pad="[PAD]" if special else None)
    add_pooling(folder, "mean")
    return folder


def add_pooling(folder: Path, pooling: str, dense: Sequence[str] = ()) -> None:
    """modules.json and 1_Pooling as sentence-transformers writes them."""
    flag = {"mean": "mean_tokens", "cls": "cls_token", "last": "lasttoken", "max": "max_tokens"}
    (folder / "1_Pooling").mkdir(exist_ok=True)
    config = {f"pooling_mode_{value}": name == pooling for name, value in flag.items()}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling"), *(("Dense", path) for path in dense)]
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))


def copied(folder: Path, target: Path) -> Path:
    """Another folder with the same files."""
    return Path(shutil.copytree(folder, target))
