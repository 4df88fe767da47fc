"""Token ids on their way to a network: cut, by length, in batches of a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import ModelRefused
from patcache.hashing import text_key

if TYPE_CHECKING:
    from patcache.records import FloatArray

NAMED_TEXTS = 5
NAMED_CHARACTERS = 40
_MEMORY_WORDS = ("out of memory", "failed to allocate", "alloc_failed", "bad_alloc")

# Pooled vectors of the texts with these numbers; None where the device has not the memory.
Compute = Callable[[Sequence[int]], "FloatArray | None"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Token ids of some texts, cut to fit, and how many of the texts were cut.

    type_ids: of the same lengths, for graphs that take them.
    """

    texts: Sequence[str]
    ids: Sequence[Sequence[int]]
    type_ids: Sequence[Sequence[int]]
    n_truncated: int

    def longest_first(self) -> list[int]:
        """Numbers of the texts that have a token, by length."""
        with_tokens = (i for i, row in enumerate(self.ids) if row)
        return sorted(with_tokens, key=lambda i: -len(self.ids[i]))

    def equal_lengths(self, most_texts: int, most_tokens: int) -> list[list[int]]:
        """Numbers of texts in groups of one length, the longest first: nothing to be padded."""
        groups: list[list[int]] = []
        for i in self.longest_first():
            length = len(self.ids[i])
            room = max(1, min(most_texts, most_tokens // length))
            if groups and len(self.ids[groups[-1][0]]) == length and len(groups[-1]) < room:
                groups[-1].append(i)
            else:
                groups.append([i])
        return groups


def tokenized(tokenizer: Any, texts: Sequence[str]) -> Prepared:
    """Token ids by a tokenizer of the tokenizers library, cut as it was told to."""
    encodings = tokenizer.encode_batch_fast(list(texts))
    return Prepared(
        texts,
        [encoding.ids for encoding in encodings],
        [encoding.type_ids for encoding in encodings],
        sum(bool(encoding.overflowing) for encoding in encodings),
    )


def pad(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Token ids padded on the right with 0, and the mask that says which are tokens.

    The mask decides, so the id of the padding does not matter, and a model needs none. On the
    right, positions count from the first token whatever stands beside a text.

    Shapes: ids and mask (n, longest) int64.
    """
    lengths = np.array([len(row) for row in rows])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
    ids = np.zeros(mask.shape, dtype=np.int64)
    ids[mask == 1] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows])
    return ids, mask


def batches(lengths: Sequence[int], budget: int) -> Iterator[range]:
    """Runs of ascending lengths whose padded size fits the budget; one text always does."""
    start = 0
    for stop in range(1, len(lengths) + 1):
        if stop == len(lengths) or (stop + 1 - start) * lengths[stop] > budget:
            yield range(start, stop)
            start = stop


class Batches:
    """Texts of like length together, by a budget of tokens that halves where the memory ends.

    budget: tokens in a batch, padding included; one text is always a batch.
    """

    def __init__(self, budget: int, label: str, device: str) -> None:
        self.budget = budget
        self._label = label
        self._device = device

    def pooled(
        self, prepared: Prepared, width: int, compute: Compute, n_threads: int = 1
    ) -> FloatArray:
        """Row i for text i; a text without a token has the zero vector.

        n_threads: batches that are computed at once.
        Errors: ModelRefused where one text alone is out of memory.
        """
        pooled = np.zeros((len(prepared.ids), width), dtype=np.float32)
        waiting = prepared.longest_first()
        while waiting:
            parts = self._parts(prepared, waiting)
            n_done = 0
            with ThreadPoolExecutor(n_threads) as pool:
                found = map(compute, parts) if n_threads == 1 else pool.map(compute, parts)
                for members, vectors in zip(parts, found, strict=True):
                    if vectors is None:
                        self._halve(len(members), len(prepared.ids[members[0]]))
                        break
                    pooled[members] = vectors
                    n_done += len(members)
            waiting = waiting[n_done:]
        return pooled

    def _parts(self, prepared: Prepared, waiting: list[int]) -> list[list[int]]:
        """Those texts, the longest first, cut into batches."""
        parts, start = [], 0
        while start < len(waiting):
            stop = start + max(1, self.budget // len(prepared.ids[waiting[start]]))
            parts.append(waiting[start:stop])
            start = stop
        return parts

    def _halve(self, n_texts: int, longest: int) -> None:
        if n_texts == 1:
            raise ModelRefused(
                f"{self._label} does not fit into the memory of {self._device}",
                f"one text of {longest} tokens is already too much",
                "give a smaller max_tokens, arithmetic=bf16, or another device",
            )
        self.budget = min(self.budget, n_texts * longest) // 2


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error of torch or ONNX Runtime says that the device's memory is full."""
    return any(word in str(error).lower() for word in _MEMORY_WORDS)


def check_overflow(pooled: FloatArray, texts: Sequence[str], arithmetic: str, label: str) -> None:
    """Errors: ModelRefused for numbers beyond fp16, naming the texts they came from."""
    bad = np.flatnonzero(~np.isfinite(pooled).all(axis=1))
    if arithmetic != "fp16" or not len(bad):
        return
    shown = [int(i) for i in bad[:NAMED_TEXTS]]
    places = ", ".join(map(str, shown)) + (", ..." if len(bad) > NAMED_TEXTS else "")
    named = "; ".join(
        f"key {text_key(texts[i]).hex()} {texts[i][:NAMED_CHARACTERS]!r}" for i in shown
    )
    raise ModelRefused(
        f"{label} overflows in fp16",
        f"{len(bad)} of {len(pooled)} vectors not finite: texts {places} of this block; {named}",
        "take arithmetic=fp32, or bf16 where the processor has it",
    )
