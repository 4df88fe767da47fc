"""Taking a sample or a spec out of a store: what goes is known before, and then is gone."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patcache.records import Spec
from patcache.store.samples import sample_id
from patcache.store.specs import forget_encodings, labelled_spec, remove_spec, specs
from patcache.store.timings import forget_timings
from patcache.vectors.disk import tree_bytes
from patcache.vectors.folder import writer_lock
from patcache.vectors.repair import REMOVED

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
    """What goes with a spec. folder: of its vectors; size_bytes: of it, 0 where others keep it.

    kept_for: labels of the models whose vectors are cut from the same folder, which then stays.
    """

    folder: str
    size_bytes: int
    n_distances: int
    n_samples: int
    kept_for: tuple[str, ...] = ()


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
        kept_for = _others(spec, specs(cursor))
    size = 0 if kept_for else tree_bytes(store.vectors_path / spec.vectors_id)
    return SpecContents(spec.vectors_id, size, n_distances, n_samples, kept_for)


def drop_spec(store: StoreFolder, label: str) -> None:
    """Removes a spec: its rows, then its folder, if no other spec's vectors are cut from it.

    Errors: NotThere; VectorsBusy while it is written.
    """
    with store.read() as cursor:
        spec = labelled_spec(cursor, label)
    folder = store.vectors_path / spec.vectors_id
    if not folder.exists():
        _forget(store, spec)
        return
    with writer_lock(folder, store.busy_wait_s):
        if _forget(store, spec):
            return
        aside = folder.with_name(folder.name + REMOVED)
        shutil.rmtree(aside, ignore_errors=True)  # of a removal that was killed
        folder.rename(aside)
    shutil.rmtree(aside)


def _forget(store: StoreFolder, spec: Spec) -> tuple[str, ...]:
    """Takes a spec out of the database; labels of those that still use its vectors."""
    with store.write() as cursor:
        others = _others(spec, specs(cursor))
        remove_spec(cursor, spec.spec_id, keep_encodings=bool(others))
        if not others:
            forget_encodings(cursor, spec.vectors_id)
            forget_timings(cursor, spec.vectors_id)
    return others


def _others(spec: Spec, stored: Sequence[Spec]) -> tuple[str, ...]:
    return tuple(
        other.label
        for other in stored
        if other.vectors_id == spec.vectors_id and other.spec_id != spec.spec_id
    )
