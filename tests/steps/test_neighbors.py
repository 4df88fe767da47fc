"""Look-ups of patents and texts: the right patents, all of them, and what is missing said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache import Store
from patcache.errors import ModelRefused, NotThere
from patcache.listing import Listing
from patcache.records import ModelRequest, Spec
from patcache.steps import patent_rows as patent_rows_module
from patcache.steps.embedding import embed
from patcache.steps.indexing import build_index, indexes
from patcache.steps.nearest import Asked
from patcache.steps.neighbors import NeighborRow, joined, neighbors
from patcache.steps.patent_rows import patent_rows
from patcache.steps.rows import spec_rows
from patcache.store import StoreFolder
from patcache.store.specs import add_spec
from tests.steps.study_by_hand import LetterEmbedder, add_patents, random_texts

ENCODER = """
def encode(texts):
    return [[float(text.count(letter)) for letter in "abcdefgh"] for text in texts]
"""


def embedded(store: StoreFolder, embedder: LetterEmbedder) -> None:
    embed(store, ModelRequest(embedder.spec.label), embedder=embedder, all_texts=True, samples=())


def look_up(
    store: StoreFolder,
    *patents: str,
    texts: Sequence[str] = (),
    model: str = "letters",
    **asked: Any,
) -> Listing[NeighborRow]:
    return joined(neighbors(store, model=model, patents=patents, texts=texts, asked=Asked(**asked)))


def named(listing: Listing[NeighborRow]) -> list[tuple[int, str]]:
    return [(row.rank, row.publication_number) for row in listing]


@pytest.fixture
def letters(store: StoreFolder) -> StoreFolder:
    """Six patents; years 2000, 2001, 2002 in turn, sections A to F.

    Letters: P0 aa, P1 ab, P2 bb, P3 aaa, P4 the text of P1 once more, P5 none at all.
    """
    texts = [(None, text) for text in ("aa", "ab", "bb", "aaa", "ab", None)]
    add_patents(store, texts)
    embedded(store, LetterEmbedder())
    return store


def test_neighbours_by_hand_with_their_years_codes_and_titles(letters: StoreFolder) -> None:
    # Cosine with aa: 1 of aaa; 1 / sqrt(2) of ab, twice; 0 of bb.
    found = look_up(letters, "P0", k=3)
    assert named(found) == [(1, "P3"), (2, "P1"), (2, "P4"), (3, "P2")]
    expected = [1, 0.5**0.5, 0.5**0.5, 0]
    assert [row.similarity for row in found] == pytest.approx(expected, abs=1e-7)
    assert [(row.year, row.code) for row in found][:2] == [(2000, "D01B 1/00"), (2001, "B01B 1/00")]
    assert "4 patents share 3 texts" in found.notes[0]


def test_the_patent_and_its_copies_are_left_out_unless_asked_for(letters: StoreFolder) -> None:
    found = look_up(letters, "P1", k=2)
    assert not {"P1", "P4"} & {row.publication_number for row in found}
    assert "1 other patents with the text of P1" in found.notes[0]
    with_self = look_up(letters, "P1", k=1, with_self=True)
    assert named(with_self) == [(1, "P1"), (1, "P4")]


def test_fewer_neighbours_than_asked_for_are_said(letters: StoreFolder) -> None:
    found = look_up(letters, "P0", k=10)
    assert len(found) == 4
    assert "there are only 3 other texts" in " ".join(found.notes)
    assert "5 of 6 patents searched" in found.caption[2]
    found = look_up(letters, "P0", k=10, with_self=True)
    assert "there are only 4 texts to be near" in found.notes
    found = look_up(letters, "P1", k=10, years=(2001,))
    assert "there is no other text to be near" in found.notes
    found = look_up(letters, "P1", k=10, sections=("A", "B"))
    assert "there is only 1 other text to be near" in found.notes


def test_years_and_sections_choose_who_may_be_a_neighbour(letters: StoreFolder) -> None:
    assert named(look_up(letters, "P0", years=(2001,))) == [(1, "P1"), (1, "P4")]
    assert named(look_up(letters, "P0", sections=("B",))) == [(1, "P1")]  # its copy is in E
    assert named(look_up(letters, "P2", years=(2001,), sections=("E",))) == [(1, "P4")]
    with pytest.raises(NotThere, match="no patent is in this slice"):
        look_up(letters, "P0", years=(1999,))
    with pytest.raises(NotThere, match="of this slice has a vector"):
        look_up(letters, "P0", sections=("F",))  # P5 has no text


def test_several_patents_are_looked_up_at_once(letters: StoreFolder) -> None:
    lists = neighbors(letters, model="letters", patents=["P0", "P2"], asked=Asked(1))
    assert [named(one) for one in lists] == [[(1, "P3")], [(1, "P1"), (1, "P4")]]
    assert [row.query for row in joined(lists)] == ["P0", "P2", "P2"]


def test_unknown_patents_are_refused_with_those_most_like_them(letters: StoreFolder) -> None:
    with pytest.raises(NotThere) as error:
        look_up(letters, "p3-A1")
    assert error.value.why.startswith("the most similar numbers are P3,")


def test_a_patent_without_text_or_direction_is_refused(letters: StoreFolder) -> None:
    with pytest.raises(NotThere, match="P5 has no text"):
        look_up(letters, "P5")
    add_patents(letters, [(None, "123")], first_id=6)  # no letter: a vector of zeros
    embedded(letters, LetterEmbedder())
    with pytest.raises(ModelRefused, match="no similarity to P6"):
        look_up(letters, "P6")
    assert "P6" not in {row.publication_number for row in look_up(letters, "P0")}


def test_queries_and_documents_keep_their_prompts(store: StoreFolder) -> None:
    add_patents(store, [(None, text) for text in ("aa", "ab", "bb", "cc")])
    embedder = LetterEmbedder(prompts=("ccc", "b"))
    from tests.steps.study_by_hand import add_tuples

    add_tuples(store, "main", [(0, 1, 2)], levels=(1, 2))
    embed(store, ModelRequest("letters"), embedder=embedder, all_texts=True)
    # As a query P0 is cccaa: cosine with b + text: of bcc 6 / sqrt(13 * 5) = 0.744, of bab 0.248,
    # of bbb 0. Its own document is left out, and queries are never hits.
    found = look_up(store, "P0")
    assert named(found) == [(1, "P3"), (2, "P1"), (3, "P2")]
    assert found[0].similarity == pytest.approx(6 / 65**0.5, abs=1e-6)
    assert "the query was read after 'ccc', the patents after 'b'" in found.notes[-1]
    with pytest.raises(ModelRefused, match="cannot encode a text from here"):
        look_up(store, "P1")  # it has no vector as a query, and Python's object is gone


@pytest.mark.parametrize("storage", ["float32", "float16"])
@pytest.mark.parametrize("index", ["exact", "fp16", "hnsw", "ivf"])
def test_every_index_gives_what_numpy_does(store: StoreFolder, index: Any, storage: str) -> None:
    add_patents(store, random_texts(300, seed=1))
    embedder = LetterEmbedder(storage=storage)
    embedded(store, embedder)
    rows: Any = spec_rows(store, embedder.spec)
    known = patent_rows(store, rows)
    vectors = rows.gather(known.rows).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similarities = vectors @ vectors[7]
    similarities[7] = -1
    found = look_up(store, "P7", k=5, index=index)
    expected = np.sort(similarities)[::-1][:5]
    assert [row.similarity for row in found] == pytest.approx(expected.tolist(), abs=1e-6)


def test_sparse_vectors_are_looked_up_the_same_way(store: StoreFolder) -> None:
    add_patents(store, random_texts(100, seed=1))
    embedded(store, LetterEmbedder())
    embedded(store, LetterEmbedder("sparse", sparse=True, of="sparse"))
    for options in ({}, {"years": (2001,)}, {"sections": ("A", "B")}):
        one = look_up(store, "P7", **options)
        other = look_up(store, "P7", model="sparse", **options)
        assert named(one) == named(other)
    with pytest.raises(ModelRefused, match="sparse"):
        look_up(store, "P7", model="sparse", index="hnsw")


def test_fewer_dimensions_of_stored_vectors_are_looked_up(store: StoreFolder) -> None:
    add_patents(store, [(None, text) for text in ("az", "azz", "bz", "aab")])
    whole = LetterEmbedder(truncate_dim=None)
    embedded(store, whole)
    identity = {**whole.spec.identity, "truncate_dim": 2}
    with store.write() as cursor:
        add_spec(cursor, Spec("letters@2d", identity, 2))
    found = look_up(store, "P0", model="letters@2d")  # z is cut off: az and azz are both a
    assert named(found) == [(1, "P1"), (2, "P3"), (3, "P2")]
    expected = [1, 2 / 5**0.5, 0]
    assert [row.similarity for row in found] == pytest.approx(expected, abs=1e-7)


def test_scorers_of_pairs_have_no_neighbours(letters: StoreFolder) -> None:
    identity = {**LetterEmbedder().spec.identity, "embedder": "pairs", "pairs": True}
    with letters.write() as cursor:
        add_spec(cursor, Spec("pairs", identity, 1))
    with pytest.raises(ModelRefused, match="scores pairs of texts"):
        look_up(letters, "P0", model="pairs")


def test_where_patents_are_is_kept_and_follows_corpus_and_vectors(
    letters: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    text_keys_of = patent_rows_module.text_keys_of

    def counted(cursor: Any, view: Any, prompt: str, patents: Any) -> Any:
        asked.append(len(patents))
        return text_keys_of(cursor, view, prompt, patents)

    monkeypatch.setattr(patent_rows_module, "text_keys_of", counted)
    spec = LetterEmbedder().spec
    assert patent_rows(letters, spec_rows(letters, spec)).rows.tolist() == [0, 1, 2, 3, 1, -1]
    patent_rows(letters, spec_rows(letters, spec))
    assert asked == [6]
    add_patents(letters, [(None, "dd"), (None, "aa")], first_id=6)
    assert patent_rows(letters, spec_rows(letters, spec)).rows.tolist()[6:] == [-1, 0]
    embedded(letters, LetterEmbedder())
    assert patent_rows(letters, spec_rows(letters, spec)).rows.tolist()[6:] == [4, 0]
    assert asked == [6, 2, 2]  # only new patents; then those without a vector, P5 and P6
    with letters.write() as cursor:
        cursor.execute("UPDATE data.patents SET same_text_key = 'x', abstract = 'bb'")
    assert set(patent_rows(letters, spec_rows(letters, spec)).rows.tolist()) == {2}
    assert asked[3:] == [8]


def test_where_patents_are_is_found_anew_for_other_vectors(letters: StoreFolder) -> None:
    spec = LetterEmbedder().spec
    patent_rows(letters, spec_rows(letters, spec))
    shutil.rmtree(letters.vectors_path / spec.spec_id)
    add_patents(letters, [(None, "bb")], first_id=6)
    embedded(letters, LetterEmbedder())
    with letters.write() as cursor:
        cursor.execute("DELETE FROM data.patents WHERE patent_id = 0")
    shutil.rmtree(letters.vectors_path / spec.spec_id)
    embedded(letters, LetterEmbedder())
    assert patent_rows(letters, spec_rows(letters, spec)).rows.tolist() == [0, 1, 2, 0, -1, 1]


def test_a_label_with_a_space_is_quoted_in_what_to_run_next(store: StoreFolder) -> None:
    add_patents(store, [(None, "aa"), (None, "ab")])
    embed(store, ModelRequest("my letters"), embedder=LetterEmbedder("my letters"), all_texts=True)
    add_patents(store, [(None, "bb")], first_id=2)
    found = look_up(store, "P0", model="my letters")
    assert found.notes[-1] == "1 patent has no vector: `patcache embed 'my letters' --all`"


def test_indexes_are_listed_with_what_they_are_worth(store: StoreFolder) -> None:
    add_patents(store, random_texts(200, seed=1))
    embedded(store, LetterEmbedder())
    assert list(indexes(store)) == []
    row = build_index(store, "letters", "hnsw")
    assert (row.n_rows, row.n_queries, row.state) == (200, 200, "current")
    assert row.recall >= 0.98
    assert row.size_bytes > 200 * 26 * 4
    add_patents(store, random_texts(10, seed=2), first_id=200)
    embedded(store, LetterEmbedder())
    assert [each.state for each in indexes(store)] == ["10 rows to add"]
    assert build_index(store, "letters", "hnsw").state == "current"
    spec = LetterEmbedder().spec
    shutil.rmtree(store.vectors_path / spec.spec_id)
    embedded(store, LetterEmbedder(label="letters"))
    assert [each.state for each in indexes(store, ["letters"])] == ["of other vectors"]
    (store.vectors_path / spec.spec_id / "spec.json").write_text("{}")
    assert [each.state for each in indexes(store)] == ["vectors cannot be read"]


LOOK_UP = """
import json, sys
from patcache import Store
store = Store(sys.argv[1])
found = store.neighbors("encode", texts="one aab", k=2)
print(json.dumps({
    "found": [(row.publication_number, row.similarity) for row in found],
    "modules": sorted({name.split(".")[0] for name in sys.modules}),
}))
"""


def test_free_text_is_encoded_in_a_process_of_its_own(store: StoreFolder, tmp_path: Path) -> None:
    path = tmp_path / "counting.py"
    path.write_text(ENCODER)
    add_patents(store, [(None, text) for text in ("aaaab", "bbbb", "aabaab")])
    request = ModelRequest(f"python:{path}:encode", "encode")
    embed(store, request, all_texts=True, samples=())
    done = subprocess.run(
        [sys.executable, "-c", LOOK_UP, str(store.path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    # "one aab" is (2, 1) in a and b, and 1 in e: sqrt(6) long.
    expected = [5 / (5 * 6) ** 0.5, 9 / (17 * 6) ** 0.5]
    assert [name for name, _ in said["found"]] == ["P2", "P0"]
    assert [similarity for _, similarity in said["found"]] == pytest.approx(expected, abs=1e-6)
    assert "faiss" in said["modules"]
    assert not {"torch", "counting", "transformers", "onnxruntime"} & set(said["modules"])


def test_a_model_that_has_changed_since_encodes_no_text(store: StoreFolder, tmp_path: Path) -> None:
    path = tmp_path / "counting.py"
    path.write_text(ENCODER)
    add_patents(store, [(None, "ab"), (None, "ba")])
    embed(store, ModelRequest(f"python:{path}:encode", "encode"), all_texts=True, samples=())
    path.write_text(ENCODER + "# another version\n")
    with pytest.raises(ModelRefused, match="another model by now"):
        look_up(store, texts=["aab"], model="encode")


def test_a_fitted_model_reads_a_text_by_its_stored_fit(store: StoreFolder) -> None:
    words = ("wheel rim", "wheel spoke", "battery cell", "battery anode cell")
    add_patents(store, [(None, text) for text in words])
    request = ModelRequest("tfidf", None, {"segmenter": "regex"})
    embed(store, request, all_texts=True, samples=())
    add_patents(store, [(None, f"cell {i}") for i in range(20)], first_id=4)  # after the fit
    found = look_up(store, texts=["an anode of a battery"], model="tfidf", k=2)
    assert named(found) == [(1, "P3"), (2, "P2")]
    with pytest.raises(ModelRefused, match="no similarity to “umbrella”"):
        look_up(store, texts=["umbrella"], model="tfidf")
    with pytest.raises(NotThere, match="no text"):
        look_up(store, texts=["  "], model="tfidf")


def test_a_store_is_asked_from_python(letters: StoreFolder) -> None:
    store = Store(letters.path)
    assert named(store.neighbors("letters", "P0", k=1)) == [(1, "P3")]
    found = store.neighbors("letters", ["P0", "P2"], years=2001, sections="B", index="ivf")
    assert [row.publication_number for row in found] == ["P1", "P1"]
    assert found.to_arrow().column_names == list(NeighborRow.__dataclass_fields__)
