"""The public view of models says what its counts are of, and whose vectors a cut model has."""

from __future__ import annotations

from patcache.records import ModelRequest
from patcache.steps.embedding import embed
from patcache.store import StoreFolder
from tests.steps.study_by_hand import LetterEmbedder, add_patents, add_tuples


def test_models_that_score_pairs_and_cut_ones_are_told_apart(store: StoreFolder) -> None:
    add_patents(store, [(f"Title {i}", None) for i in range(4)])
    add_tuples(store, "main", [(0, 1, 2), (1, 0, 2)], levels=(1, 2))
    embed(store, ModelRequest("bm25", settings={"segmenter": "regex"}))
    for dims in (None, 4):
        settings = {} if dims is None else {"truncate_dim": dims}
        request = ModelRequest("letters", settings=settings)
        embed(store, request, embedder=LetterEmbedder(truncate_dim=None))
    with store.read() as cursor:
        found = cursor.execute(
            "SELECT model, is_pairs, n_texts, spec_id = vectors_id FROM models ORDER BY model"
        ).fetchall()
    assert found == [
        ("bm25", True, 4, True),
        ("letters", False, 3, True),
        ("letters@4d", False, 3, False),
    ]
