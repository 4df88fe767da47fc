"""Which texts are wanted, in which order, and which role each has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

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
WINDOW_KEYS = 65_536  # keys computed by the store at once
PART_PATENTS = 262_144  # looked at together, so that memory does not grow with the corpus
TUPLE_PATENTS = 8  # of a tuple, in this reckoning


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose texts are wanted: a sample's, or (None) the whole corpus'.

    n_tuples: how many there are (patents, for the corpus). first, stop (None: the end): of which
    of them; those before `first` have vectors. patents: every one of the corpus, in order.
    """

    sample: SampleSize | None
    n_tuples: int
    first: int = 0
    stop: int | None = None
    patents: NDArray[np.int32] | None = field(default=None, compare=False, repr=False)

    @property
    def sample_id(self) -> int | None:
        return None if self.sample is None else self.sample.sample_id

    @property
    def patents_each(self) -> int:
        """About how many patents one of its tuples names."""
        return 1 if self.sample is None else TUPLE_PATENTS

    @property
    def n_patents(self) -> int:
        """About how many patents it names, those of several tuples more than once."""
        stop = self.n_tuples if self.stop is None else self.stop
        return (stop - self.first) * self.patents_each


Scopes: TypeAlias = tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class Needed:
    """Distinct texts by patent and role, in the order they are encoded in.

    Shapes: patents (n,) int32, is_query (n,), keys (n, 16). without_text: patents left out.
    """

    patents: NDArray[np.int32]
    is_query: BoolArray
    keys: KeyArray
    without_text: NDArray[np.int32]


def find_scopes(
    store: StoreFolder, samples: Sequence[str] | None, *, all_texts: bool
) -> list[Scope]:
    """The samples asked for (None: all), then the corpus where all texts are.

    Errors: NotThere for an unknown sample, or where there is none at all.
    """
    with store.read() as cursor:
        found = [Scope(size, size.n_tuples) for size in sample_sizes(cursor, samples)]
        if all_texts:
            patents = patent_ids(cursor)
            found.append(Scope(None, len(patents), patents=patents))
    if not found:
        raise NotThere(
            "there is no sample whose texts to embed",
            "models are embedded for the tuples of samples",
            "draw one with `patcache sample main`, or embed every text: --all",
        )
    return found


def parts_of(scopes: Sequence[Scope]) -> list[Scopes]:
    """The scopes in parts that name PART_PATENTS patents at most; what has vectors is left out."""
    parts: list[Scopes] = []
    part: list[Scope] = []
    room = PART_PATENTS
    for scope in scopes:
        at = scope.first
        while at < scope.n_tuples:
            if room < scope.patents_each:
                parts.append(tuple(part))
                part, room = [], PART_PATENTS
            stop = min(scope.n_tuples, at + room // scope.patents_each)
            part.append(replace(scope, first=at, stop=stop))
            room -= part[-1].n_patents
            at = stop
    return [*parts, tuple(part)] if part else parts


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
    without_text = np.unique(patents[~has_text])
    some = np.flatnonzero(has_text)
    some = some[first_of_each(keys[some])]  # patents may share a text
    return Needed(patents[some], is_query[some], keys[some], without_text)


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
        stop = scope.n_tuples if scope.stop is None else scope.stop
        return sample_patents(cursor, scope.sample.sample_id, scope.first, stop)
    ids = patent_ids(cursor) if scope.patents is None else scope.patents
    ids = ids[scope.first : scope.stop]
    return ids, np.zeros(len(ids), dtype=np.bool_)
