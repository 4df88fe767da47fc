"""A text is segmented once per segmenter, whatever happens to the process that did it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from patcache.embedders import token_cache
from patcache.embedders.token_cache import TokenCache

REGEX = {"name": "regex", "version": "1"}
TEXTS = ["a seat belt", "the battery cell", "", "belt and belt", "cell"]
WORDS = [["seat", "belt"], ["the", "battery", "cell"], [], ["belt", "and", "belt"], ["cell"]]


def words(cache: TokenCache, texts: list[str]) -> list[list[str]]:
    tokens = cache.tokens(texts)
    return [
        [cache.words[i] for i in tokens.ids[a:b]]
        for a, b in zip(tokens.indptr[:-1], tokens.indptr[1:], strict=True)
    ]


def blocks(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "tokens" / "regex-1").iterdir())


@pytest.fixture
def no_segmenter(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, segmenting anything is an error."""

    def refuse(setting: object) -> None:
        raise AssertionError("a cached text was segmented again")

    monkeypatch.setattr(token_cache, "segmenter", refuse)


def test_words_come_back_in_order_and_empty_texts_have_none(tmp_path: Path) -> None:
    assert words(TokenCache(REGEX, None), TEXTS) == WORDS
    assert words(TokenCache(REGEX, tmp_path), TEXTS) == WORDS


def test_a_second_process_segments_nothing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    TokenCache(REGEX, tmp_path).collect(iter(TEXTS))
    request.getfixturevalue("no_segmenter")
    again = TokenCache(REGEX, tmp_path)
    assert words(again, TEXTS[::-1]) == WORDS[::-1]


def test_collecting_a_corpus_gives_the_same_numbers_as_asking_for_it(tmp_path: Path) -> None:
    cache = TokenCache(REGEX, tmp_path)
    collected = cache.collect(TEXTS)
    asked = cache.tokens(TEXTS)
    assert collected.ids.tolist() == asked.ids.tolist()
    assert collected.indptr.tolist() == asked.indptr.tolist() == [0, 2, 5, 5, 8, 9]


def test_parts_of_tokens_are_those_of_their_texts() -> None:
    tokens = TokenCache(REGEX, None).tokens(TEXTS)
    parts = list(tokens.blocks(2))
    assert [len(part) for part in parts] == [2, 2, 1]
    assert np.concatenate([part.ids for part in parts]).tolist() == tokens.ids.tolist()
    assert parts[1].indptr.tolist() == [0, 0, 3]


def test_two_processes_that_write_the_same_block_leave_one(tmp_path: Path) -> None:
    first, second = TokenCache(REGEX, tmp_path), TokenCache(REGEX, tmp_path)
    first.tokens(TEXTS)
    second.tokens(TEXTS)
    first.flush()
    second.flush()
    assert len(blocks(tmp_path)) == 1
    assert words(TokenCache(REGEX, tmp_path), TEXTS) == WORDS


def test_what_a_killed_process_left_half_written_is_not_read(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    TokenCache(REGEX, tmp_path).collect(TEXTS)
    half = tmp_path / "tokens" / "regex-1" / ".writing-killed"
    half.mkdir()
    (half / "keys.npy").write_bytes(b"half")
    request.getfixturevalue("no_segmenter")
    assert words(TokenCache(REGEX, tmp_path), TEXTS) == WORDS


@pytest.mark.parametrize("name", ["keys.npy", "indptr.npy", "ids.npy", "words.txt"])
def test_a_damaged_block_is_made_again(tmp_path: Path, name: str) -> None:
    TokenCache(REGEX, tmp_path).collect(TEXTS)
    damaged = blocks(tmp_path)[0] / name
    damaged.write_bytes(damaged.read_bytes()[:-8])
    again = TokenCache(REGEX, tmp_path)
    assert words(again, TEXTS) == WORDS
    again.flush()
    assert len(blocks(tmp_path)) == 1


def test_keys_that_end_in_zero_bytes_are_told_apart(tmp_path: Path) -> None:
    # numpy's byte strings drop zero bytes at their end, so such keys need care.
    from patcache.hashing import text_key

    texts = [f"word{i}" for i in range(2000)]
    assert any(text_key(text).endswith(b"\0") for text in texts)
    TokenCache(REGEX, tmp_path).collect(texts)
    assert words(TokenCache(REGEX, tmp_path), texts) == [[text] for text in texts]


def test_the_cache_can_be_deleted_at_any_time(tmp_path: Path) -> None:
    cache = TokenCache(REGEX, tmp_path)
    cache.collect(TEXTS)
    shutil.rmtree(tmp_path / "tokens")
    assert words(cache, TEXTS) == WORDS  # its files are open, or mapped
    assert words(TokenCache(REGEX, tmp_path), TEXTS) == WORDS
