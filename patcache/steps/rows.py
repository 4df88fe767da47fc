"""The stored vectors of a spec of a store, in its own folder or cut from another spec's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from patcache.embedders.finish import unit_length
from patcache.records import Spec
from patcache.vectors.folder import SPEC_NAME, read_spec
from patcache.vectors.rows import AnyRows, DenseRows, open_rows

if TYPE_CHECKING:
    from patcache.records import FloatArray, IntArray
    from patcache.store import StoreFolder


def spec_rows(store: StoreFolder, spec: Spec) -> AnyRows:
    """The rows of a spec; none where nothing was encoded yet.

    Errors: VectorsDamaged where the folder is of another spec, or not what its journal says.
    """
    folder = store.vectors_path / spec.vectors_id
    return CutRows(folder, spec) if spec.is_cut else open_rows(folder, spec)


def whole_spec(folder: Path, spec: Spec) -> Spec:
    """The spec whose vectors those of a cut one are the beginning of, as its folder says."""
    dim = read_spec(folder).dim if (folder / SPEC_NAME).exists() else spec.dim
    return Spec(spec.label, spec.whole_identity, dim)


class CutRows(DenseRows):
    """The first dimensions of stored vectors, to length 1 again where the spec says so.

    To be read only: rows are appended to the spec they are cut from.
    """

    def __init__(self, folder: Path, spec: Spec) -> None:
        super().__init__(folder, whole_spec(folder, spec))
        self.spec = spec

    def gather(self, rows: IntArray | slice) -> FloatArray:
        """Vectors (len(rows), dim) float32."""
        vectors = super().gather(rows)[:, : self.spec.dim]
        return unit_length(vectors) if self.spec.identity["normalize"] else vectors
