"""Where numbers come from: every setting, digest, version and count behind a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from patcache.queries.counts import IN_SLICE
from patcache.queries.question import Question, subject_of
from patcache.version import __version__

if TYPE_CHECKING:
    import duckdb

    from patcache.store import StoreFolder

SAMPLE = """
SELECT kind, seed, parameters, corpus_digest,
  (SELECT count(*) FROM data.tuples t WHERE t.sample_id = s.sample_id)
FROM data.samples s WHERE sample_id = ?"""
CELLS = """
SELECT count(*), count(*) FILTER (n_drawn > 0), coalesce(sum(n_patents), 0)::BIGINT,
  coalesce(sum(n_eligible), 0)::BIGINT
FROM data.sample_cells WHERE sample_id = ?"""
SHORT = """
SELECT level, sum(n_patents)::BIGINT FROM data.shortages WHERE sample_id = ?
GROUP BY level ORDER BY level"""
NOISE = """
SELECT level, sum(n_pairs)::BIGINT, sum(n_deeper)::BIGINT FROM data.label_noise
WHERE sample_id = ? GROUP BY level ORDER BY level"""
SHAPES = """
SELECT h.levels, h.max_distance, h.units_per_rank, h.n_cross_pairs, h.chance, count(*)
FROM data.tuples t JOIN data.shapes h USING (shape_id) WHERE t.sample_id = ?
GROUP BY ALL ORDER BY h.levels"""
IMPORTS = """
SELECT path, sha256, max(n_rows), max(n_rejected) FROM data.imports
GROUP BY path, sha256 ORDER BY path, sha256"""
RULE = "SELECT rule_version FROM data.scorings WHERE scoring_id = ?"
MODELS = """
SELECT p.label, p.spec_id, p.vectors_id, p.dim, p.identity, s.scored_at, s.n_tuples
FROM data.specs p JOIN data.scores s USING (spec_id)
WHERE s.sample_id = $sample AND s.scoring_id = $scoring AND list_contains($specs, p.spec_id)
ORDER BY p.label"""
ENCODED = """
SELECT coalesce(sum(n_texts), 0)::BIGINT, coalesce(sum(n_truncated), 0)::BIGINT,
  list_sort(list(DISTINCT device)), list_sort(list(DISTINCT provenance::VARCHAR))
FROM data.encodings WHERE spec_id = ?"""
LANGUAGES = f"""
SELECT DISTINCT p.language FROM data.tuples t JOIN data.patents p ON p.patent_id = t.target
WHERE t.sample_id = $sample AND {IN_SLICE.format("t")} ORDER BY p.language"""
LIBRARIES = ("duckdb", "numpy", "scipy", "matplotlib")


@dataclass(frozen=True, slots=True)
class ShapeFacts:
    """Tuples of one shape: gold levels, largest distance in ranks, integers in a rank, chance."""

    levels: tuple[int, ...]
    max_distance: int
    units_per_rank: int
    n_cross_pairs: int
    chance: float
    n_tuples: int


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """One spec: who it is, when it was scored, and what encoded its texts (or pairs) here."""

    label: str
    spec_id: str
    vectors_id: str
    dim: int
    identity: Mapping[str, Any]
    scored_at: str
    n_scored: int
    n_texts: int
    n_truncated: int
    devices: tuple[str, ...]
    libraries: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Everything a reader needs to get the same numbers again.

    shortages: patents without a candidate, by level; noise: (pairs, those that share a deeper
    level by any code), by level; imports: (file name, sha256, rows, rows refused).
    """

    sample: str
    kind: str
    seed: int | None
    parameters: Mapping[str, Any]
    corpus_digest: str
    n_tuples: int
    n_cells: int
    n_cells_drawn: int
    n_patents: int
    n_eligible: int
    shapes: tuple[ShapeFacts, ...]
    shortages: Mapping[int, int]
    noise: Mapping[int, tuple[int, int]]
    imports: tuple[tuple[str, str, int, int], ...]
    scoring_id: str
    rule_version: int | None
    models: tuple[ModelFacts, ...]
    versions: Mapping[str, str]

    @property
    def noise_share(self) -> float | None:
        """Share of candidates with a deeper level than theirs; None where it was not measured."""
        pairs = sum(n for n, _ in self.noise.values())
        return sum(deeper for _, deeper in self.noise.values()) / pairs if pairs else None


def provenance(store: StoreFolder, question: Question | None = None) -> Provenance:
    """What stands behind the comparison of a question. Errors: as for the leaderboard."""
    question = question or Question()
    with store.read() as cursor:
        asked = subject_of(cursor, question)
        one = [asked.sample_id]
        kind, seed, parameters, digest, n_tuples = cursor.execute(SAMPLE, one).fetchall()[0]
        n_cells, n_drawn, n_patents, n_eligible = cursor.execute(CELLS, one).fetchall()[0]
        rule = cursor.execute(RULE, [question.scoring_id]).fetchone()
        return Provenance(
            sample=asked.sample,
            kind=kind,
            seed=seed,
            parameters=json.loads(parameters),
            corpus_digest=digest,
            n_tuples=n_tuples,
            n_cells=n_cells,
            n_cells_drawn=n_drawn,
            n_patents=n_patents,
            n_eligible=n_eligible,
            shapes=tuple(
                ShapeFacts(tuple(levels), *rest)
                for levels, *rest in cursor.execute(SHAPES, one).fetchall()
            ),
            shortages=dict(cursor.execute(SHORT, one).fetchall()),
            noise={level: (n, d) for level, n, d in cursor.execute(NOISE, one).fetchall()},
            imports=tuple(
                (PurePath(path).name, *rest) for path, *rest in cursor.execute(IMPORTS).fetchall()
            ),
            scoring_id=question.scoring_id,
            rule_version=rule[0] if rule else None,
            models=_models(cursor, asked.sample_id, question, [m.spec_id for m in asked.models]),
            versions=versions(),
        )


def languages(store: StoreFolder, question: Question) -> list[str | None]:
    """The languages of a slice's targets as their files name them; None where they do not."""
    with store.read() as cursor:
        asked = {
            "sample": subject_of(cursor, question).sample_id,
            "years": None if question.years is None else list(question.years),
            "sections": None if question.sections is None else list(question.sections),
        }
        return [row[0] for row in cursor.execute(LANGUAGES, asked).fetchall()]


def versions() -> dict[str, str]:
    """patcache, Python, the platform, and the libraries whose versions numbers could depend on."""
    import platform

    found = {
        "patcache": __version__,
        "Python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "not installed"
    return found


def _models(
    cursor: duckdb.DuckDBPyConnection, sample_id: int, question: Question, spec_ids: list[str]
) -> tuple[ModelFacts, ...]:
    asked = {"sample": sample_id, "scoring": question.scoring_id, "specs": spec_ids}
    found = []
    for label, spec_id, vectors_id, dim, identity, scored_at, n_scored in cursor.execute(
        MODELS, asked
    ).fetchall():
        n_texts, n_truncated, devices, made = cursor.execute(ENCODED, [vectors_id]).fetchall()[0]
        found.append(
            ModelFacts(
                label,
                spec_id,
                vectors_id,
                dim,
                json.loads(identity),
                scored_at.astimezone(UTC).isoformat(timespec="seconds"),
                n_scored,
                n_texts,
                n_truncated,
                tuple(devices or ()),
                tuple(json.loads(text) for text in made or ()),
            )
        )
    return tuple(found)
