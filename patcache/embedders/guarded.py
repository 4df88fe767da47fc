"""Models of other packages, held to what patcache.embedders.base asks of them.

Whatever their code raises or gives becomes a ModelRefused that names the package, so that nobody
is shown the inside of patcache for a fault of somebody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from patcache.embedders.base import Encoded, Scores
from patcache.errors import ModelRefused, PatcacheError, in_one_line
from patcache.hashing import canonical_json
from patcache.records import Role, Spec

IN_EVERY_IDENTITY = ("embedder", "text", "prompts", "storage", "normalize")
STORAGES = ("float32", "float16")
ENCODING, SCORING = "encode texts", "score pairs"
Given = TypeVar("Given")


class Guarded:
    """A model of another package. What else it has (n_parallel, check_run ...) stays its own."""

    def __init__(self, model: Any, kind: str, origin: str) -> None:
        self._model = model
        self._named = f"the plug-in {kind} of {origin}"
        self.spec: Spec = model.spec
        self._refuse_spec(kind)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        if name == "encode_prepared":
            return lambda prepared: self._checked(self._try(lambda: found(prepared), ENCODING))
        if name == "score_prepared":
            return lambda prepared: self._scores(self._try(lambda: found(prepared), SCORING))
        return found

    @property
    def device(self) -> str:
        return str(self._model.device)

    @property
    def provenance(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._model.provenance
        return found

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]. Errors: ModelRefused where the plug-in fails or gives no such."""
        given = self._try(lambda: self._model.encode(texts, role), ENCODING)
        return self._checked(given, len(texts))

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> Scores:
        """Score i for pair i. Errors: ModelRefused where the plug-in fails or gives no such."""
        given = self._try(lambda: self._model.score(queries, documents), SCORING)
        return self._scores(given, len(queries))

    def save_fit(self, folder: Path) -> None:
        """Writes what it learnt. Errors: ModelRefused where the plug-in fails."""
        self._try(lambda: self._model.save_fit(folder), "keep what it was fitted to")

    def _checked(self, given: Any, n_texts: int | None = None) -> Encoded:
        vectors: Any = getattr(given, "vectors", None)
        shape = getattr(vectors, "shape", ())
        is_kind = isinstance(vectors, np.ndarray) and vectors.dtype.kind in "fiu"
        if self.spec.sparse:
            is_kind = getattr(vectors, "format", "") == "csr"
        n_rows = n_texts if n_texts is not None else (*shape, 0)[0]
        is_kind &= isinstance(getattr(given, "n_truncated", None), (int, np.integer))
        if not isinstance(given, Encoded) or not is_kind or shape != (n_rows, self.spec.dim):
            wanted = f"{'CSR' if self.spec.sparse else 'an array'} {(n_rows, self.spec.dim)}"
            raise self._wrong(f"Encoded({wanted})", given, shape)
        return Encoded(vectors.astype(np.float32, copy=False), int(given.n_truncated))

    def _scores(self, given: Any, n_pairs: int | None = None) -> Scores:
        values: Any = np.asarray(getattr(given, "values", ()))
        n_rows = n_pairs if n_pairs is not None else (*values.shape, 0)[0]
        is_kind = isinstance(given, Scores) and values.dtype.kind in "fiu"
        if not is_kind or values.shape != (n_rows,):
            raise self._wrong(f"Scores(an array {(n_rows,)})", given, values.shape)
        return Scores(values.astype(np.float32, copy=False), int(given.n_truncated))

    def _try(self, work: Callable[[], Given], what: str) -> Given:
        try:
            return work()
        except PatcacheError:
            raise
        except Exception as error:  # whatever the code of others raises
            raise ModelRefused(
                f"{self._named} cannot {what}", in_one_line(error), "ask its makers"
            ) from error

    def _wrong(self, wanted: str, given: Any, shape: tuple[int, ...]) -> ModelRefused:
        came = f"{type(given).__name__}{f' of shape {shape}' if shape else ''}"
        return ModelRefused(f"{self._named} gives what cannot be used", f"{came}, not {wanted}")

    def _refuse_spec(self, kind: str) -> None:
        """Errors: ModelRefused for a spec that says too little, or what cannot be."""
        spec, identity = self.spec, self.spec.identity
        missing = [name for name in IN_EVERY_IDENTITY if name not in identity]
        if missing:
            raise self._refused_spec(f"its identity lacks {', '.join(missing)}")
        if identity["embedder"] != kind or spec.is_cut:
            raise self._refused_spec(
                f"its embedder must be {kind!r}, with every dimension kept",
            )
        if not isinstance(spec.dim, int) or spec.dim < 1 or (spec.is_pairs and spec.dim != 1):
            raise self._refused_spec(f"it has {spec.dim!r} dimensions")
        if identity["storage"] not in STORAGES:
            raise self._refused_spec(f"its storage is {identity['storage']!r}")
        needed = "score" if spec.is_pairs else "encode"
        if not callable(getattr(self._model, needed, None)):
            raise self._refused_spec(f"there is no {needed} to go with it")
        canonical_json(identity)
        canonical_json(self.provenance)
        self._views()

    def _views(self) -> None:
        """Reads what is read of a spec later."""
        try:
            _ = self.spec.text_view, self.spec.prompt("query"), self.spec.prompt("document")
        except (KeyError, TypeError) as error:
            raise self._refused_spec(
                "its text must hold fields and separator, its prompts query and document"
            ) from error

    def _refused_spec(self, why: str) -> ModelRefused:
        return ModelRefused(f"{self._named} gives a spec that cannot be", why)
