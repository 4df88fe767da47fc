"""The words of a text are jieba's own, only found faster."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patcache.embedders.words import JiebaWords, segmenter, words_of

jieba = pytest.importorskip("jieba")
jieba.setLogLevel(logging.ERROR)

EDGES = [
    "3.5mm USB-C node.js 2-5 100% 3.5% .5 5. a.b-c_d AT&T c++ C# x-ray",
    "混凝土轨枕 USB-C接口3.5mm，T恤 B超 AT&T公司",
    "café Ünïcode αβγ ＡＢＣ１２３ ひらがな カタカナ・𠀀",
    "",
    " \t\r\n ",
    "---...___",
    "a" * 200 + "混" * 200,
]


@pytest.fixture(scope="module")
def cut() -> JiebaWords:
    return JiebaWords()


@pytest.mark.parametrize("text", EDGES)
def test_edge_cases_are_cut_as_jieba_cuts_them(cut: JiebaWords, text: str) -> None:
    assert cut(text) == words_of(jieba.lcut(text))


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("aZ09.-_%+#&/ ,éTC混凝土轨枕αの\n\r"), max_size=40))
def test_any_mixture_is_cut_as_jieba_cuts_it(text: str) -> None:
    assert _shared_cut()(text) == words_of(jieba.lcut(text))


def test_real_english_and_chinese_patents_are_cut_as_jieba_cuts_them(
    cut: JiebaWords, shared: Path
) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    for name, n in (("patents_en", 300), ("patents_zh", 250)):
        rows = pq.read_table(shared / "data" / f"{name}.parquet", columns=["abstract"]).to_pylist()
        texts = [row["abstract"] or "" for row in rows[:n]]
        assert [cut(t) for t in texts] == [words_of(jieba.lcut(t)) for t in texts]


def test_words_of_other_users_of_jieba_stay_out(cut: JiebaWords) -> None:
    jieba.add_word("轨枕混凝")
    try:
        assert jieba.lcut("轨枕混凝") == ["轨枕混凝"]
        assert JiebaWords()("轨枕混凝") != ["轨枕混凝"]
    finally:
        jieba.del_word("轨枕混凝")


def test_punctuation_goes_and_letters_become_small() -> None:
    assert words_of(["USB", "-", "C", " ", "_", "100%", "Ä"]) == ["usb", "c", "100%", "ä"]


def test_regex_is_scikit_learns_own_pattern() -> None:
    text_module = pytest.importorskip("sklearn.feature_extraction.text")
    analyzer = text_module.TfidfVectorizer().build_analyzer()
    cut = segmenter({"name": "regex", "version": "1"})
    for text in EDGES:
        assert cut(text) == analyzer(text)


def test_rjieba_keeps_whole_what_jieba_splits() -> None:
    pytest.importorskip("rjieba")
    cut = segmenter({"name": "rjieba", "version": "0"})
    assert cut("USB-C 3.5mm") == ["usb-c", "3.5mm"]


_cached: list[Callable[[str], list[str]]] = []


def _shared_cut() -> Callable[[str], list[str]]:
    if not _cached:
        _cached.append(JiebaWords())
    return _cached[0]
