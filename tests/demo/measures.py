"""Measures of a set of abstracts: how rich its words are, and how often a sentence comes again."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

WORD = re.compile(r"[a-z]+")
SENTENCE = re.compile(r"(?<=[.!?])\s+")
N_FRAME_WORDS = 300


def type_token_ratio(abstracts: Sequence[str], n_tokens: int, n_shuffles: int = 8) -> float:
    """Distinct words among the first n_tokens words (letters, lower case) of shuffled abstracts.

    The mean over n_shuffles seeded orders. Sizes must be equal to be compared: the ratio falls
    with size in every text.
    """
    ratios = []
    for seed in range(n_shuffles):
        order = list(abstracts)
        random.Random(seed).shuffle(order)
        tokens = WORD.findall(" ".join(order).lower())[:n_tokens]
        if len(tokens) < n_tokens:
            raise ValueError(f"{len(tokens)} words, {n_tokens} wanted")
        ratios.append(len(set(tokens)) / n_tokens)
    return sum(ratios) / n_shuffles


def skeleton_shares(abstracts: Sequence[str]) -> dict[str, float]:
    """Share of abstracts in which each sentence skeleton occurs.

    A skeleton is a sentence whose words are masked but for the N_FRAME_WORDS most frequent of all
    abstracts; neighbouring masks are one.
    """
    counts = Counter(WORD.findall(" ".join(abstracts).lower()))
    frame = {word for word, _ in counts.most_common(N_FRAME_WORDS)}
    found: Counter[str] = Counter()
    for abstract in abstracts:
        found.update({_skeleton(sentence, frame) for sentence in SENTENCE.split(abstract)})
    return {skeleton: n / len(abstracts) for skeleton, n in found.items()}


def _skeleton(sentence: str, frame: set[str]) -> str:
    words = re.findall(r"[a-z0-9]+", sentence.lower())
    masked = " ".join(word if word in frame else "_" for word in words)
    return re.sub(r"_( _)+", "_", masked)
