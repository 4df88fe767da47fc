"""Model settings as people write them on the command line and in a study: one plain name each."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patcache.embedders.settings import SEGMENTERS
from patcache.errors import ModelRefused
from patcache.records import ModelRequest

PROMPT_NAMES = {"prompt_query": "query", "prompt_document": "document"}
SUFFIXES = {"max_tokens": "@{}t", "dims": "@{}d"}  # what tells two numbers in a label apart


def nested_settings(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a ModelRequest holds them.

    text and separator become one text view; prompt, or prompt_query and prompt_document, the
    prompts; dims the number of dimensions kept; and a tokenizer that is a word segmenter goes by
    that name. Errors: ModelRefused for prompts given in two ways.
    """
    settings = {name: value for name, value in flat.items() if name not in PROMPT_NAMES}
    prompts = {role: flat[name] for name, role in PROMPT_NAMES.items() if name in flat}
    if prompts and "prompt" in settings:
        raise ModelRefused(
            "prompts are given in two ways",
            f"prompt {settings['prompt']!r}, and texts of their own",
            "give --prompt, or --prompt-query and --prompt-document",
        )
    if "prompt" in settings:
        settings["prompts"] = settings.pop("prompt")
    if prompts:
        settings["prompts"] = prompts
    is_segmenter = settings.get("tokenizer") in SEGMENTERS
    for short, name in (("dims", "truncate_dim"), ("tokenizer", "segmenter")):
        if short in settings and name in settings and (short == "dims" or is_segmenter):
            raise ModelRefused(
                f"{name} is given in two ways",
                f"--{short} {settings[short]}, and --set {name}={settings[name]}",
                "give one of them",
            )
    if "dims" in settings:
        settings["truncate_dim"] = settings.pop("dims")
    if "separator" in settings:
        separator = settings.pop("separator")
        fields = str(settings.pop("text", "title+abstract")).split("+")
        settings["text"] = {"fields": fields, "separator": separator}
    if is_segmenter:
        settings["segmenter"] = settings.pop("tokenizer")
    return settings


def variants(name: str, label: str | None, flat: Mapping[str, Any]) -> list[ModelRequest]:
    """One request for each combination of the flat settings that are lists.

    Their labels are the label, or the name, and each value that varies: "bge@cls@128t@256d".
    """
    varied = [key for key, value in flat.items() if isinstance(value, list)]
    base = label or (Path(name).name if varied else None)
    requests = []
    for values in itertools.product(*(flat[key] for key in varied)):
        chosen = dict(zip(varied, values, strict=True))
        suffix = "".join(SUFFIXES.get(key, "@{}").format(value) for key, value in chosen.items())
        each = f"{base}{suffix}" if base else None
        requests.append(ModelRequest(name, each, nested_settings({**flat, **chosen})))
    return requests
