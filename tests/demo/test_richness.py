"""Richness and skeletons on equal numbers of abstracts, and by a fixed list of frame words."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from patcache.demo.corpus import generate, patents_of
from tests.demo.measures import SENTENCE, type_token_ratio

# Different words a word (letters, lower case) in n shuffled abstracts of 13,879 real patents,
# mean of 8 orders; the last test works them out again.
REAL_RATIOS = {300: 0.1375, 600: 0.1030}
REAL_RATIO_OF_100_000_WORDS = 0.0838
FRAME_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an the this these said each one two three several and or but as while whereas because
        since so that such which whose where wherein when if once until before after in on at by for
        from of to with without into through over under between is are be has have can may not no
        its their it than then there also even only both neither nor least more""",
    )
)


@pytest.fixture(scope="module")
def abstracts() -> list[str]:
    return [text for text in generate()["abstract"].to_pylist() if text]


def ratio(abstracts: list[str], n_abstracts: int) -> float:
    ratios = []
    for seed in range(8):
        order = list(abstracts)
        random.Random(seed).shuffle(order)
        words = re.findall(r"[a-z]+", " ".join(order[:n_abstracts]).lower())
        ratios.append(len(set(words)) / len(words))
    return sum(ratios) / len(ratios)


@pytest.mark.parametrize(("n_abstracts", "real"), REAL_RATIOS.items())
def test_equal_numbers_of_abstracts_are_as_rich(
    abstracts: list[str], n_abstracts: int, real: float
) -> None:
    assert 0.8 * real <= ratio(abstracts, n_abstracts) <= 1.2 * real


def test_a_hundred_thousand_words_are_as_rich(abstracts: list[str]) -> None:
    real = REAL_RATIO_OF_100_000_WORDS
    assert 0.8 * real <= type_token_ratio(abstracts, 100_000) <= 1.2 * real


def test_no_skeleton_of_frame_words_comes_in_over_2_percent(abstracts: list[str]) -> None:
    counts: Counter[str] = Counter()
    for abstract in abstracts:
        found = set()
        for sentence in SENTENCE.split(abstract):
            words = re.findall(r"[a-z0-9]+", sentence.lower())
            masked = " ".join(word if word in FRAME_WORDS else "_" for word in words)
            found.add(re.sub(r"_(?: _)+", "_", masked))
        counts.update(found)
    assert counts.most_common(1)[0][1] <= 0.02 * len(abstracts)


def test_abstracts_have_80_to_150_words(abstracts: list[str]) -> None:
    lengths = [len(abstract.split()) for abstract in abstracts]
    assert min(lengths) >= 80
    assert max(lengths) <= 150


def test_the_corpus_is_the_same_on_every_machine() -> None:
    digest = hashlib.sha256()
    for patent in patents_of(seed=1):
        digest.update(repr((patent.publication_number, patent.title, patent.abstract)).encode())
    assert digest.hexdigest()[:16] == "fe303d871115737e"


def test_another_seed_writes_other_patents() -> None:
    assert not set(generate(2)["title"].to_pylist()[:50]) >= set(
        generate(1)["title"].to_pylist()[:50]
    )


def test_the_stored_ratios_are_those_of_real_patents(shared: Path) -> None:
    path = shared / "data" / "patents_en.parquet"
    real = [text for text in pq.read_table(path)["abstract"].to_pylist() if text]
    for n_abstracts, stored in REAL_RATIOS.items():
        assert ratio(real, n_abstracts) == pytest.approx(stored, abs=0.0001)
    assert type_token_ratio(real, 100_000) == pytest.approx(REAL_RATIO_OF_100_000_WORDS, abs=0.0001)
