"""Pairs of texts for scorers of pairs: which are wanted, block by block to a scorer, found again.

A pair is a target's text and a candidate's, in that order. Its score is a row like a vector, of
dimension 1, under a key made from the keys of both texts.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patcache.embedders.base import PairScorer, Scores
from patcache.errors import ModelRefused
from patcache.hashing import pair_keys
from patcache.records import Spec, TupleSet
from patcache.steps.encoding import Done, block_size
from patcache.steps.needed import Scope, keys_of
from patcache.store.scores import (
    SampleSize,
    Scored,
    n_tuple_ids,
    pending_patents,
    pending_tuples,
    refuse_removed,
)
from patcache.store.texts import sample_patents, texts_of
from patcache.vectors.journal import Run
from patcache.vectors.keys import first_of_each
from patcache.vectors.rows import AnyRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.records import BoolArray, FloatArray, IntArray, KeyArray
    from patcache.store import StoreFolder

WINDOW_PAIRS = 16_384  # whose texts are read from the store at once
WINDOW_TUPLES = 50_000  # whose pairs are looked up at once
CHUNK_TUPLES = 8192


@dataclass(frozen=True, slots=True)
class RoleKeys:
    """Keys of the texts of some patents in one role.

    Shapes: patents (n,) ascending, keys (n, 16), has_text (n,).
    """

    patents: NDArray[np.int32]
    keys: KeyArray
    has_text: BoolArray


@dataclass(frozen=True, slots=True)
class PairKeys:
    """Keys of pairs of patents, made from those of their texts."""

    as_target: RoleKeys
    as_candidate: RoleKeys

    def of(
        self, targets: NDArray[np.int32], candidates: NDArray[np.int32]
    ) -> tuple[KeyArray, BoolArray]:
        """Key of each pair (n, 16), and whether both of its texts are there (n,)."""
        asked = np.searchsorted(self.as_target.patents, targets)
        answering = np.searchsorted(self.as_candidate.patents, candidates)
        has_text = self.as_target.has_text[asked] & self.as_candidate.has_text[answering]
        return pair_keys(self.as_target.keys[asked], self.as_candidate.keys[answering]), has_text

    @property
    def without_text(self) -> NDArray[np.int32]:
        """Patents that have no text."""
        roles = (self.as_target, self.as_candidate)
        return np.unique(np.concatenate([role.patents[~role.has_text] for role in roles]))


@dataclass(frozen=True, slots=True)
class NeededPairs:
    """Distinct pairs of texts in the order they are scored in.

    Shapes: targets and candidates (n,) patents, keys (n, 16). without_text: patents left out.
    """

    targets: NDArray[np.int32]
    candidates: NDArray[np.int32]
    keys: KeyArray
    without_text: NDArray[np.int32]


def needed_pairs(store: StoreFolder, spec: Spec, scopes: Sequence[Scope]) -> NeededPairs:
    """The pairs of the scopes, each once: by sample, tuple and candidate.

    Errors: ModelRefused where every text of the corpus is asked for.
    """
    refuse_corpus(spec, scopes)
    parts = [_pairs_of(store, scope) for scope in scopes]
    targets = np.concatenate([pairs[0] for pairs in parts])
    candidates = np.concatenate([pairs[1] for pairs in parts])
    coded = targets.astype(np.int64) << 32 | candidates
    first = np.sort(np.unique(coded, return_index=True)[1])
    targets, candidates = targets[first], candidates[first]
    found = pair_keys_of(store, spec, targets, candidates)
    keys, has_text = found.of(targets, candidates)
    some = np.flatnonzero(has_text)
    some = some[first_of_each(keys[some])]  # patents may share a text
    return NeededPairs(targets[some], candidates[some], keys[some], found.without_text)


def refuse_corpus(spec: Spec, scopes: Sequence[Scope]) -> None:
    """Errors: ModelRefused where a scorer of pairs is to encode every text of the corpus."""
    if spec.is_pairs and any(scope.sample is None for scope in scopes):
        raise ModelRefused(
            f"{spec.label} cannot encode every text of the corpus",
            "it has no vectors: it scores pairs, a target of a sample and its candidates",
            f"name samples instead of --all: patcache embed {spec.label} --sample NAME",
        )


def pair_keys_of(
    store: StoreFolder, spec: Spec, targets: NDArray[np.int32], candidates: NDArray[np.int32]
) -> PairKeys:
    """Keys of any pairs of these patents."""
    return PairKeys(
        _role_keys(store, spec, targets, is_query=True),
        _role_keys(store, spec, candidates, is_query=False),
    )


@dataclass(frozen=True, slots=True)
class PairBlock:
    """Pairs read and prepared; either their texts, or what the scorer made of them.

    Shapes: positions (n,), among those that are needed.
    """

    positions: IntArray
    prepared: Any
    elapsed_s: float = 0.0


class PairWork:
    """Pairs of texts to be scored."""

    n_parallel = 1

    def __init__(self, store: StoreFolder, scorer: PairScorer, needed: NeededPairs) -> None:
        self._store = store
        self._scorer = scorer
        self._needed = needed
        self._prepare = getattr(scorer, "prepare", None)  # of a StagedScorer
        self._score_prepared = getattr(scorer, "score_prepared", None)

    @property
    def keys(self) -> KeyArray:
        return self._needed.keys

    def blocks(self, missing: IntArray) -> Generator[PairBlock, None, None]:
        """Blocks of texts, prompts put before them; the store is free in between."""
        size = block_size(self._scorer.spec.embedder, self._scorer.device)
        for start in range(0, len(missing), WINDOW_PAIRS):
            window = missing[start : start + WINDOW_PAIRS]
            queries, documents = self._texts(window)
            for first in range(0, len(window), size):
                part = slice(first, first + size)
                yield PairBlock(window[part], (queries[part], documents[part]))

    def prepare(self, block: PairBlock) -> PairBlock:
        """The block with token ids instead of texts, where the scorer can do that apart."""
        if self._prepare is None:
            return block
        start = time.perf_counter()
        prepared = self._prepare(*block.prepared)
        return PairBlock(block.positions, prepared, time.perf_counter() - start)

    def encode(self, block: PairBlock) -> list[Done]:
        """Scores of the block's pairs, as rows of dimension 1."""
        started_at = datetime.now(UTC).isoformat()
        start = time.perf_counter()
        scores = self._score(block)
        run = Run(
            started_at,
            block.elapsed_s + time.perf_counter() - start,
            self._scorer.device,
            scores.n_truncated,
            self._scorer.provenance,
        )
        return [Done(block.positions, scores.values[:, None], run)]

    def _score(self, block: PairBlock) -> Scores:
        if self._score_prepared is None:
            return self._scorer.score(*block.prepared)
        found: Scores = self._score_prepared(block.prepared)
        return found

    def _texts(self, positions: IntArray) -> tuple[list[str], list[str]]:
        """Texts of targets and candidates, each patent's read once."""
        spec = self._scorer.spec
        targets = self._needed.targets[positions]
        candidates = self._needed.candidates[positions]
        patents, at = np.unique(np.concatenate([targets, candidates]), return_inverse=True)
        with self._store.read() as cursor:
            texts = texts_of(cursor, spec.text_view, patents)
        query, document = spec.prompt("query"), spec.prompt("document")
        return (
            [query + texts[i] for i in at[: len(targets)]],
            [document + texts[i] for i in at[len(targets) :]],
        )


