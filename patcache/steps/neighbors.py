"""The patents whose texts a model finds most like a patent's, or like any text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from patcache.listing import Listing, column
from patcache.records import Progress, Runtime, Spec
from patcache.steps.lookup_queries import Query, encode_queries, find_queries
from patcache.steps.nearest import (
    Asked,
    Found,
    Scope,
    find_scope,
    nearest,
    searchable_rows,
    slice_of,
    use_threads,
)
from patcache.store.lookups import PatentFacts, patent_facts
from patcache.store.specs import labelled_spec

if TYPE_CHECKING:
    from patcache.store import StoreFolder


@dataclass(frozen=True, slots=True)
class NeighborRow:
    """One patent near a query. Patents that share a text share its rank and similarity."""

    model: str = column(hidden=True)
    query: str = column(hidden=True)
    rank: int = column("rank")
    publication_number: str = column("patent")
    similarity: float = column("similarity", fmt=".4f")
    year: int = column("year", fmt="d")
    code: str = column("code")
    title: str | None = column("title")


def neighbors(
    store: StoreFolder,
    *,
    model: str,
    patents: Sequence[str] = (),
    texts: Sequence[str] = (),
    asked: Asked | None = None,
    runtime: Runtime | None = None,
    progress: Progress | None = None,
) -> list[Listing[NeighborRow]]:
    """For each patent, then each text, the k texts of the slice nearest to it, nearest first.

    runtime: of the model, where something must be encoded; its threads are those of the search
    too. progress: of building an index. Errors: NotThere for a model, a patent, a slice without
    vectors; ModelRefused for a scorer of pairs or what cannot be encoded; VectorsBusy while
    another process builds the index.
    """
    asked, runtime = asked or Asked(), runtime or Runtime()
    if asked.k < 1 or not (patents or texts):
        raise ValueError("k is at least 1, and there is a patent or a text to look up")
    queries = find_queries(store, patents, texts)
    with store.read() as cursor:
        spec = labelled_spec(cursor, model)
    rows = searchable_rows(store, spec)
    scope = find_scope(store, rows, queries, asked)
    encoded = encode_queries(store, rows, queries, scope.own, runtime)
    use_threads(runtime)
    found = nearest(store, rows, scope, encoded.vectors, asked, progress)
    return list(_listings(store, rows.spec, scope, encoded.queries, found, asked))


def joined(listings: Sequence[Listing[NeighborRow]]) -> Listing[NeighborRow]:
    """Several lists as one: `query` and `model` tell their rows apart."""
    return Listing(
        NeighborRow,
        tuple(chain.from_iterable(listing.rows for listing in listings)),
        tuple(chain.from_iterable(listing.caption for listing in listings)),
        tuple(dict.fromkeys(chain.from_iterable(listing.notes for listing in listings))),
    )


def _listings(
    store: StoreFolder,
    spec: Spec,
    scope: Scope,
    queries: Sequence[Query],
    found: Found,
    asked: Asked,
) -> Iterator[Listing[NeighborRow]]:
    at = scope.patents_at(np.append(found.hits.rows.ravel(), scope.own))
    with store.read() as cursor:
        facts = patent_facts(cursor, list(chain.from_iterable(at.values())))
    for i, query in enumerate(queries):
        is_hit = found.hits.rows[i] >= 0
        hits = found.hits.rows[i][is_hit].tolist()
        similarities = found.hits.similarities[i][is_hit].tolist()
        rows = tuple(
            _row(spec, query, rank, similarity, facts[patent])
            for rank, (hit, similarity) in enumerate(zip(hits, similarities, strict=True), start=1)
            for patent in at[hit]
        )
        copies = [] if asked.with_self else at.get(int(scope.own[i]), [])
        notes = (
            *_copy_notes(query, copies, len(rows), len(hits)),
            *_scope_notes(spec, scope, found, asked, len(hits)),
            *_query_notes(spec, query),
        )
        caption = (_query_words(query), _search_words(spec, found), _scope_words(scope, asked))
        yield Listing(NeighborRow, rows, caption, notes)


def _row(spec: Spec, query: Query, rank: int, similarity: float, facts: PatentFacts) -> NeighborRow:
    return NeighborRow(
        spec.label,
        query.name,
        rank,
        facts.publication_number,
        similarity,
        facts.year,
        facts.code,
        facts.title,
    )


def _query_words(query: Query) -> str:
    if query.facts is None:
        return f"nearest to {query.name}"
    return f"nearest to {query.name} · {_facts_words(query.facts)}"


def _facts_words(facts: PatentFacts) -> str:
    title = f" · {facts.title}" if facts.title else ""
    return f"{facts.year} · {facts.code}{title}"


def _search_words(spec: Spec, found: Found) -> str:
    info = found.info
    if info is None:
        return f"{spec.label} · exact cosine"
    return (
        f"{spec.label} · {info.kind} index, recall {info.recall:.3f} of {info.n_queries} "
        "stored texts"
    )


def _scope_words(scope: Scope, asked: Asked) -> str:
    n, n_patents = scope.n_with_vector, len(scope.patents)
    searched = f"all {n:,}" if n == n_patents else f"{n:,} of {n_patents:,}"
    return f"{searched} patents searched · {slice_of(asked)}"


def _copy_notes(query: Query, copies: Sequence[int], n_rows: int, n_hits: int) -> Iterator[str]:
    """What patents that share a text do to the list; copies: those with the query's own."""
    others = len(copies) - (query.patent_id in copies)
    if others:
        yield f"left out: {others:,} other patents with the text of {query.name} (--with-self)"
    if n_rows > n_hits:
        yield f"{n_rows:,} patents share {n_hits:,} texts: those with one text have one rank"


def _scope_notes(
    spec: Spec, scope: Scope, found: Found, asked: Asked, n_hits: int
) -> Iterator[str]:
    """What was not searched, or not found."""
    if n_hits < asked.k:
        is_missed = found.info is not None and scope.n_texts > asked.k
        yield (
            f"the index came upon {n_hits:,} of {asked.k:,}: --index exact finds the others"
            if is_missed
            else _few_words(n_hits, asked)
        )
    if found.note:
        yield found.note
    if missing := len(scope.patents) - scope.n_with_vector:
        lack = "1 patent has" if missing == 1 else f"{missing:,} patents have"
        yield f"{lack} no vector: `patcache embed {quote(spec.label)} --all`"


def _few_words(n_hits: int, asked: Asked) -> str:
    other = "" if asked.with_self else " other"
    if n_hits < 2:
        return f"there is {'only 1' if n_hits else 'no'}{other} text to be near"
    return f"there are only {n_hits:,}{other} texts to be near"


def _query_notes(spec: Spec, query: Query) -> Iterator[str]:
    query_prompt, prompt = spec.prompt("query"), spec.prompt("document")
    if query_prompt != prompt:
        yield f"the query was read after {query_prompt!r}, the patents after {prompt!r}"
    if query.is_encoded and query.patent_id is not None:
        yield f"{query.name} had no vector as a query: it was encoded now, and is not kept"
    if query.is_cut:
        yield f"the text is longer than {spec.label} reads: its end did not count"
