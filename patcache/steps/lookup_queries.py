"""What is looked up: patents by their stored vectors, texts and the rest by encoding them now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import ModelRefused, NotThere
from patcache.records import Runtime
from patcache.steps.encoding import stack
from patcache.steps.free_text import encode_texts
from patcache.store.lookups import PatentFacts, find_patents, patent_facts
from patcache.store.texts import text_keys_of, texts_of
from patcache.vectors.rows import AnyRows
from patcache.vectors.search import unit_rows

if TYPE_CHECKING:
    from patcache.records import FloatArray, IntArray
    from patcache.store import StoreFolder

SHOWN_LETTERS = 60


@dataclass(frozen=True, slots=True)
class Query:
    """One text to find neighbours of.

    patent_id, facts: None for a free text. text: None while it is not needed. is_encoded: now,
    because the store has no vector of it. is_cut: to the model's maximum.
    """

    name: str
    patent_id: int | None = None
    facts: PatentFacts | None = None
    text: str | None = None
    is_encoded: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Encodings:
    """Queries with their vectors, row i for queries[i]: (q, dim) float32, or CSR."""

    queries: tuple[Query, ...]
    vectors: Any


def find_queries(store: StoreFolder, patents: Sequence[str], texts: Sequence[str]) -> list[Query]:
    """The patents, then the texts. Errors: NotThere for an unknown patent or an empty text."""
    if any(not text.strip() for text in texts):
        raise NotThere("there is no text", "it is empty", "give some words: --text '...'")
    with store.read() as cursor:
        ids = find_patents(cursor, patents)
        facts = patent_facts(cursor, ids)
    asked = [Query(number, i, facts[i]) for number, i in zip(patents, ids, strict=True)]
    return asked + [Query(_beginning(text), text=text) for text in texts]


def encode_queries(
    store: StoreFolder, rows: AnyRows, queries: Sequence[Query], own: IntArray, runtime: Runtime
) -> Encodings:
    """The vectors of queries, stored ones where there are.

    own (q,): the row of each query's text as a document, -1 for none.

    Errors: NotThere for a patent without text; ModelRefused where the model cannot be loaded, or
    gives a vector without a direction.
    """
    places = _stored_rows(store, rows, queries, own)
    stored, missing = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
    texts = _texts(store, rows, [queries[i] for i in missing.tolist()])
    encoded = encode_texts(store, rows.spec, texts, "query", runtime) if texts else []
    parts = [rows.gather(places[stored]), *(one.vectors for one in encoded)]
    vectors = stack(parts)[np.argsort(np.concatenate([stored, missing]))]
    _refuse_without_direction(rows, queries, vectors)
    found = list(queries)
    for i, one in zip(missing.tolist(), encoded, strict=True):
        found[i] = replace(found[i], is_encoded=True, is_cut=one.n_truncated > 0)
    return Encodings(tuple(found), vectors)


def _stored_rows(
    store: StoreFolder, rows: AnyRows, queries: Sequence[Query], own: IntArray
) -> IntArray:
    """The row of each query's own vector (q,); -1 for what has none. Errors: NotThere."""
    places = np.full(len(queries), -1, dtype=np.int64)
    of_patents = [i for i, query in enumerate(queries) if query.patent_id is not None]
    patents = np.array([queries[i].patent_id for i in of_patents], dtype=np.int32)
    view = rows.spec.text_view
    with store.read() as cursor:
        keys, has_text = text_keys_of(cursor, view, rows.spec.prompt("query"), patents)
    for i, is_there in zip(of_patents, has_text, strict=True):
        if not is_there:
            raise NotThere(
                f"{queries[i].name} has no text to compare",
                f"{rows.spec.label} reads its {view.name}, which is empty",
            )
    if rows.spec.prompt("query") == rows.spec.prompt("document"):
        return own
    places[of_patents] = rows.rows_of(keys)
    return places


def _texts(store: StoreFolder, rows: AnyRows, queries: Sequence[Query]) -> list[str]:
    patents = np.array([q.patent_id for q in queries if q.patent_id is not None], dtype=np.int32)
    with store.read() as cursor:
        of_patents = iter(texts_of(cursor, rows.spec.text_view, patents))
    return [next(of_patents) if query.text is None else query.text for query in queries]


def _refuse_without_direction(rows: AnyRows, queries: Sequence[Query], vectors: Any) -> None:
    """Errors: ModelRefused for a vector that nothing can be near to."""
    dense: FloatArray = vectors.toarray() if rows.spec.sparse else vectors
    _, is_defined = unit_rows(dense)
    for query, is_there in zip(queries, is_defined, strict=True):
        if not is_there:
            raise ModelRefused(
                f"{rows.spec.label} has no similarity to {query.name}",
                "its vector is zero, infinite or not a number: the model knows none of its words, "
                "or failed on it",
                "ask another model",
            )


def _beginning(text: str) -> str:
    """The first words of a text, in quotation marks."""
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= SHOWN_LETTERS else f"“{line[: SHOWN_LETTERS - 1].rstrip()}…”"
