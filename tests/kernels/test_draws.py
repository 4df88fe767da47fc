import hashlib

import numpy as np
import pytest

from patcache.kernels.draws import GOLDEN, indices, mix, streams, words

MASK = 2**64 - 1


def number_word(number: str) -> int:
    return int.from_bytes(hashlib.sha256(number.encode()).digest()[:8], "big")


def plain_mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def test_mix_gives_the_published_first_values_of_splitmix64() -> None:
    # Seed 1234567: the reference implementation's first three outputs.
    state = np.uint64(1234567) + np.arange(1, 4, dtype=np.uint64) * GOLDEN
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mix(state).tolist() == expected


def test_a_word_is_what_integers_of_any_size_give() -> None:
    number = number_word("US7000001B2")
    golden = 0x9E3779B97F4A7C15
    seeded = plain_mix((5 + golden) & MASK)
    stream = plain_mix(((number ^ seeded) + golden) & MASK)
    expected = plain_mix((stream + ((3 << 32) + 7 + 1) * golden) & MASK)
    found = words(streams(5, np.array([number], dtype=np.uint64)), level=3, draw=7)
    assert found.tolist() == [expected]


def test_an_index_is_the_exact_high_half_of_the_product() -> None:
    generator = np.random.default_rng(1)
    random_words = generator.integers(0, 2**64, 1000, dtype=np.uint64)
    sizes = generator.integers(1, 2**32, 1000)
    expected = [int(w) * int(n) >> 64 for w, n in zip(random_words, sizes, strict=True)]
    assert indices(random_words, sizes).tolist() == expected


def test_the_largest_word_stays_inside_the_range() -> None:
    found = indices(np.array([MASK, MASK, 0], dtype=np.uint64), np.array([1, 2**32 - 1, 5]))
    assert found.tolist() == [0, 2**32 - 2, 0]


def test_indices_of_one_patent_over_draws_are_uniform() -> None:
    from scipy.stats import chisquare

    stream = np.repeat(streams(1, np.array([number_word("EP1")], dtype=np.uint64)), 1)
    found = [int(indices(words(stream, 1, draw), np.array([7]))[0]) for draw in range(7000)]
    assert chisquare(np.bincount(found, minlength=7)).pvalue > 0.001


def test_levels_draws_seeds_and_patents_give_different_words() -> None:
    numbers = np.array([number_word(f"US{i}") for i in range(50)], dtype=np.uint64)
    found = {
        int(word)
        for seed in (0, 1, 2)
        for level in range(7)
        for draw in range(3)
        for word in words(streams(seed, numbers), level, draw)
    }
    assert len(found) == 50 * 3 * 7 * 3


def test_wrong_seeds_and_sizes_are_refused() -> None:
    none = np.zeros(1, dtype=np.uint64)
    with pytest.raises(ValueError, match="whole number"):
        streams(-1, none)
    with pytest.raises(ValueError, match="not in 1"):
        indices(none, np.array([0]))
