"""Taking a sample or a spec out of a store: what goes is known before, and then is gone."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patcache.store.samples import sample_id
from patcache.store.specs import labelled_spec, remove_spec
from patcache.vectors.folder import writer_lock

if TYPE_CHECKING:
    from patcache.store import StoreFolder

SAMPLE_SCORES = """
SELECT (SELECT count(*) FROM data.tuples WHERE sample_id = $id),
       count(*), count(DISTINCT spec_id) FROM data.distances WHERE sample_id = $id"""
SPEC_SCORES = "SELECT count(*), count(DISTINCT sample_id) FROM data.distances WHERE spec_id = ?"


@dataclass(frozen=True, slots=True)
class SampleContents:
    """What goes with a sample; vectors stay."""

    n_tuples: int
    n_distances: int
    n_models: int


@dataclass(frozen=True, slots=True)
class SpecContents:
    """What goes with a spec; size_bytes: of its folder."""

    spec_id: str
    size_bytes: int
    n_distances: int
    n_samples: int


def sample_contents(store: StoreFolder, name: str) -> SampleContents:
    """What removing a sample would remove. Errors: NotThere."""
    with store.read() as cursor:
        values = {"id": sample_id(cursor, name)}
        return SampleContents(*cursor.execute(SAMPLE_SCORES, values).fetchall()[0])


def spec_contents(store: StoreFolder, label: str) -> SpecContents:
    """What removing a spec would remove. Errors: NotThere."""
    with store.read() as cursor:
        spec = labelled_spec(cursor, label)
        n_distances, n_samples = cursor.execute(SPEC_SCORES, [spec.spec_id]).fetchall()[0]
    folder = store.vectors_path / spec.spec_id
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return SpecContents(spec.spec_id, size, n_distances, n_samples)


def drop_spec(store: StoreFolder, label: str) -> None:
    """Removes a spec: its rows, then its folder. Errors: NotThere; VectorsBusy while written."""
    with store.read() as cursor:
        spec = labelled_spec(cursor, label)
    folder = store.vectors_path / spec.spec_id
    if not folder.exists():
        with store.write() as cursor:
            remove_spec(cursor, spec.spec_id)
        return
    with writer_lock(folder):
        with store.write() as cursor:
            remove_spec(cursor, spec.spec_id)
        aside = folder.with_name(f"{folder.name}.removed")
        shutil.rmtree(aside, ignore_errors=True)  # of a removal that was killed
        folder.rename(aside)
    shutil.rmtree(aside)
