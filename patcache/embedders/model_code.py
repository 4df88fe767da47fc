"""Code that a model folder brings along: run only when asked for, and then part of the spec."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from patcache.embedders.model_folder import read_json
from patcache.errors import ModelRefused
from patcache.hashing import file_digest


def code_identity(folder: Path, label: str) -> dict[str, Any]:
    """What goes into a spec whose model may run its own code: that, and a digest of the code.

    Errors: ModelRefused for code in another repository, which no digest here would cover.
    """
    elsewhere = [name for name in _named_code(folder).values() if "--" in name]
    if elsewhere:
        raise ModelRefused(
            f"the code of {label} lies in another repository",
            f"config.json in {folder} names {elsewhere[0]}",
            "put that code into the model's folder and name it in auto_map without its owner",
        )
    return {"trust_remote_code": True, "code": code_digest(folder)}


def refuse_code(folder: Path, label: str) -> dict[str, Any]:
    """Nothing for a spec of a family that transformers knows.

    Errors: ModelRefused for a model that needs its own code, which was not asked for.
    """
    from transformers import CONFIG_MAPPING

    needed = _named_code(folder).get("AutoModel")
    if needed is None or read_json(folder / "config.json").get("model_type") in CONFIG_MAPPING:
        return {}
    raise ModelRefused(
        f"{label} needs code of its own, which was not allowed to run",
        f"config.json in {folder} names {needed}; transformers does not know the family itself",
        "read that code, then ask for it: --set trust_remote_code=true (it becomes part of the "
        "spec)",
    )


def code_digest(folder: Path) -> str:
    """One digest of the names and contents of a folder's Python files."""
    files = sorted(folder.rglob("*.py"))
    lines = [f"{path.relative_to(folder).as_posix()} {file_digest(path)}\n" for path in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def _named_code(folder: Path) -> dict[str, str]:
    return {
        kind: str(name)
        for kind, name in read_json(folder / "config.json").get("auto_map", {}).items()
    }
