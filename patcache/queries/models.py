"""The models of a store, by their journals, and the presets that are not in it yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patcache.embedders.catalogue import PresetRow, presets
from patcache.errors import VectorsDamaged, VectorsUnreadable
from patcache.listing import Listing, column
from patcache.records import Spec
from patcache.steps.rows import spec_rows
from patcache.store.specs import specs

if TYPE_CHECKING:
    from patcache.store import StoreFolder

SCORED = """
SELECT spec_id, string_agg(DISTINCT s.name, ', ' ORDER BY s.name)
FROM data.scores JOIN data.samples s USING (sample_id) GROUP BY spec_id"""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A stored spec (spec_id is set) or a preset that could be added.

    A scorer of pairs has pairs instead of texts and dimensions, and its s_per_text is of a pair.
    """

    label: str = column("model")
    kind: str = column("kind")
    dim: int | None = column("dim")
    n_texts: int | None = column("texts")
    n_pairs: int | None = column("pairs")
    size_bytes: int | None = column("bytes")
    s_per_text: float | None = column("s/text", fmt=".2g")
    device: str | None = column("device")
    truncated: float | None = column("truncated", fmt=".1%")
    scored: str | None = column("scored")
    spec_id: str | None = column("spec")
    note: str = column("note")


NOTHING = ModelRow("", "", None, None, None, None, None, None, None, None, None, "")


def models(store: StoreFolder, *, only_stored: bool = False) -> Listing[ModelRow]:
    """Stored models first, as their files are at this moment; then the presets."""
    with store.read() as cursor:
        stored = specs(cursor)
        scored = dict(cursor.execute(SCORED).fetchall())
    rows = [_stored_row(store, spec, scored) for spec in stored]
    labels = {spec.label for spec in stored}
    if not only_stored:
        rows += [_preset_row(preset) for preset in presets() if preset.name not in labels]
    what = f"{len(stored)} model{'s' * (len(stored) != 1)} stored"
    more = "" if only_stored else " · the others are presets: patcache add NAME"
    return Listing(ModelRow, tuple(rows), caption=(what + more,))


def _preset_row(preset: PresetRow) -> ModelRow:
    needs = f" (needs {preset.extra})" if preset.extra else ""
    return replace(
        NOTHING, label=preset.name, kind=preset.kind, dim=preset.dim, note=preset.note + needs
    )


def _stored_row(store: StoreFolder, spec: Spec, scored: Mapping[str, str]) -> ModelRow:
    row = replace(
        NOTHING,
        label=spec.label,
        kind=spec.embedder,
        dim=None if spec.is_pairs else spec.dim,
        scored=scored.get(spec.spec_id),
        spec_id=spec.spec_id,
    )
    try:
        rows = spec_rows(store, spec)
    except VectorsUnreadable as error:
        return replace(row, note=error.what)
    except VectorsDamaged as error:
        return replace(row, note=f"damaged: {error.what}")
    n_rows = rows.n_rows
    row = replace(row, n_pairs=n_rows) if spec.is_pairs else replace(row, n_texts=n_rows)
    if rows.n_rows == 0:
        return replace(row, size_bytes=0)
    runs = [block.run for block in rows.blocks]
    if spec.is_cut:
        row = replace(row, note=f"the first {spec.dim} dimensions of vectors/{spec.vectors_id}")
    return replace(
        row,
        size_bytes=0 if spec.is_cut else rows.size_bytes,
        s_per_text=sum(run.elapsed_s for run in runs) / rows.n_rows,
        device=", ".join(sorted({run.device for run in runs})),
        truncated=sum(run.n_truncated for run in runs) / rows.n_rows,
    )
