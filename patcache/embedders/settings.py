"""The settings of each kind of model: their defaults, and what may be asked for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from patcache.errors import ModelRefused
from patcache.records import TextView

POOLINGS = ("mean", "cls", "last")
OWN_PROMPTS = ("model", "query")
TEXT_FIELDS = ("title", "abstract", "claims")
NUMBER_FIELD = "publication_number"  # of vectors computed elsewhere
SEGMENTERS = {"jieba": "jieba", "rjieba": "rjieba", "regex": None}  # name -> package
REGEX_VERSION = "1"
NEVER_SHOWN = ("key_env", "base_url")  # a value that is refused may be a key, or hold one
OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: what holds when nothing is asked for, and how an asked-for value is read."""

    default: Any
    read: Callable[[Any], Any]


def _whole(value: Any, least: int = 0, most: int = 2**31 - 1) -> int:
    if not re.fullmatch(r"\d+", str(value)) or not least <= int(value) <= most:
        raise ValueError(f"a whole number from {least} to {most}")
    return int(value)


def _number(value: Any, least: float, most: float) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise ValueError(f"a number from {least:g} to {most:g}")
    return number


def _one_of(choices: tuple[str, ...], value: Any) -> str:
    if value not in choices:
        raise ValueError(f"one of {', '.join(choices)}")
    return str(value)


def _flag(value: Any) -> bool:
    named = {"true": True, "yes": True, "false": False, "no": False}
    if isinstance(value, bool):
        return value
    if str(value).lower() not in named:
        raise ValueError("true or false")
    return named[str(value).lower()]


