"""The models of a sample with what is known of their speed, size and mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import PatcacheError
from patcache.queries.comparison import EQUAL_DIGITS
from patcache.queries.counts import model_counts, shapes
from patcache.queries.intervals import Means, means_of_models
from patcache.queries.question import Question, Subject, subject_of
from patcache.queries.wording import indicator_words, slice_words
from patcache.steps.rows import spec_rows
from patcache.store.specs import find_spec
from patcache.store.timings import Timing, find_timings
from patcache.vectors.layout import DTYPES

if TYPE_CHECKING:
    import duckdb

    from patcache.records import Spec
    from patcache.store import StoreFolder

ENCODED = """
SELECT spec_id, device, sum(n_texts)::BIGINT, sum(elapsed_s),
       (max_by(provenance, started_at)->>'batch_tokens')::BIGINT
FROM data.encodings WHERE list_contains(?, spec_id) GROUP BY spec_id, device
ORDER BY spec_id, device"""
MEAN_CANDIDATES = "SELECT avg(len(candidates)) FROM data.tuples WHERE sample_id = ?"


@dataclass(frozen=True, slots=True)
class Encoded:
    """What embedding recorded of one spec on one device."""

    device: str
    n_texts: int
    elapsed_s: float
    batch_tokens: int | None


@dataclass(frozen=True, slots=True)
class TimedModels:
    """Models, numbered as in the subject: their specs, means and times by vectors_id."""

    question: Question
    subject: Subject
    specs: tuple[Spec, ...]
    means: Means
    chance: float
    n_tuples: int
    n_candidates: float
    encoded: dict[str, list[Encoded]]
    timings: dict[str, list[Timing]]
    vector_bytes: tuple[float | None, ...]

    @property
    def about(self) -> str:
        words = (
            f"sample {self.subject.sample}",
            f"{self.n_tuples:,} tuples",
            slice_words(self.question),
            indicator_words(self.question, [self.chance]),
        )
        return " · ".join(words)

    @property
    def best_first(self) -> list[int]:
        """Models by mean; equal ones by name, those without any tuple last."""
        mean = self.means.mean[0]
        ranked = np.where(np.isnan(mean), -np.inf, mean.round(EQUAL_DIGITS))
        return sorted(range(len(mean)), key=lambda i: (-ranked[i], self.specs[i].label))


def timed_models(store: StoreFolder, question: Question) -> TimedModels:
    with store.read() as cursor:
        subject = subject_of(cursor, question)
        counts = model_counts(cursor, subject, question, shapes(cursor))
        specs = _specs(cursor, subject)
        folders = [spec.vectors_id for spec in specs]
        (n_candidates,) = cursor.execute(MEAN_CANDIDATES, [subject.sample_id]).fetchall()[0]
        encoded: dict[str, list[Encoded]] = {}
        for folder, *row in cursor.execute(ENCODED, [folders]).fetchall():
            encoded.setdefault(folder, []).append(Encoded(*row))
        timings: dict[str, list[Timing]] = {}
        for timing in find_timings(cursor, folders):
            timings.setdefault(timing.spec_id, []).append(timing)
    return TimedModels(
        question,
        subject,
        specs,
        means_of_models(subject, counts, question),
        float(counts.chance[0]),
        int(counts.n_tuples.max()),
        float(n_candidates),
        encoded,
        timings,
        tuple(_vector_bytes(store, spec) for spec in specs),
    )


def _specs(cursor: duckdb.DuckDBPyConnection, subject: Subject) -> tuple[Spec, ...]:
    found = [find_spec(cursor, model.spec_id) for model in subject.models]
    return tuple(spec for spec in found if spec is not None)  # each has scores, so each is there


def _vector_bytes(store: StoreFolder, spec: Spec) -> float | None:
    """Bytes of one vector, of sparse ones on average; None of pairs, or where they are gone."""
    if spec.is_pairs:
        return None
    if not spec.sparse:
        return float(spec.dim * DTYPES[spec.storage].itemsize)
    try:
        rows = spec_rows(store, spec)
    except PatcacheError:
        return None
    return rows.size_bytes / rows.n_rows if rows.n_rows else None
