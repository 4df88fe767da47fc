"""Texts and keys by SQL are those that Python would make."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from patcache.errors import ModelRefused
from patcache.hashing import keys_digest, text_key, text_keys
from patcache.records import TextView
from patcache.store import StoreFolder
from patcache.store.texts import (
    distinct_texts,
    patent_ids,
    sample_patents,
    text_keys_of,
    texts_of,
)
from tests.steps.study_by_hand import add_patents, add_tuples

TEXTS = [
    ("Zange", "Eine Zange für Drähte – größer als 3 µm."),
    ("只有标题", None),
    ("", "no title"),
    ("Emoji 🧪", "tab\tand\nline"),
    ("Zange", "Eine Zange für Drähte – größer als 3 µm."),
]
PLAIN = [
    "Zange. Eine Zange für Drähte – größer als 3 µm.",
    "只有标题",
    "no title",
    "Emoji 🧪. tab\tand\nline",
    "Zange. Eine Zange für Drähte – größer als 3 µm.",
]


def test_texts_join_what_there_is_in_the_order_asked_for(store: StoreFolder) -> None:
    add_patents(store, TEXTS)
    order = np.array([3, 1, 1, 0, 2, 4], dtype=np.int32)
    with store.read() as cursor:
        assert texts_of(cursor, TextView(), order) == [PLAIN[i] for i in order]
        other = TextView(("abstract", "title"), " | ")
        assert texts_of(cursor, other, order[:2]) == ["tab\tand\nline | Emoji 🧪", "只有标题"]


@pytest.mark.parametrize("prompt", ["", "query: ", "检索："])
def test_keys_are_the_hash_of_prompt_and_text(store: StoreFolder, prompt: str) -> None:
    add_patents(store, TEXTS)
    order = np.array([4, 2, 0, 3, 1], dtype=np.int32)
    with store.read() as cursor:
        keys, has_text = text_keys_of(cursor, TextView(), prompt, order)
    assert has_text.all()
    assert keys.tolist() == text_keys([prompt + PLAIN[i] for i in order]).tolist()
    whole = hashlib.sha256((prompt + PLAIN[4]).encode()).digest()
    assert bytes(keys[0]) == whole[:16]


def test_a_patent_without_any_such_field_has_no_text(store: StoreFolder) -> None:
    add_patents(store, TEXTS)
    with store.read() as cursor:
        _, has_text = text_keys_of(cursor, TextView(("abstract",)), "p: ", patent_ids(cursor))
        _, claims = text_keys_of(cursor, TextView(("claims",)), "p: ", patent_ids(cursor))
    assert has_text.tolist() == [True, False, True, True, True]
    assert not claims.any()


def test_a_field_that_is_none_is_refused(store: StoreFolder) -> None:
    ids = np.array([0], dtype=np.int32)
    with store.read() as cursor, pytest.raises(ModelRefused, match="no text 'title\\+x'"):
        texts_of(cursor, TextView(("title", "x")), ids)


def test_texts_to_fit_on_are_distinct_and_in_the_order_of_their_keys(store: StoreFolder) -> None:
    add_patents(store, TEXTS)
    with store.read() as cursor:
        everyone = patent_ids(cursor)
    with distinct_texts(store, TextView(), everyone) as texts:
        expected = sorted(set(PLAIN), key=text_key)
        assert list(texts) == expected
        assert list(texts) == expected  # a second pass
        assert len(texts) == 4
        assert texts.digest == keys_digest(map(text_key, expected))
        with store.write():
            pass  # the store is free while a model is fitted
    assert {path.name for path in store.path.iterdir()} == {"patcache.duckdb"}
    with distinct_texts(store, TextView(("abstract",)), everyone) as texts:
        assert len(texts) == 3


def test_patents_of_a_sample_come_by_tuple_with_the_target_first(store: StoreFolder) -> None:
    add_patents(store, TEXTS)
    add_tuples(store, "main", [(4, 0, 1), (2, 3, 0)], levels=(1, 2))
    add_tuples(store, "main", [(0, 1, 2, 3)], levels=(1, 2, 3), shape_id=2, first_id=2)
    with store.read() as cursor:
        patents, is_target = sample_patents(cursor, 1)
    assert patents.tolist() == [4, 0, 1, 2, 3, 0, 0, 1, 2, 3]
    assert np.flatnonzero(is_target).tolist() == [0, 3, 6]
