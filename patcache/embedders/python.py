"""Any Python object with encode(list of str), or any callable of one, as an embedder."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Embedder, Encoded, Resolved
from patcache.embedders.finish import Finish
from patcache.embedders.installed import versions
from patcache.embedders.places import source_of
from patcache.embedders.settings import complete, stated_prompts
from patcache.errors import ModelRefused, in_one_line
from patcache.hashing import file_digest
from patcache.records import Role, Spec

if TYPE_CHECKING:
    from patcache.records import FloatArray

PROBE = "A method for measuring the distance between two texts."


class PythonEmbedder:
    """An object of the user's. What it is made of cannot be seen: the fingerprint stands for it."""

    def __init__(self, spec: Spec, encode: Callable[[list[str]], Any], finish: Finish) -> None:
        self.spec = spec
        self.device = _device_of(getattr(encode, "__self__", encode))
        self.provenance: Mapping[str, Any] = versions("numpy")
        self._encode = encode
        self._finish = finish

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]. Errors: ModelRefused if the object gives another shape."""
        dim = self.spec.identity["encodes_dim"]
        if not texts:
            return Encoded(self._finish(np.empty((0, dim), dtype=np.float32)))
        vectors = _rows(self._encode, list(texts), self.spec.label)
        if vectors.shape != (len(texts), dim):
            raise ModelRefused(
                f"{self.spec.label} gave an array {vectors.shape} for {len(texts)} texts",
                f"it must be ({len(texts)}, {dim})",
            )
        return Encoded(self._finish(vectors))


def _device_of(model: object) -> str:
    """What a model says it runs on; "cpu" where it says nothing."""
    try:
        return str(getattr(model, "device", "cpu"))
    except Exception:  # whatever the code of others raises; it is only noted
        return "unknown"


def from_object(model: object, name: str, fingerprint: str, **settings: Any) -> Embedder:
    """An embedder from an object with encode(list of str) -> (n, dim) array, or from a callable.

    fingerprint: whatever names its weights and version; another one is another spec.
    settings: prompts, normalize, text, storage.
    Errors: ModelRefused if it cannot encode, or what it gives is no array of rows.
    """
    asked = complete("python", {"target": name, "fingerprint": fingerprint, **settings})
    if asked["truncate_dim"] is not None:
        raise ModelRefused(
            f"{name} gives every dimension it has",
            "fewer are cut from stored vectors, so that no text is encoded twice",
            f"store.embed({name}, truncate_dim={asked['truncate_dim']})",
        )
    return _embedder(model, name, asked)


def load(resolved: Resolved, context: Context) -> Embedder:
    """The object that a setting "module:attribute" or "file.py:attribute" names.

    A class is called without arguments first. Without a fingerprint, the digest of the source
    file and the name in it stand for the object.
    Errors: ModelRefused where there is no such object.
    """
    target = str(resolved.settings["target"])
    model = _attribute(target)
    fingerprint = resolved.settings["fingerprint"]
    if fingerprint is None:
        source = source_of(target)
        if source is None:
            raise ModelRefused(
                f"nothing tells one version of {target} from another",
                "there is no source file to take the digest of",
                "give the setting fingerprint=... and change it whenever the model changes",
            )
        # one file may hold several objects
        fingerprint = f"source:{file_digest(source)}:{target.rpartition(':')[2]}"
    model = _made(model, resolved.label) if isinstance(model, type) else model
    return _embedder(model, resolved.label, {**resolved.settings, "fingerprint": fingerprint})


def _embedder(model: object, label: str, settings: Mapping[str, Any]) -> Embedder:
    try:
        encode = getattr(model, "encode", model)
    except Exception as error:  # whatever the code of others raises
        raise ModelRefused(
            f"{label} cannot encode", in_one_line(error), _place_of(error)
        ) from error
    if not callable(encode):
        raise ModelRefused(f"{label} cannot encode", f"{type(model).__name__} has no encode method")
    probe = _rows(encode, [PROBE], label)
    identity = {
        "embedder": "python",
        "fingerprint": settings["fingerprint"],
        "encodes_dim": probe.shape[1],
        "truncate_dim": None,
        "normalize": settings["normalize"],
        "prompts": stated_prompts(settings["prompts"], label),
        "storage": settings["storage"],
        "text": settings["text"],
    }
    finish = Finish((), settings["normalize"])
    return PythonEmbedder(Spec(label, identity, probe.shape[1]), encode, finish)


def _rows(encode: Callable[[list[str]], Any], texts: list[str], label: str) -> FloatArray:
    """What the object gives for texts, as float32. Errors: ModelRefused if it is not (n, dim)."""
    try:
        given = encode(texts)
        with np.errstate(over="raise"):
            vectors = np.asarray(given, dtype=np.float32)
    except Exception as error:  # whatever the code of others raises
        raise ModelRefused(
            f"{label} cannot encode a list of texts", in_one_line(error), _place_of(error)
        ) from error
    if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
        raise ModelRefused(
            f"{label} gave an array {vectors.shape} for {len(texts)} texts",
            f"it must be ({len(texts)}, dim)",
        )
    return vectors


def _made(model: type, label: str) -> Any:
    try:
        return model()
    except Exception as error:  # whatever the code of others raises
        raise ModelRefused(
            f"{label} cannot be made without arguments", in_one_line(error), _place_of(error)
        ) from error


def _place_of(error: BaseException) -> str:
    """Where the code of others raised an error; nothing where it was not their code."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"it was raised at {error.filename}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or frames[-1].filename == __file__:
        return ""
    return f"it was raised at {frames[-1].filename}, line {frames[-1].lineno}"


def _attribute(target: str) -> Any:
    module, _, name = target.rpartition(":")
    try:
        found = _module(module)
    except (ImportError, ValueError, OSError) as error:
        raise _absent(target, error) from error
    except (Exception, SystemExit) as error:  # whatever the code of others raises
        raise ModelRefused(
            f"{module} cannot be imported", in_one_line(error), _place_of(error)
        ) from error
    try:
        return getattr(found, name)
    except AttributeError as error:
        raise _absent(target, error) from error


def _absent(target: str, error: Exception) -> ModelRefused:
    return ModelRefused(
        f"there is no {target or 'object of no name'}",
        in_one_line(error),
        "write python:file.py:attribute, or python:module:attribute of an installed module",
    )


def _module(name: str) -> Any:
    if not name.endswith(".py"):
        return import_module(name)
    path = Path(name).resolve()
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # so that its dataclasses and pickles find it
    spec.loader.exec_module(module)
    return module
