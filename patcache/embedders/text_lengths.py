"""How many tokens a text has for a model that is not here, and where it is cut."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from patcache.errors import ModelRefused, in_one_line
from patcache.hashing import file_digest

CHARACTERS_RULE = "characters-1"  # another rule gets another name: it is part of a spec
ASCII_PER_TOKEN = 4


class Lengths(Protocol):
    """A rule for the length of texts in tokens."""

    name: str  # part of a spec's identity

    def count(self, text: str) -> int:
        """Tokens of a text."""

    def cut(self, text: str, n_tokens: int) -> str:
        """The longest beginning of a text that has n_tokens at most."""


class CharacterLengths:
    """Four ASCII characters are one token, and every other character is one."""

    name = CHARACTERS_RULE

    def count(self, text: str) -> int:
        return math.ceil(_quarters(text) / ASCII_PER_TOKEN)

    def cut(self, text: str, n_tokens: int) -> str:
        left = n_tokens * ASCII_PER_TOKEN
        if _quarters(text) <= left:
            return text
        for place, character in enumerate(text):
            left -= 1 if character.isascii() else ASCII_PER_TOKEN
            if left < 0:
                return text[:place]
        return text


def read_tokenizer(path: Path) -> Any:
    """The tokenizer of a tokenizer.json. Errors: ModelRefused; ImportError without its package."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # of no other kind, whatever is wrong
        raise ModelRefused(
            f"{path} is no tokenizer that can be read", in_one_line(error)
        ) from error


class TokenizerLengths:
    """The tokens of a tokenizer.json, without special ones."""

    def __init__(self, path: Path) -> None:
        self.name = f"tokenizer:{file_digest(path)}"
        self._tokenizer: Any = read_tokenizer(path)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def cut(self, text: str, n_tokens: int) -> str:
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return text if len(offsets) <= n_tokens else text[: offsets[n_tokens - 1][1]]


def lengths_of(settings: Mapping[str, Any], label: str) -> Lengths:
    """The rule that the setting "tokenizer" asks for: a tokenizer.json or its folder, or none.

    Errors: ModelRefused where there is no such file, or its package is missing.
    """
    if settings["tokenizer"] is None:
        return CharacterLengths()
    path = Path(settings["tokenizer"])
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        raise ModelRefused(f"no tokenizer.json for {label}", f"looked for {path}")
    try:
        return TokenizerLengths(path)
    except ImportError as error:
        raise ModelRefused(
            f"{label} needs the package tokenizers", str(error), "pip install 'patcache[static]'"
        ) from error


def estimate_tokens(texts: Iterable[str]) -> int:
    """About how many tokens texts have; in English a little too many."""
    return sum(map(CharacterLengths().count, texts))


def _quarters(text: str) -> int:
    n_bytes_beyond = 0 if text.isascii() else sum(not c.isascii() for c in text)
    return len(text) + (ASCII_PER_TOKEN - 1) * n_bytes_beyond
