"""One block of texts on its way through a model: read, prepared, encoded."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from patcache.embedders.base import Embedder, Encoded, Shared
from patcache.records import Role
from patcache.steps.needed import Needed, blocks_of, by_role
from patcache.vectors.journal import Run

if TYPE_CHECKING:
    from patcache.records import IntArray, KeyArray
    from patcache.store import StoreFolder

# A block is what a kill loses and what Ctrl-C waits for. Its size hangs on the kind of model and of
# device alone, so that a killed and resumed run makes the blocks of a whole one.
BLOCK_TEXTS = 256
FAST_BLOCK_TEXTS = 1024
GPU_BLOCK_TEXTS = 4096
FAST_KINDS = frozenset({"random", "tfidf", "lsa", "word2vec", "static", "vectors", "bm25"})


Step = TypeVar("Step")  # a block on its way, of texts or of pairs


@dataclass(frozen=True, slots=True)
class Part:
    """Texts of one role of a block. Shapes: members (n,), their positions inside the block."""

    role: Role
    members: IntArray
    prepared: Any


@dataclass(frozen=True, slots=True)
class Block:
    """Texts read and prepared. Shapes: positions (n,), among those that are needed."""

    positions: IntArray
    parts: tuple[Part, ...]
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Done:
    """What is appended to the rows: row i of the vectors for positions[i]."""

    positions: IntArray
    vectors: Any
    run: Run


class Work(Protocol[Step]):
    """What is to be encoded and how, in stages that may run in threads of their own."""

    @property
    def keys(self) -> KeyArray:
        """Of everything needed (n, 16), in the order of encoding."""

    @property
    def n_parallel(self) -> int:
        """How many blocks are encoded at once."""

    def blocks(self, missing: IntArray) -> Generator[Step, None, None]:
        """The missing positions block by block, their texts read."""

    def prepare(self, block: Step) -> Step:
        """The block with whatever can be done before the device is needed."""

    def encode(self, block: Step) -> list[Done]:
        """The block's rows, of each model of the work."""


class TextWork:
    """Texts of patents to be encoded by an embedder, and its siblings if any (Shared)."""

    def __init__(
        self,
        store: StoreFolder,
        embedder: Embedder,
        needed: Needed,
        siblings: Sequence[Embedder] = (),
    ) -> None:
        self.n_parallel: int = getattr(embedder, "n_parallel", 1)
        self._store = store
        self._embedder = embedder
        self._siblings = siblings
        self._needed = needed
        self._prepare = getattr(embedder, "prepare", None)  # of a Staged one
        self._encode_prepared = getattr(embedder, "encode_prepared", None)

    @property
    def keys(self) -> KeyArray:
        return self._needed.keys

    def blocks(self, missing: IntArray) -> Generator[Block, None, None]:
        """Blocks whose parts hold the texts, prompts put before them."""
        spec = self._embedder.spec
        size = block_size(spec.embedder, self._embedder.device)
        for positions, texts in blocks_of(self._store, spec, self._needed, missing, size):
            parts = []
            for role, members in by_role(self._needed.is_query[positions]):
                prompt = spec.prompt(role)
                parts.append(Part(role, members, [prompt + texts[i] for i in members]))
            yield Block(positions, tuple(parts))

    def prepare(self, block: Block) -> Block:
        """The block with token ids instead of texts, where the embedder can do that apart."""
        if self._prepare is None:
            return block
        start = time.perf_counter()
        parts = tuple(
            Part(part.role, part.members, self._prepare(part.prepared, part.role))
            for part in block.parts
        )
        return Block(block.positions, parts, time.perf_counter() - start)

    def encode(self, block: Block) -> list[Done]:
        """Vectors of the block's texts, and how long a device was at it.

        Of siblings each has the whole time: what the block would have cost it alone.
        """
        started_at = datetime.now(UTC).isoformat()
        start = time.perf_counter()
        found = [self._encode_part(part) for part in block.parts]
        order = np.argsort(np.concatenate([part.members for part in block.parts]))
        elapsed_s = block.elapsed_s + (time.perf_counter() - start) / self.n_parallel
        device, provenance = self._embedder.device, self._embedder.provenance
        done = []
        for encoded in zip(*found, strict=True):  # the parts by one embedder
            vectors = [each.vectors for each in encoded]
            n_truncated = sum(each.n_truncated for each in encoded)
            run = Run(started_at, elapsed_s, device, n_truncated, provenance)
            whole = vectors[0] if len(vectors) == 1 else stack(vectors)[order]
            done.append(Done(block.positions, whole, run))
        return done

    def _encode_part(self, part: Part) -> list[Encoded]:
        """The texts by the embedder, then by each sibling."""
        if self._siblings:
            together = [self._embedder, *self._siblings]
            return cast(Shared, self._embedder).encode_each(together, part.prepared)
        if self._encode_prepared is None:
            return [self._embedder.encode(part.prepared, part.role)]
        return [self._encode_prepared(part.prepared)]


def block_size(kind: str, device: str) -> int:
    """How many texts make a block of a kind of model on a device."""
    if kind in FAST_KINDS:
        return FAST_BLOCK_TEXTS
    return GPU_BLOCK_TEXTS if device.startswith("cuda") else BLOCK_TEXTS


def stack(parts: Sequence[Any]) -> Any:
    """Vectors one after another, dense or CSR."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")
