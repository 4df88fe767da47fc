"""Word segmenters: text in, lower-cased words out, without punctuation and white space."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from patcache.errors import ModelRefused

MEMO_ENTRIES = 1_000_000
MEMO_CHARACTERS = 40  # longer stretches are Chinese clauses, which hardly ever come again

Segmenter = Callable[[str], list[str]]


def segmenter(setting: Mapping[str, str]) -> Segmenter:
    """The segmenter of a setting {"name": .., "version": ..}, ready to cut.

    Errors: ModelRefused where its package is missing.
    """
    try:
        return _SEGMENTERS[setting["name"]]()
    except ImportError as error:
        raise ModelRefused(
            f"the word segmenter {setting['name']} is not installed",
            str(error),
            "install it, or take another one: jieba, rjieba, regex",
        ) from error


def words_of(tokens: Iterable[str]) -> list[str]:
    """The tokens that hold a letter or digit, in lower case."""
    return [token.lower() for token in tokens if any(map(str.isalnum, token))]


class JiebaWords(dict[str, tuple[str, ...]]):
    """Exactly jieba's accurate mode, many times faster where words recur.

    jieba cuts maximal runs of its own word characters one by one and takes no notice of what
    stands around a run. So the words of a run can be remembered, run by run.
    """

    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its pattern strings, on newer Pythons
            import jieba
            from jieba import finalseg

        # Read straight from the dictionary: by itself jieba would load a marshalled copy from
        # the temporary folder, which anybody may have written; and the words of other users of
        # jieba in this process stay out.
        self._jieba = jieba.Tokenizer()
        with self._jieba.get_dict_file() as stream:
            self._jieba.FREQ, self._jieba.total = self._jieba.gen_pfdict(stream)
        self._jieba.initialized = True
        # In a run of ASCII the dictionary matters only where one of its few ASCII words ("AT&T")
        # occurs; elsewhere jieba ends up at this rule, after a search for the best path.
        ascii_words = [word for word in self._jieba.FREQ if word.isascii() and len(word) > 1]
        self._may_hold_word = re.compile("|".join(map(re.escape, ascii_words)) or "(?!)").search
        self._cut_unknown: Callable[[str], Iterable[str]] = finalseg.cut
        # Runs, and letters and digits outside of any, which jieba takes one by one; what is
        # neither holds no word.
        runs = jieba.re_han_default.pattern.replace("(", "(?:", 1)
        self._runs: Callable[[str], list[str]] = re.compile(rf"{runs}|[^\W_]").findall

    def __missing__(self, run: str) -> tuple[str, ...]:
        is_plain = run.isascii() and not self._may_hold_word(run)
        words = tuple(words_of(self._cut_unknown(run) if is_plain else self._jieba.cut(run)))
        if len(run) <= MEMO_CHARACTERS:
            if len(self) >= MEMO_ENTRIES:
                self.clear()
            self[run] = words
        return words

    def __call__(self, text: str) -> list[str]:
        return list(chain.from_iterable(map(self.__getitem__, self._runs(text))))


def _rjieba() -> Segmenter:
    import rjieba

    return lambda text: words_of(rjieba.cut(text))


def _regex() -> Segmenter:
    """Words of two characters and more: scikit-learn's own default."""
    find = re.compile(r"\b\w\w+\b").findall
    return lambda text: find(text.lower())


_SEGMENTERS: Mapping[str, Callable[[], Segmenter]] = {
    "jieba": JiebaWords,
    "rjieba": _rjieba,
    "regex": _regex,
}
