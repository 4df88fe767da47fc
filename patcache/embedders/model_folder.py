"""What a model folder says about itself: weights, pooling, heads, prompts, longest text.

The files are those of transformers and sentence-transformers; nothing is loaded here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patcache.embedders.finish import Dense, read_dense
from patcache.errors import ModelRefused, in_one_line
from patcache.hashing import canonical_json, file_digest, settings_digest, unchanged_digest

# Its ids tell one tokenizer from another.
PROBE = "Ein Verfahren, USB-C 3.5mm Ünïcode 混凝土 AND\tlithium-ion"
UNLIMITED = 1_000_000  # tokenizers without a limit say 1e30
# Families that count positions from padding_idx + 1, so that fewer are left for tokens.
OFFSET_FAMILIES = ("roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl", "ibert")
POSITION_KEYS = ("max_position_embeddings", "n_positions", "max_sequence_length", "n_ctx")
# Keys of config.json that say who wrote it, not what the network computes.
UNRELATED_KEYS = (
    "_name_or_path",
    "architectures",
    "dtype",
    "gradient_checkpointing",
    "id2label",
    "label2id",
    "torch_dtype",
    "transformers_version",
    "use_cache",
)
_POOLING_FLAGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """Pooling, heads, longest text and prompts of one model as they will be used."""

    pooling: str
    heads: tuple[Dense, ...]
    max_tokens: int
    prompts: Mapping[str, str]

    def output_dim(self, width: int) -> int:
        """Dimensions after the heads, of a network whose last layer has that width."""
        return len(self.heads[-1].weight) if self.heads else width


def read_facts(folder: Path, settings: Mapping[str, Any], label: str) -> Facts:
    """What is asked for, and for the rest what the folder says.

    Dense heads belong to the makers' pooling: another pooling leaves them out.
    Errors: ModelRefused where neither says, or the folder wants what is not known here.
    """
    own, heads = _own_pooling(folder)
    pooling = settings["pooling"] or own
    if pooling not in ("mean", "cls", "last"):
        why = f"its folder asks for {own}" if own else f"{folder} has no pooling configuration"
        raise ModelRefused(
            f"{label} does not say how to pool its tokens", why, "ask for @mean, @cls or @last"
        )
    longest = settings["max_tokens"] or own_max_tokens(folder, label)
    limit = position_limit(read_json(folder / "config.json"))
    if limit is not None and longest > limit:
        raise ModelRefused(f"{label} cannot read {longest} tokens", f"it has {limit} positions")
    prompts = _prompts(folder, settings["prompts"], label)
    return Facts(pooling, heads if pooling == own else (), longest, prompts)


def identity_of(facts: Facts, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a spec's identity that every network with a tokenizer has."""
    return {
        "pooling": facts.pooling,
        "dense": [head.digest for head in facts.heads],
        "max_tokens": facts.max_tokens,
        "truncate_dim": None,
        "normalize": settings["normalize"],
        "prompts": dict(facts.prompts),
        "storage": settings["storage"],
        "text": settings["text"],
    }


def weight_files(folder: Path, label: str) -> list[Path]:
    """The safetensors of a folder: the one file, or the shards that its index names.

    Errors: ModelRefused where there are none, naming pickled weights if those are there.
    """
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").is_file():
        return [folder / "model.safetensors"]
    if index.is_file():
        named = read_json(index).get("weight_map")
        if not isinstance(named, dict) or not named:
            raise ModelRefused(f"{label} is incomplete", f"{index} names no files of weights")
        names = set(named.values())
        files = [folder / name for name in sorted(names)]
        missing = [path.name for path in files if not path.is_file()]
        if missing:
            raise ModelRefused(f"{label} is incomplete", f"{folder} lacks {', '.join(missing)}")
        return files
    pickled = sorted(path.name for path in folder.glob("*.bin")) if folder.is_dir() else []
    why = f"{folder} holds pickled weights only ({', '.join(pickled)}), which can run any code"
    raise ModelRefused(
        f"{label} has no safetensors weights",
        why if pickled else f"{folder} holds no model.safetensors",
        "save the model as safetensors once, where you trust it, and give that folder",
    )


def weights_digest(files: list[Path]) -> str:
    """One digest of the contents of weight files, whatever they are called or where they lie."""
    digests = [unchanged_digest(path) for path in files]
    return (
        digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    )


def config_digest(config: Mapping[str, Any]) -> str:
    """Digest of what config.json says about the computation."""
    return settings_digest({k: v for k, v in config.items() if k not in UNRELATED_KEYS})


