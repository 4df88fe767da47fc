"""Random numbers without state: a word for each (seed, patent, level, draw), on every platform.

The word depends on nothing else, so a draw does not change with the order of rows, the other
targets drawn, threads or the library versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import IntArray

    WordArray = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
DRAW_BITS = 32
LOW_32 = np.uint64(0xFFFFFFFF)


def mix(words: WordArray) -> WordArray:
    """The finalizer of splitmix64: a bijection of 64-bit words whose output bits look independent.

    Shapes: any -> the same.
    Units:  none.
    Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators".
    Errors: none; arithmetic is modulo 2^64.
    """
    mixed = words ^ (words >> np.uint64(30))
    mixed *= FIRST
    mixed ^= mixed >> np.uint64(27)
    mixed *= SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed


def streams(seed: int, number_words: WordArray) -> WordArray:
    """The start of each patent's own splitmix64 stream under a seed.

    Shapes: number_words (T,), the first 8 bytes (big-endian) of sha256 of the publication number
            -> (T,).
    Units:  none.
    Source: two rounds of splitmix64, so that neighbouring seeds share nothing.
    Errors: ValueError if the seed is outside 0 .. 2^63 - 1.
    """
    if not 0 <= seed < 2**63:
        raise ValueError(f"a seed is a whole number from 0 to 2^63 - 1, not {seed}")
    seeded = mix(np.array([seed], dtype=np.uint64) + GOLDEN)
    return mix((number_words ^ seeded) + GOLDEN)


def words(stream: WordArray, level: int, draw: int) -> WordArray:
    """Element (level, draw) of each stream: level 0 ranks the targets, levels 1-6 draw candidates.

    Shapes: stream (T,) -> (T,).
    Units:  64 random bits.
    Source: splitmix64 is a counter (state + i * golden) behind `mix`; i = level * 2^32 + draw + 1.
    Errors: none.
    """
    step = np.uint64((level << DRAW_BITS) + draw + 1)
    with np.errstate(over="ignore"):
        return mix(stream + step * GOLDEN)


def indices(random_words: WordArray, sizes: IntArray) -> IntArray:
    """Uniform index in [0, size) for each word: the high half of word * size.

    Shapes: (T,), (T,) -> (T,).
    Units:  positions in a range.
    Source: Lemire 2019 without rejection: any index has probability within 2^-64 of 1 / size, a
            relative bias under size / 2^64 (3e-13 for five million).
    Errors: ValueError if a size is below 1 or not below 2^32 (the product would overflow).
    """
    if len(sizes) and (sizes.min() < 1 or sizes.max() >= 2**32):
        raise ValueError(f"sizes from {sizes.min()} to {sizes.max()} are not in 1 .. 2^32 - 1")
    wide = sizes.astype(np.uint64)
    low = ((random_words & LOW_32) * wide) >> np.uint64(32)
    return (((random_words >> np.uint64(32)) * wide + low) >> np.uint64(32)).astype(np.int64)
