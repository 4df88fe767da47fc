"""Model settings as people write them on the command line and in a study: one plain name each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from patcache.embedders.settings import SEGMENTERS

PROMPT_NAMES = {"prompt_query": "query", "prompt_document": "document"}


def nested_settings(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a ModelRequest holds them.

    text and separator become one text view, prompt_query and prompt_document one set of prompts,
    and a tokenizer that is a word segmenter goes by that name.
    """
    settings = {name: value for name, value in flat.items() if name not in PROMPT_NAMES}
    prompts = {role: flat[name] for name, role in PROMPT_NAMES.items() if name in flat}
    if prompts:
        settings["prompts"] = prompts
    if "separator" in settings:
        separator = settings.pop("separator")
        fields = str(settings.pop("text", "title+abstract")).split("+")
        settings["text"] = {"fields": fields, "separator": separator}
    if settings.get("tokenizer") in SEGMENTERS:
        settings["segmenter"] = settings.pop("tokenizer")
    return settings
