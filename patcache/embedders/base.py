"""What an embedder is, and which kinds there are.

An embedder turns texts into vectors; its spec says everything that changes them. Kinds are
imported when asked for, so that a machine without torch lists and runs all the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from patcache.embedders.plugins import find_plugin, is_plugin, plugin_kinds
from patcache.errors import ModelRefused
from patcache.records import Role, Runtime, Spec

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from patcache.records import FloatArray


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors of some texts, row i for text i, and how many of the texts were cut to fit.

    Shapes: vectors (n, dim) float32, or CSR float32 of that shape where the spec is sparse.
    """

    vectors: FloatArray | csr_array
    n_truncated: int = 0


class Embedder(Protocol):
    """Turns texts into vectors: the same spec and text, the same vector to float32 rounding."""

    spec: Spec  # weights, engine, prompts, pooling, max_tokens, dim: all that changes it
    device: str  # the one really in use, read back from the library
    provenance: Mapping[str, Any]  # library versions, threads: JSON-able, never identity

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Vectors of texts, prompt included already; role only for models that take it apart."""


class Staged(Embedder, Protocol):
    """An embedder whose work on the CPU can run ahead of its device, in another thread.

    encode(texts, role) is encode_prepared(prepare(texts, role)).
    """

    def prepare(self, texts: Sequence[str], role: Role) -> Any:
        """What the device needs of the texts: their token ids."""

    def encode_prepared(self, prepared: Any) -> Encoded:
        """Vectors of the texts that were prepared."""


class Shared(Staged, Protocol):
    """A network from whose vectors of tokens one pass makes the vectors of several specs.

    encode_prepared(prepared) is encode_each([self], prepared)[0].
    """

    def sibling(self, resolved: Resolved) -> Shared:
        """What load() gives for settings that differ in AFTER_TOKENS alone, without loading.

        Errors: ModelRefused where load() would.
        """

    def encode_each(self, siblings: Sequence[Any], prepared: Any) -> list[Encoded]:
        """Vectors of the texts by each of the siblings, from one pass."""


class Checking(Embedder, Protocol):
    """An embedder that looks at a run before it begins: what it costs, what it lacks."""

    def check_run(self, texts: Iterable[str]) -> None:
        """Called once with every text of a run, prompt included. Errors: ModelRefused."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Similarities of some pairs of texts, and how many of the pairs were cut to fit.

    Shapes: values (n,) float32, value i for pair i; NaN where a pair has no similarity.
    """

    values: FloatArray
    n_truncated: int = 0


class PairScorer(Protocol):
    """Gives the similarity of pairs of texts without vectors: BM25, cross-encoders.

    Its spec has "pairs" in its identity and dimension 1.
    """

    spec: Spec
    device: str
    provenance: Mapping[str, Any]

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> Scores:
        """Similarities of queries[i] and documents[i]; larger is more alike."""


class StagedScorer(PairScorer, Protocol):
    """A scorer whose work on the CPU can run ahead of its device, as of a Staged embedder.

    score(queries, documents) is score_prepared(prepare(queries, documents)).
    """

    def prepare(self, queries: Sequence[str], documents: Sequence[str]) -> Any:
        """What the device needs of the pairs: their token ids."""

    def score_prepared(self, prepared: Any) -> Scores:
        """Similarities of the pairs that were prepared."""


PAIR_KINDS = ("bm25", "cross-encoder")  # scorers of pairs, known before one is loaded
# Kinds that are Shared, and the settings of what they do with the vectors of tokens.
SHARED_KINDS = ("transformer", "onnx")
AFTER_TOKENS = ("pooling", "normalize", "truncate_dim", "storage")

AnyModel: TypeAlias = Embedder | PairScorer


class FitTexts(Protocol):
    """The texts a fitted model (tfidf, word2vec) is made from.

    They come in the order of their keys, so that the order of import changes nothing.
    """

    digest: str  # sha256 over the sorted keys: what was fitted on

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[str]: ...


@dataclass(frozen=True, slots=True)
class Resolved:
    """A request with every default filled in: what to load, without having loaded it.

    kind: a name of EMBEDDERS. settings: complete and JSON-able. is_fitted: made from a corpus.
    """

    kind: str
    label: str
    settings: Mapping[str, Any]
    is_fitted: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What an embedder may use while it is loaded.

    fit: the texts to fit on, for a new fitted spec. fit_path: the folder of a stored fit to load
    instead. cache_path: a folder for rebuildable things (token ids).
    """

    runtime: Runtime = field(default_factory=Runtime)
    fit: FitTexts | None = None
    fit_path: Path | None = None
    fit_digest: str | None = None
    cache_path: Path | None = None


class Fitted(Protocol):
    """An embedder that was made from a corpus and keeps what it learnt, without pickle."""

    def save_fit(self, folder: Path) -> None:
        """Writes the fit beside the vectors; Context.fit_path reads it back."""


class Load(Protocol):
    def __call__(self, resolved: Resolved, context: Context) -> Embedder: ...


EMBEDDERS = {
    "random": "patcache.embedders.random:load",
    "tfidf": "patcache.embedders.tfidf:load",
    "bm25": "patcache.embedders.bm25:load",
    "lsa": "patcache.embedders.lsa:load",
    "word2vec": "patcache.embedders.word2vec:load",
    "static": "patcache.embedders.static:load",
    "model2vec": "patcache.embedders.model2vec:load",
    "transformer": "patcache.embedders.transformer:load",
    "onnx": "patcache.embedders.onnx:load",
    "cross-encoder": "patcache.embedders.cross_encoder:load",
    "use": "patcache.embedders.use:load",
    "vectors": "patcache.embedders.array_file:load",
    "api": "patcache.embedders.api:load",
    "python": "patcache.embedders.python:load",
}


def load(resolved: Resolved, context: Context) -> Embedder:
    """The embedder ready to encode. Errors: ModelRefused, naming the extra to install if any."""
    if resolved.kind in EMBEDDERS:
        module, function = EMBEDDERS[resolved.kind].split(":")
        loader: Load = getattr(import_module(module), function)
        return loader(resolved, context)
    if is_plugin(resolved.kind):
        return cast(Embedder, find_plugin(resolved.kind).load(resolved, context))
    known = ", ".join((*EMBEDDERS, *plugin_kinds()))
    raise ModelRefused(f"unknown kind of model {resolved.kind!r}", f"the kinds are {known}")
