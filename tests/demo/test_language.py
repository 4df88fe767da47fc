"""The generated patents read like patents: lengths, richness, no sentence that comes again."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from patcache.demo.corpus import generate
from patcache.ipc import parse
from patcache.records import SECTIONS
from tests.demo.measures import skeleton_shares, type_token_ratio

# type_token_ratio of the abstracts of 13,879 real patents, by number of words; see the last test
REAL_RATIOS = {25_000: 0.1541, 50_000: 0.1161}


@pytest.fixture(scope="module")
def patents() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = generate().to_pylist()
    return rows


@pytest.fixture(scope="module")
def abstracts(patents: list[dict[str, Any]]) -> list[str]:
    return [row["abstract"] for row in patents if row["abstract"]]


def test_the_same_corpus_every_time(patents: list[dict[str, Any]]) -> None:
    assert generate().to_pylist() == patents


def test_every_section_and_year_has_patents_and_every_code_can_be_read(
    patents: list[dict[str, Any]],
) -> None:
    numbers = [row["publication_number"] for row in patents]
    assert len(set(numbers)) == len(numbers)
    cells = {
        (row["publication_date"][:4], parse(row["ipc"].split(";")[0]).section) for row in patents
    }
    years = {year for year, _ in cells}
    assert len(years) >= 3
    assert cells == {(year, section) for year in years for section in SECTIONS}
    for row in patents:
        for code in row["ipc"].split(";"):
            assert parse(code.strip()).code == code.strip()


def test_the_corpus_has_what_real_ones_have(patents: list[dict[str, Any]]) -> None:
    n = len(patents)
    texts = [row["abstract"] for row in patents if row["abstract"]]
    families = [row["family_id"] for row in patents if row["family_id"]]
    assert 0 < n - len(texts) < 0.05 * n  # a title only
    assert 0 < len(texts) - len(set(texts)) < 0.05 * n  # continuations
    assert len(set(families)) < len(families)  # members of one family
    assert 0.1 * n < sum(";" in row["ipc"] for row in patents) < 0.9 * n  # secondary codes


def test_abstracts_are_as_long_as_abstracts(abstracts: list[str]) -> None:
    lengths = [len(abstract.split()) for abstract in abstracts]
    assert min(lengths) >= 60
    assert max(lengths) <= 170
    assert 90 <= sum(lengths) / len(lengths) <= 130


@pytest.mark.parametrize(("n_tokens", "real"), REAL_RATIOS.items())
def test_words_are_as_rich_as_those_of_real_patents(
    abstracts: list[str], n_tokens: int, real: float
) -> None:
    assert 0.8 * real <= type_token_ratio(abstracts, n_tokens) <= 1.2 * real


def test_no_sentence_skeleton_comes_in_over_2_percent_of_abstracts(abstracts: list[str]) -> None:
    shares = skeleton_shares(abstracts)
    assert max(shares.values()) <= 0.02


def test_articles_fit_the_words_behind_them(abstracts: list[str]) -> None:
    words = " ".join(abstracts).lower().split()
    pairs = list(itertools.pairwise(words))
    assert not [pair for pair in pairs if pair[0] == "a" and pair[1][:2] in ("ai", "ap", "el")]
    assert not [pair for pair in pairs if pair[0] == "an" and pair[1][0] in "bcdgkpqtvwz"]


def test_numbers_fit_their_nouns(abstracts: list[str]) -> None:
    text = " ".join(abstracts)
    assert not re.findall(r"\b(?:two|three|four) (?:state|mode|position|member|element)\b", text)


def test_measures_on_a_text_that_is_counted_by_hand() -> None:
    # a b a b | a c: 6 words, 3 of them different
    assert type_token_ratio(["a b a b.", "a c."], 6) == 0.5
    assert skeleton_shares(["It is. It is.", "It is.", "No"]) == {"it is": 2 / 3, "no": 1 / 3}


def test_the_stored_ratios_are_those_of_real_patents(shared: Path) -> None:
    path = shared / "data" / "patents_en.parquet"
    real = [a for a in pq.read_table(path, columns=["abstract"])["abstract"].to_pylist() if a]
    for n_tokens, ratio in REAL_RATIOS.items():
        assert type_token_ratio(real, n_tokens) == pytest.approx(ratio, abs=0.003)
