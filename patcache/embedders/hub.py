"""From a hub name to a local folder: the local copy if there is one, else a download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from patcache.errors import ModelRefused, in_one_line

# Weights as safetensors only, and the small files that say how to use them.
WANTED = (
    "config*.json",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab*",
    "merges.txt",
    "spiece.model",
    "sentencepiece*",
    "model*.safetensors*",
    "[0-9]_*/config.json",
    "[0-9]_*/*.safetensors",
)
CODE = ("*.py",)


def locate(model: str, revision: str | None, label: str, *, with_code: bool = False) -> Path:
    """The folder of a model, given as a folder or as a hub name; with_code: its .py files too.

    Errors: ModelRefused where it is neither here nor can be fetched.
    """
    if Path(model).is_dir():
        return Path(model)
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ModelRefused(
            f"{label}: {model} is no folder here, and the hub's client is not installed",
            in_one_line(error),
            "pip install huggingface_hub, or copy the model's folder here and give its path",
        ) from error

    patterns = [*WANTED, *CODE] if with_code else list(WANTED)
    wanted: dict[str, Any] = {"revision": revision, "allow_patterns": patterns}
    try:
        folder = Path(snapshot_download(model, local_files_only=True, **wanted))
        needed = ("*.safetensors", *CODE) if with_code else ("*.safetensors",)
        if all(any(folder.glob(pattern)) for pattern in needed):
            return folder
    except (OSError, ValueError):
        pass  # nothing of it is here yet
    try:
        return Path(snapshot_download(model, **wanted))
    except Exception as error:  # the hub's client raises many kinds, of several libraries
        raise ModelRefused(
            f"{label}: {model} is neither a folder here nor could it be fetched from the hub",
            in_one_line(error),
            "without a network, copy the model's folder here and give its path as the model",
        ) from error