@dataclass(frozen=True, slots=True)
class PendingPairs:
    """Where the scores of the pairs of tuples still to score are.

    n_tuple_ids: the tuples have ids below it; a sample may grow meanwhile.
    """

    rows: AnyRows
    keys: PairKeys
    n_missing: int
    n_wanted: int
    n_tuple_ids: int

    def similarities(self, tuples: TupleSet) -> Iterator[FloatArray]:
        """Scores (chunk, m) as they were given; NaN where a text is missing.

        They are not cosines: of any size, though the tie tolerance stays what it is. Candidates
        with the same text share a row, and so tie exactly.
        """
        width = tuples.shape.n_candidates
        for start in range(0, len(tuples.targets), CHUNK_TUPLES):
            part = slice(start, start + CHUNK_TUPLES)
            keys, has_text = _keys_of_tuples(self.keys, tuples, part)
            found = np.full(len(keys), np.nan, dtype=np.float32)
            rows = self.rows.rows_of(keys[has_text])
            found[has_text] = cast("FloatArray", self.rows.gather(rows))[:, 0]
            yield found.reshape(-1, width)


def pending_pairs(
    store: StoreFolder, size: SampleSize, scored: Scored, rows: AnyRows
) -> PendingPairs:
    """The pairs of the tuples still to score, and how many of them have no score yet."""
    with store.read() as cursor:
        refuse_removed(cursor, size)
        n_ids = n_tuple_ids(cursor, scored.sample_id)
        patents, is_target = pending_patents(cursor, scored)
    keys = pair_keys_of(store, rows.spec, patents[is_target], patents[~is_target])
    missing, n_wanted = [np.empty((0, 16), dtype=np.uint8)], 0
    for start in range(0, n_ids, WINDOW_TUPLES):
        with store.read() as cursor:
            refuse_removed(cursor, size)
            pending = pending_tuples(cursor, scored, start, min(start + WINDOW_TUPLES, n_ids))
        for tuples in pending:
            asked, has_text = _keys_of_tuples(keys, tuples, slice(None))
            asked = asked[has_text]
            missing.append(asked[rows.missing(asked)])
            n_wanted += len(asked)
    n_missing = len(first_of_each(np.concatenate(missing)))
    return PendingPairs(rows, keys, n_missing, n_wanted, n_ids)


def _keys_of_tuples(keys: PairKeys, tuples: TupleSet, part: slice) -> tuple[KeyArray, BoolArray]:
    """Keys of the pairs of some tuples, one tuple after another, and which have both texts."""
    targets = np.repeat(tuples.targets[part], tuples.shape.n_candidates)
    return keys.of(targets, tuples.candidates[part].ravel())


def _pairs_of(store: StoreFolder, scope: Scope) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Targets and candidates of a sample's tuples, pair by pair."""
    none = np.empty(0, dtype=np.int32)
    if scope.sample is None:
        return none, none
    with store.read() as cursor:
        refuse_removed(cursor, scope.sample)
        stop = scope.n_tuples if scope.stop is None else scope.stop
        patents, is_target = sample_patents(cursor, scope.sample.sample_id, scope.first, stop)
    target_of = patents[is_target][np.cumsum(is_target) - 1] if len(patents) else none
    return target_of[~is_target], patents[~is_target]


def _role_keys(
    store: StoreFolder, spec: Spec, patents: NDArray[np.int32], *, is_query: bool
) -> RoleKeys:
    ids = np.unique(patents)
    keys, has_text = keys_of(store, spec, ids, np.full(len(ids), is_query))
    return RoleKeys(ids, keys, has_text)