def _optional(read: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else read(value)


def _text(value: Any) -> dict[str, Any]:
    """A text view: "title+abstract", ["title", "abstract"] or {"fields": .., "separator": ..}."""
    separator = TextView().separator
    if isinstance(value, Mapping):
        separator = str(value.get("separator", separator))
        value = value.get("fields", TextView().fields)
    asked = value.split("+") if isinstance(value, str) else list(value)
    if not asked or set(asked) - set(TEXT_FIELDS) or len(set(asked)) < len(asked):
        raise ValueError(f"some of {', '.join(TEXT_FIELDS)}, joined by +")
    return {"fields": list(asked), "separator": separator}


def _number_text(value: Any) -> dict[str, Any]:
    """The text view of vectors that are looked up by publication number: there is no other."""
    view = {"fields": [NUMBER_FIELD], "separator": TextView().separator}
    if value not in (NUMBER_FIELD, view):
        raise ValueError(f"{NUMBER_FIELD}: its vectors are looked up by that")
    return view


def _prompts(value: Any) -> dict[str, str] | str:
    """Texts by role, or which of those in the model's own folder, read when it is loaded.

    "none": no prompt; "model": each role its own; "query": that of queries before every text.
    """
    if value in OWN_PROMPTS:
        return str(value)
    if value == "none":
        value = {}
    if not isinstance(value, Mapping) or set(value) - {"query", "document"}:
        raise ValueError('{"query": ..., "document": ...}, or one of none, model, query')
    return {role: str(value.get(role, "")) for role in ("query", "document")}


def stated_prompts(value: dict[str, str] | str, label: str) -> dict[str, str]:
    """The prompts of a model that has no folder. Errors: ModelRefused if its own are asked for."""
    if isinstance(value, str):
        raise ModelRefused(f"{label} has no prompts of its own", "", "give prompts as texts")
    return value


def _segmenter(value: Any) -> dict[str, str]:
    """The segmenter with the version at hand: another version may cut words elsewhere."""
    name = _one_of(tuple(SEGMENTERS), value["name"] if isinstance(value, Mapping) else value)
    package = SEGMENTERS[name]
    if package is None:
        return {"name": name, "version": REGEX_VERSION}
    try:
        return {"name": name, "version": metadata.version(package)}
    except metadata.PackageNotFoundError as error:
        raise ModelRefused(
            f"the word segmenter {name} is not installed",
            "",
            f"pip install {package}, or take another one: {', '.join(SEGMENTERS)}",
        ) from error


def local_path(name: str | Path) -> Path | None:
    """The file or folder of a name, ~ included; None where there is none."""
    try:
        path = Path(name).expanduser()
        return path if str(name) and path.exists() else None
    except (OSError, RuntimeError):  # a name that is too long, or nobody's home
        return None


def _folder_or_name(value: Any) -> str:
    path = local_path(str(value))
    return str(value) if path is None else str(path.resolve())


def _existing(value: Any) -> str:
    path = local_path(value)
    if path is None:
        raise ValueError(f"a folder or file that exists; there is no {value}")
    return str(path.resolve())


def _base_url(value: Any) -> str:
    """An address without anything secret in it: it is stored, and shown."""
    try:
        parts = urlsplit(str(value))
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or re.search(r"[\s\x00-\x1f\x7f]", str(value)):
        raise ValueError("an address such as http://localhost:11434/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("an address without user, password and query: a key goes by key_env")
    return str(value).rstrip("/")


def _name(value: Any) -> str:
    if not str(value or "").strip():
        raise ValueError("a name")
    return str(value)


def _variable(value: Any) -> str:
    """The name of an environment variable; not a key, which would be stored."""
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", str(value)):
        raise ValueError("the name of an environment variable, in capitals")
    return str(value)


POOLING = partial(_one_of, POOLINGS)
_SIZE = partial(_whole, least=1)
_TEXT = {"text": Setting("title+abstract", _text)}
_STORAGE = {"storage": Setting("float32", partial(_one_of, ("float32", "float16")))}
_CUT = {"truncate_dim": Setting(None, partial(_optional, _SIZE))}
_FINISH = {"prompts": Setting({}, _prompts), "normalize": Setting(True, _flag), **_CUT}
_NETWORK = {
    "pooling": Setting(None, partial(_optional, POOLING)),  # None: what the model folder says
    "max_tokens": Setting(None, partial(_optional, _SIZE)),
}
_SEGMENTER = {"segmenter": Setting("jieba", _segmenter)}

# What a kind of another package has besides its own.
COMMON: Mapping[str, Setting] = {
    "model": Setting("", str),
    **_FINISH,
    **_TEXT,
    **_STORAGE,
}
SETTINGS: Mapping[str, Mapping[str, Setting]] = {
    "random": {"dim": Setting(256, _SIZE), "seed": Setting(0, _whole), **_TEXT, **_STORAGE},
    "tfidf": {"max_features": Setting(20_000, _SIZE), **_SEGMENTER, **_TEXT},
    "bm25": {
        "k1": Setting(1.2, partial(_number, least=0, most=1000)),
        "b": Setting(0.75, partial(_number, least=0, most=1)),
        **_SEGMENTER,
        **_TEXT,
    },
    "word2vec": {
        "dim": Setting(300, _SIZE),
        "sg": Setting(0, partial(_whole, most=1)),
        "window": Setting(5, _SIZE),
        "min_count": Setting(5, _SIZE),
        "epochs": Setting(5, _SIZE),
        "negative": Setting(5, _SIZE),
        "seed": Setting(1, _whole),
        **_SEGMENTER,
        **_TEXT,
        **_STORAGE,
    },
    "lsa": {
        "dim": Setting(300, _SIZE),
        "max_features": Setting(20_000, _SIZE),
        "seed": Setting(1, _whole),
        **_SEGMENTER,
        **_CUT,
        **_TEXT,
        **_STORAGE,
    },
    "static": {
        "model": Setting(None, _existing),
        "words": Setting(None, partial(_optional, _existing)),  # None: the file says itself
        "case": Setting("fold", partial(_one_of, ("fold", "exact"))),
        "normalize": Setting(False, _flag),
        **_SEGMENTER,
        **_CUT,
        **_TEXT,
        **_STORAGE,
    },
    "model2vec": {
        "model": Setting(None, _folder_or_name),
        "revision": Setting(None, partial(_optional, str)),
        "max_tokens": _NETWORK["max_tokens"],
        "normalize": Setting(None, partial(_optional, _flag)),  # None: what config.json says
        **_CUT,
        **_TEXT,
        **_STORAGE,
    },
    "transformer": {
        "model": Setting(None, _folder_or_name),
        "revision": Setting(None, partial(_optional, str)),
        "arithmetic": Setting("fp32", partial(_one_of, ("fp32", "bf16", "fp16"))),
        "trust_remote_code": Setting(False, _flag),  # code that the model's folder brings along
        **_NETWORK,
        **_FINISH,
        **_TEXT,
        **_STORAGE,
    },
    "onnx": {
        "model": Setting(None, _existing),
        "tokenizer": Setting(None, partial(_optional, _existing)),  # None: beside the graph
        "output": Setting(None, partial(_optional, str)),  # None: the only one by token
        **_NETWORK,
        **_FINISH,
        **_TEXT,
        **_STORAGE,
    },
    "cross-encoder": {
        "model": Setting(None, _folder_or_name),
        "revision": Setting(None, partial(_optional, str)),
        "max_tokens": _NETWORK["max_tokens"],
        "prompts": _FINISH["prompts"],
        **_TEXT,
    },
    "vectors": {
        "model": Setting(None, _existing),
        "ids": Setting(None, partial(_optional, _existing)),  # None: a Parquet file has its own
        "tensor": Setting(None, partial(_optional, str)),  # None: the only one
        "id_column": Setting(None, partial(_optional, str)),
        "vector_column": Setting(None, partial(_optional, str)),
        "allow_missing": Setting(False, _flag),
        "normalize": Setting(False, _flag),
        "text": Setting(NUMBER_FIELD, _number_text),
        **_CUT,
        **_STORAGE,
    },
    "api": {
        "model": Setting(None, _name),
        "base_url": Setting(OPENAI_URL, _base_url),
        "dimensions": Setting(None, partial(_optional, _SIZE)),
        "revision": Setting(None, partial(_optional, str)),  # names the weights, whatever the host
        "max_tokens": _NETWORK["max_tokens"],  # None: sent whole
        "tokenizer": Setting(None, partial(_optional, _existing)),  # None: by characters
        "key_env": Setting(None, partial(_optional, _variable)),
        "price_per_million": Setting(None, partial(_optional, partial(_number, least=0, most=1e6))),
        "max_cost": Setting(5.0, partial(_number, least=0, most=1e9)),
        "batch_texts": Setting(128, partial(_whole, least=1, most=2048)),
        "batch_tokens": Setting(50_000, _SIZE),
        "parallel": Setting(4, partial(_whole, least=1, most=64)),
        "encoding": Setting("base64", partial(_one_of, ("base64", "float"))),
        "timeout_s": Setting(60.0, partial(_number, least=0.01, most=3600)),
        "max_tries": Setting(6, _SIZE),
        **_FINISH,
        **_TEXT,
        **_STORAGE,
    },
    "use": {**_FINISH, **_TEXT, **_STORAGE},
    "python": {
        "target": Setting(None, str),
        "fingerprint": Setting(None, partial(_optional, str)),  # None: of its source and name
        **_FINISH,
        **_TEXT,
        **_STORAGE,
    },
}


def complete(
    kind: str, asked: Mapping[str, Any], known: Mapping[str, Setting] | None = None
) -> dict[str, Any]:
    """The settings of a kind of model with every default filled in, JSON-able.

    known: those of a kind that another package brings.
    Errors: ModelRefused for a setting the kind does not have, or a value it cannot take.
    """
    known = SETTINGS[kind] if known is None else known
    unknown = sorted(set(asked) - set(known))
    if unknown:
        raise ModelRefused(
            f"a {kind} model has no setting {', '.join(map(repr, unknown))}",
            f"its settings are {', '.join(known)}",
        )
    found = {
        name: _read(kind, name, setting, asked.get(name, setting.default))
        for name, setting in known.items()
    }
    for name, value in found.items():
        _refuse_undecoded(kind, name, value)
    return found


def _refuse_undecoded(kind: str, name: str, value: Any) -> None:
    """Errors: ModelRefused for text with bytes in it that the terminal could not decode."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, TypeError) as error:
        raise ModelRefused(
            f"{name} of a {kind} model cannot be what was given",
            "it holds bytes that are no text, or what JSON cannot hold",
            "give it as UTF-8",
        ) from error


def _read(kind: str, name: str, setting: Setting, value: Any) -> Any:
    try:
        return setting.read(value)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        shown = "what was given" if name in NEVER_SHOWN else repr(value)
        raise ModelRefused(
            f"{name} of a {kind} model cannot be {shown}", f"it must be {error}"
        ) from error
