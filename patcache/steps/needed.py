"""Which texts are wanted, in which order, and which role each has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import NotThere
from patcache.hashing import KEY_BYTES
from patcache.records import Role, Spec
from patcache.store.scores import SampleSize, refuse_removed, sample_sizes
from patcache.store.texts import patent_ids, sample_patents, text_keys_of, texts_of
from patcache.vectors.keys import first_of_each

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from patcache.records import BoolArray, IntArray, KeyArray
    from patcache.store import StoreFolder

WINDOW_TEXTS = 16_384  # texts read from the store at once
WINDOW_KEYS = 262_144  # keys computed by the store at once


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose texts are wanted: a sample's, or (None) the whole corpus'.

    n_tuples: how many there are (patents, for the corpus); first: how many of them have vectors.
    """

    sample: SampleSize | None
    n_tuples: int
    first: int = 0

    @property
    def sample_id(self) -> int | None:
        return None if self.sample is None else self.sample.sample_id


@dataclass(frozen=True, slots=True)
class Needed:
    """Distinct texts by patent and role, in the order they are encoded in.

    Shapes: patents (n,) int32, is_query (n,), keys (n, 16). n_without_text: left out.
    """

    patents: NDArray[np.int32]
    is_query: BoolArray
    keys: KeyArray
    n_without_text: int


def find_scopes(
    store: StoreFolder, samples: Sequence[str] | None, *, all_texts: bool
) -> list[Scope]:
    """The samples asked for (None: all), then the corpus where all texts are.

    Errors: NotThere for an unknown sample, or where there is none at all.
    """
    with store.read() as cursor:
        found = [Scope(size, size.n_tuples) for size in sample_sizes(cursor, samples)]
        if all_texts:
            found.append(Scope(None, len(patent_ids(cursor))))
    if not found:
        raise NotThere(
            "there is no sample whose texts to embed",
            "models are embedded for the tuples of samples",
            "draw one with `patcache sample main`, or embed every text: --all",
        )
    return found


def needed_texts(store: StoreFolder, spec: Spec, scopes: Sequence[Scope]) -> Needed:
    """The texts of the scopes, each once: by sample and tuple, target then candidates."""
    with store.read() as cursor:
        parts = [_patents_of(cursor, scope) for scope in scopes]
    patents = np.concatenate([ids for ids, _ in parts])
    is_query = np.concatenate([is_target for _, is_target in parts])
    if spec.prompt("query") == spec.prompt("document"):
        is_query = np.zeros_like(is_query)  # one text, one vector, whoever asks
    coded = patents.astype(np.int64) * 2 + is_query
    first = np.sort(np.unique(coded, return_index=True)[1])
    patents, is_query = patents[first], is_query[first]
    keys, has_text = keys_of(store, spec, patents, is_query)
    n_without_text = len(np.unique(patents[~has_text]))
    some = np.flatnonzero(has_text)
    some = some[first_of_each(keys[some])]  # patents may share a text
    return Needed(patents[some], is_query[some], keys[some], n_without_text)


def keys_of(
    store: StoreFolder, spec: Spec, patents: NDArray[np.int32], is_query: BoolArray
) -> tuple[KeyArray, BoolArray]:
    """Key of each patent's text in its role (n, 16), and which have a text at all (n,).

    A window at a time; the store is free in between.
    """
    keys = np.empty((len(patents), KEY_BYTES), dtype=np.uint8)
    has_text = np.empty(len(patents), dtype=np.bool_)
    for role, mine in by_role(is_query):
        for start in range(0, len(mine), WINDOW_KEYS):
            window = mine[start : start + WINDOW_KEYS]
            with store.read() as cursor:
                keys[window], has_text[window] = text_keys_of(
                    cursor, spec.text_view, spec.prompt(role), patents[window]
                )
    return keys, has_text


def by_role(is_query: BoolArray) -> list[tuple[Role, IntArray]]:
    """The roles that occur, documents first, each with its positions."""
    roles: tuple[tuple[Role, BoolArray], ...] = (("document", ~is_query), ("query", is_query))
    return [(role, np.flatnonzero(mine)) for role, mine in roles if mine.any()]


def blocks_of(
    store: StoreFolder, spec: Spec, needed: Needed, missing: IntArray, size: int
) -> Iterator[tuple[IntArray, list[str]]]:
    """Missing positions with their texts, a block at a time; the store is free in between."""
    for start in range(0, len(missing), WINDOW_TEXTS):
        window = missing[start : start + WINDOW_TEXTS]
        with store.read() as cursor:
            texts = texts_of(cursor, spec.text_view, needed.patents[window])
        for first in range(0, len(window), size):
            yield window[first : first + size], texts[first : first + size]


def _patents_of(
    cursor: duckdb.DuckDBPyConnection, scope: Scope
) -> tuple[NDArray[np.int32], BoolArray]:
    """Patents of a scope in order, and which of them are targets. Errors: NotThere."""
    if scope.sample is not None:
        refuse_removed(cursor, scope.sample)
        return sample_patents(cursor, scope.sample.sample_id, scope.first)
    ids = patent_ids(cursor, scope.first)
    return ids, np.zeros(len(ids), dtype=np.bool_)