def tokenizer_digest(folder: Path, probe_ids: list[int]) -> str:
    """Digest of a tokenizer: its file without truncation and padding, and ids of a probe.

    The probe catches settings that lie elsewhere (lower case, tokens put before or after).
    """
    path = folder / "tokenizer.json"
    if path.is_file():
        content = {k: v for k, v in read_json(path).items() if k not in ("truncation", "padding")}
        vocabulary = canonical_json(content)
    else:
        known = ("vocab.txt", "vocab.json", "merges.txt", "tokenizer.model", "spiece.model")
        files = [folder / name for name in known if (folder / name).is_file()]
        vocabulary = "".join(file_digest(file) for file in files)
    return hashlib.sha256(f"{vocabulary}\0{probe_ids}".encode()).hexdigest()[:16]


def own_max_tokens(folder: Path, label: str) -> int:
    """The longest text in tokens: sentence_bert_config.json, else tokenizer and position limit.

    Errors: ModelRefused where neither states one (tokenizers without a limit say 1e30).
    """
    stated = _number(folder / "sentence_bert_config.json", "max_seq_length")
    if stated:
        return stated
    tokenizer = _number(folder / "tokenizer_config.json", "model_max_length")
    limits = [tokenizer, position_limit(read_json(folder / "config.json"))]
    known = [limit for limit in limits if limit and limit < UNLIMITED]
    if not known:
        raise ModelRefused(
            f"{label} does not say how many tokens it reads",
            f"neither the tokenizer nor config.json in {folder} has a limit",
            "give the setting max_tokens",
        )
    return min(known)


def refuse_too_short(max_tokens: int, n_special: int, label: str) -> None:
    """Errors: ModelRefused where no token of a text fits beside those that stand around it.

    Tokenizers would leave the text whole then.
    """
    if max_tokens <= n_special:
        raise ModelRefused(
            f"{label} cannot cut a text to {max_tokens} tokens",
            f"{n_special} of them stand around the text",
            f"give --max-tokens {n_special + 1} or more",
        )


def position_limit(config: Mapping[str, Any]) -> int | None:
    """How many tokens the positions of a network reach; None where it has no such limit."""
    stated = next((config[key] for key in POSITION_KEYS if config.get(key)), None)
    if stated is not None and not isinstance(stated, int):
        raise ModelRefused("config.json is damaged", f"its number of positions is {stated!r}")
    if stated is None or config.get("model_type") not in OFFSET_FAMILIES:
        return stated
    return stated - int(config.get("pad_token_id") or 0) - 1


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; an empty one where the file is not there.

    Errors: ModelRefused where the file holds something else.
    """
    content = _read(path) if path.is_file() else {}
    if not isinstance(content, dict):
        raise ModelRefused(f"{path} is damaged", "it holds no JSON object")
    return content


def _read(path: Path) -> Any:
    """What a JSON file holds. Errors: ModelRefused."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelRefused(f"{path} is damaged", in_one_line(error)) from error


def _number(path: Path, key: str) -> int | None:
    """A number that a JSON file states; None where it states none. Errors: ModelRefused."""
    value = read_json(path).get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise ModelRefused(f"{path} is damaged", f"its {key} is {value!r}")
    return int(value)


def _own_pooling(folder: Path) -> tuple[str | None, tuple[Dense, ...]]:
    """The pooling and Dense heads that modules.json lists after the network."""
    path = folder / "modules.json"
    modules = _read(path) if path.is_file() else []
    are_named = isinstance(modules, list) and all(
        isinstance(module, dict) and {"type", "path"} <= set(module) for module in modules
    )
    if not are_named:
        raise ModelRefused(f"{path} is damaged", "it is no list of modules with type and path")
    kinds = {str(module["type"]).rpartition(".")[2]: folder / module["path"] for module in modules}
    known = ("Transformer", "Pooling", "Dense", "Normalize")
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        raise ModelRefused(
            f"{folder} has a module {unknown[0]}", f"known modules are {', '.join(known)}"
        )
    pooling = kinds.get("Pooling", folder / "1_Pooling")
    heads = (m for m in modules if str(m["type"]).endswith(".Dense"))
    dense = tuple(read_dense(folder / head["path"]) for head in heads)
    return _pooling_of(read_json(pooling / "config.json")), dense


def _pooling_of(config: Mapping[str, Any]) -> str | None:
    if config.get("include_prompt") is False:
        raise ModelRefused("the model's pooling leaves its prompt out", "that is not known here")
    named = config.get("pooling_mode")
    flags = [name for flag, name in _POOLING_FLAGS.items() if config.get(flag)]
    modes = [str(named)] if named else flags
    return {"lasttoken": "last"}.get("+".join(modes), "+".join(modes)) or None


def _prompts(folder: Path, asked: Mapping[str, str] | str, label: str) -> Mapping[str, str]:
    if not isinstance(asked, str):
        return asked
    own = read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    document = own.get("document", own.get("passage"))
    if "query" not in own and (document is None or asked == "query"):
        names = ", ".join(own) or "none"
        raise ModelRefused(
            f"{label} states no prompts for query and document",
            f"prompts in {folder}: {names}",
            'give them: prompts={"query": ..., "document": ...}',
        )
    query = own.get("query") or ""
    return {"query": query, "document": query if asked == "query" else document or ""}
