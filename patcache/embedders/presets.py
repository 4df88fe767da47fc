"""Models by name: what "bge@cls" or a folder stands for, without loading anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patcache.embedders.base import EMBEDDERS, Resolved
from patcache.embedders.catalogue import PRESETS, presets
from patcache.embedders.places import files_of, find_model, graph_in, is_model2vec, source_of
from patcache.embedders.plugins import find_plugin, is_plugin
from patcache.embedders.settings import OWN_PROMPTS, POOLINGS, complete, local_path
from patcache.errors import ModelRefused
from patcache.hashing import settings_digest
from patcache.records import ModelRequest

PYTHON_PREFIX, VECTORS_PREFIX = "python:", "vectors:"
# Prefix of a name -> the kind, and the setting that the rest of the name is.
PREFIXES = {"python": "target", "api": "model", "vectors": "model"}
# Suffix of a file -> the kind it is a model of.
FILE_KINDS = {"onnx": "onnx", "npy": "static", "txt": "static", "vec": "static", "bin": "static"}
HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
LONGEST_SHOWN = 100
LONGEST_LABEL = 200
FITTED = ("tfidf", "bm25", "word2vec", "lsa")

__all__ = ["presets", "request_key", "resolve", "source_of"]


def resolve(request: ModelRequest) -> Resolved:
    """The request with every default filled in: kind, label and settings; nothing is loaded.

    A name is a preset, a folder, an ONNX file, a file of word vectors, a hub name, or a kind and
    what it takes: python:module:attribute, api:name, vectors:file, or a plug-in's. A network may
    end in @mean, @cls or @last. The label is the one given, else the name, of a path its last part.
    The same label for two settings of a model is for the store to refuse.

    Errors: ModelRefused for a name, setting or value that cannot be.
    """
    base, pooling = _split_pooling(request.name)
    kind, settings = _start(base, request.name, request.settings)
    settings = {**settings, **_asked_pooling(request, pooling), **request.settings}
    settings = _with_own_prompts(request.name if request.name in PRESETS else base, settings)
    engine = settings.pop("engine", None)
    if engine is not None:
        kind = _switch(kind, str(engine), request.name)
    settings = find_model(kind, base, settings)
    label = _checked_label(request.label or _label(base, pooling))
    if kind in EMBEDDERS:
        return Resolved(kind, label, complete(kind, settings), is_fitted=kind in FITTED)
    plugin = find_plugin(kind)
    filled = complete(kind, settings, plugin.settings)
    return Resolved(kind, label, filled, is_fitted=plugin.is_fitted)


def request_key(resolved: Resolved) -> str:
    """What was asked for, as 16 hex digits: settings, and size and time of local files.

    Cheap, so that a second run knows its spec without loading it; a touched file costs one load.
    """
    files = [
        (str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files_of(resolved)
    ]
    return settings_digest(
        {"kind": resolved.kind, "settings": dict(resolved.settings), "files": files}
    )


def is_prefixed(name: str) -> bool:
    """Whether a name begins with "python:", "api:", "vectors:" or the kind of a plug-in."""
    kind, colon, _ = name.partition(":")
    return bool(colon) and (kind in PREFIXES or (kind not in EMBEDDERS and is_plugin(kind)))


def _split_pooling(name: str) -> tuple[str, str | None]:
    base, at, suffix = name.rpartition("@")
    if at and suffix in POOLINGS:
        return base, suffix
    if at and base in PRESETS:
        raise ModelRefused(
            f"unknown pooling {suffix!r} in {name!r}", f"poolings are {', '.join(POOLINGS)}"
        )
    return name, None


def _start(base: str, name: str, asked: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of a name and the settings that it implies."""
    if name in PRESETS or base in PRESETS:
        preset = PRESETS.get(name) or PRESETS[base]
        return preset.kind, dict(preset.settings)
    if is_prefixed(base):
        kind, _, rest = base.partition(":")
        return kind, {PREFIXES.get(kind, "model"): rest}
    path = local_path(base)
    if path is not None:
        return _kind_of_path(path), {"model": str(path.resolve())}
    if HUB_NAME.fullmatch(base):
        return "transformer", {"model": base}
    raise ModelRefused(
        f"unknown model {_short(base)!r}",
        "it is no preset, no folder or file here, and no hub name (owner/name)",
        f"presets: {', '.join(PRESETS)}",
    )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}..."


def _kind_of_path(path: Path) -> str:
    if path.is_file():
        kind = FILE_KINDS.get(path.name.removesuffix(".gz").rpartition(".")[2])
        if kind is None:
            raise ModelRefused(
                f"{path} is no model",
                f"a model is a folder or a file of {', '.join(FILE_KINDS)}",
            )
        return kind
    if is_model2vec(path):
        return "model2vec"
    has_weights = any(path.glob("*.safetensors"))
    return "onnx" if graph_in(path) and not has_weights else "transformer"


def _asked_pooling(request: ModelRequest, pooling: str | None) -> dict[str, str]:
    if pooling is None:
        return {}
    if request.settings.get("pooling", pooling) != pooling:
        raise ModelRefused(
            f"{request.name} with pooling {request.settings['pooling']!r}", "two poolings at once"
        )
    return {"pooling": pooling}


def _with_own_prompts(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with the prompts that a preset states, where the model's own are asked for."""
    asked = settings.get("prompts")
    own = PRESETS[name].prompts if name in PRESETS else None
    if own is None or asked not in OWN_PROMPTS:
        return settings
    query = own["query"]
    return {**settings, "prompts": own if asked == "model" else {"query": query, "document": query}}


def _switch(kind: str, engine: str, name: str) -> str:
    engines = {"torch": "transformer", "onnx": "onnx"}
    if engine not in engines or kind not in engines.values():
        raise ModelRefused(
            f"{name} cannot run by {engine!r}",
            "engines are torch and onnx, for models that are networks of one of these",
        )
    return engines[engine]


def _checked_label(label: str) -> str:
    """Errors: ModelRefused for what no listing could show, or nobody type."""
    if label.isprintable() and label.strip() and len(label) <= LONGEST_LABEL:
        return label
    raise ModelRefused(
        f"a model cannot be called {_short(label)!r}",
        f"a label is one line of 1 to {LONGEST_LABEL} characters that can be shown",
        "give it another one: --label NAME",
    )


def _label(base: str, pooling: str | None) -> str:
    if base.startswith(VECTORS_PREFIX):
        return Path(base.removeprefix(VECTORS_PREFIX)).name
    path = None if base in PRESETS or is_prefixed(base) else local_path(base)
    name = base if path is None else path.resolve().name
    return f"{name}@{pooling}" if pooling else name
