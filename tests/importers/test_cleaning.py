"""Texts that say nothing, and texts that are the same."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from patcache.hashing import text_key
from patcache.importers.cleaning import same_text_key, unblank


@given(st.text(max_size=30) | st.text("aB \t\n\u00a0\u3000\x1f\x0bß", max_size=12))
def test_the_key_of_a_text_is_that_of_its_words(text: str) -> None:
    assert same_text_key(text) == text_key(" ".join(text.split()).casefold())


def test_case_and_white_space_do_not_count_but_words_do() -> None:
    key = same_text_key("A rotor blade")
    assert key == same_text_key(" a\tROTOR \u00a0\nblade ")
    assert key != same_text_key("A rotorblade")
    assert len(key) == 16


def test_texts_that_say_nothing_become_null_and_others_stay_as_they_are() -> None:
    nothing = ["", "  ", "-", " – ", "\u00a0", "N/A", "nan", "None", "NULL", "\n\t", " " * 5_000]
    something = ["- 1", "Nan bread", "--a", "None of these", " x ", "0", "无"]
    column = pa.chunked_array([nothing, [*something, None]])
    assert unblank(column).to_pylist() == [None] * len(nothing) + [*something, None]
