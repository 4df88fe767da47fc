"""What crosses modules: frozen records, array aliases and the small enumerations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from patcache.hashing import settings_digest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float32]
    DoubleArray = NDArray[np.float64]
    BoolArray = NDArray[np.bool_]
    KeyArray = NDArray[np.uint8]  # (n, 16): text keys

SECTIONS = ("A", "B", "C", "D", "E", "F", "G", "H")

Progress = Callable[[int, int], None]  # called with (done, total)
Bar = Callable[[str], AbstractContextManager[Progress]]  # a progress bar of that label
Role = Literal["query", "document"]
Indicator = Literal["footrule", "concordance"]
TestName = Literal["u", "signed-rank", "permutation", "bootstrap"]
Alternative = Literal["greater", "less", "two-sided"]
IndexKind = Literal["exact", "fp16", "hnsw", "ivf"]
Correction = Literal["holm", "bh", "by", "bonferroni", "none"]

INDICATORS: tuple[Indicator, ...] = ("footrule", "concordance")
TESTS: tuple[TestName, ...] = ("u", "signed-rank", "permutation", "bootstrap")
INDEX_KINDS: tuple[IndexKind, ...] = ("exact", "fp16", "hnsw", "ivf")
CORRECTIONS: tuple[Correction, ...] = ("holm", "bh", "by", "bonferroni", "none")


@dataclass(frozen=True, slots=True)
class TextView:
    """Which text of a patent a model reads: fields joined by the separator, empty ones left out."""

    fields: tuple[str, ...] = ("title", "abstract")
    separator: str = ". "

    @property
    def name(self) -> str:
        return "+".join(self.fields)


@dataclass(frozen=True, slots=True)
class Spec:
    """A model and every setting that changes its vectors; equal identities are one spec.

    label:    what people call it ("minilm@cls"); unique in a store, not part of the identity.
    identity: canonical, JSON-able; always holds "embedder", "text" (fields, separator), "prompts"
              (query, document), "storage" ("float32" or "float16") and "normalize". "pairs" is true
              for a scorer of pairs. "truncate_dim", where there is one, keeps the first dimensions.
    dim:      columns of its vectors; 1 for a scorer of pairs: the similarity of a row's two texts.
    sparse:   CSR rows instead of dense ones.
    """

    label: str
    identity: Mapping[str, Any]
    dim: int
    sparse: bool = False

    @property
    def spec_id(self) -> str:
        return settings_digest(self.identity)

    @property
    def whole_identity(self) -> Mapping[str, Any]:
        """The identity with every dimension kept: whose vectors this spec's are cut from."""
        return {**self.identity, "truncate_dim": None} if self.is_cut else self.identity

    @property
    def vectors_id(self) -> str:
        """Name of the folder that holds its vectors: another spec's, where they are cut from it."""
        return settings_digest(self.whole_identity)

    @property
    def is_cut(self) -> bool:
        """Whether its vectors are the first dimensions of another spec's."""
        return self.identity.get("truncate_dim") is not None

    @property
    def is_pairs(self) -> bool:
        """Whether it gives similarities of pairs of texts instead of vectors."""
        return bool(self.identity.get("pairs", False))

    @property
    def embedder(self) -> str:
        return str(self.identity["embedder"])

    @property
    def storage(self) -> str:
        return str(self.identity["storage"])

    @property
    def text_view(self) -> TextView:
        text = self.identity["text"]
        return TextView(tuple(text["fields"]), text["separator"])

    def prompt(self, role: Role) -> str:
        """The text put before a patent's own when it is the target (query) or a candidate."""
        return str(self.identity["prompts"][role])


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A model as asked for: a preset ("tfidf", "minilm@cls"), a folder or a hub name, and settings.

    settings override the preset's: pooling, max_tokens, engine, arithmetic, text, prompts ...
    """

    name: str
    label: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where and how fast a model runs: recorded with each block, never part of a spec."""

    device: str = "auto"  # auto, cpu, cuda, cuda:1, mps; several: "cuda:0,cuda:1", "cuda:all"
    allow_cpu: bool = False  # asked for a GPU and not got it: go on, on the CPU
    threads: int | None = None  # None: as many as there are cores
    batch_tokens: int | None = None  # of a network, in one batch; None: by device


@dataclass(frozen=True, slots=True)
class Shape:
    """The gold levels of a tuple's candidates, ascending: (1, 2, 3, 4, 5, 6) is the study's."""

    levels: tuple[int, ...]

    @property
    def n_candidates(self) -> int:
        return len(self.levels)

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """How many candidates each level has, least similar first."""
        return tuple(self.levels.count(level) for level in sorted(set(self.levels)))


@dataclass(frozen=True, slots=True)
class TupleSet:
    """Tuples of one shape.

    Shapes: ids (n,) int64; targets (n,) int32; candidates (n, m) int32, in gold order, least
    similar first; years (n,) int16; sections (n,) str. Patents are patent_ids of the store.
    """

    shape: Shape
    ids: NDArray[np.int64]
    targets: NDArray[np.int32]
    candidates: NDArray[np.int32]
    years: NDArray[np.int16]
    sections: NDArray[np.str_]
