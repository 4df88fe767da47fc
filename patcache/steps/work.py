"""What a spec has to encode, and the work of encoding it: texts, or pairs of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from patcache.embedders.base import AnyModel, Embedder, PairScorer
from patcache.records import Spec
from patcache.steps.encoding import TextWork, Work
from patcache.steps.needed import Needed, Scope, needed_texts
from patcache.steps.pairs import NeededPairs, PairWork, needed_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patcache.store import StoreFolder

AnyNeeded: TypeAlias = Needed | NeededPairs


@dataclass(frozen=True, slots=True)
class Counted:
    """What was needed of several parts. Shapes: without_text (n,), different patents."""

    n_texts: int = 0
    without_text: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    def plus(self, needed: AnyNeeded) -> Counted:
        """With one more part; a text of two parts counts twice."""
        without_text = np.union1d(self.without_text, needed.without_text)
        return Counted(self.n_texts + len(needed.keys), without_text)


def find_needed(store: StoreFolder, spec: Spec, scopes: Sequence[Scope]) -> AnyNeeded:
    """The texts of the scopes under a spec, or the pairs of them, each once."""
    return needed_pairs(store, spec, scopes) if spec.is_pairs else needed_texts(store, spec, scopes)


def work_of(
    store: StoreFolder, model: AnyModel, needed: AnyNeeded, siblings: Sequence[AnyModel] = ()
) -> Work[Any]:
    """Encoding what is needed by the model, and in the same passes by its siblings."""
    if isinstance(needed, NeededPairs):
        return PairWork(store, cast("PairScorer", model), needed)
    return TextWork(store, cast("Embedder", model), needed, cast("Sequence[Embedder]", siblings))
