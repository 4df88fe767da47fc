"""A small study that needs no import and no sampling: patents, tuples and a model by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from patcache.embedders.base import Encoded
from patcache.records import Role, Spec
from patcache.store import StoreFolder

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ADD_PATENTS = """
INSERT INTO data.patents BY NAME
SELECT patent_id, 'P' || patent_id AS publication_number, 2000 + patent_id % 3 AS year,
       'year' AS year_source, 'year' AS date_precision, section,
       section || '01' AS ipc_class, section || '01B' AS subclass, section || '01B 1' AS main_group,
       section || '01B 1/00' AS code, [section || '01B 1/00'] AS codes,
       title, abstract, unhex(sha256(coalesce(title, '') || coalesce(abstract, '')))
       AS same_text_key, 1 AS import_id
FROM rows"""
ADD_SAMPLE = "INSERT INTO data.samples VALUES (?, ?, 'imported', NULL, '{}', 'digest', now())"
ADD_SHAPE = """
INSERT INTO data.shapes SELECT ?, ?, ?, ?, ?, 0.5
WHERE NOT EXISTS (FROM data.shapes WHERE shape_id = ?)"""
ADD_TUPLES = """
INSERT INTO data.tuples
SELECT ?, r.tuple_id, ?, r.target, r.candidates, p.year, p.section
FROM rows r JOIN data.patents p ON p.patent_id = r.target ORDER BY r.tuple_id"""


def add_patents(
    store: StoreFolder, texts: Sequence[tuple[str | None, str | None]], first_id: int = 0
) -> None:
    """Patents first_id, ... with these titles and abstracts."""
    rows = pa.table(
        {
            "patent_id": pa.array(range(first_id, first_id + len(texts)), pa.int32()),
            "section": ["ABCDEFGH"[i % 8] for i in range(first_id, first_id + len(texts))],
            "title": pa.array([title for title, _ in texts], pa.string()),
            "abstract": pa.array([abstract for _, abstract in texts], pa.string()),
        }
    )
    with store.write() as cursor:
        cursor.register("rows", rows)
        cursor.execute(ADD_PATENTS)


def add_tuples(
    store: StoreFolder,
    name: str,
    tuples: Sequence[Sequence[int]],
    *,
    levels: Sequence[int],
    sample_id: int = 1,
    shape_id: int = 1,
    first_id: int = 0,
) -> None:
    """A sample (or more of it): target, then candidates in gold order."""
    from patcache.kernels.footrule import max_distance, units_per_rank
    from patcache.kernels.tau import n_cross_pairs
    from patcache.records import Shape

    shape = Shape(tuple(levels))
    facts = (units_per_rank(len(levels)), max_distance(shape), n_cross_pairs(shape))
    rows = pa.table(
        {
            "tuple_id": pa.array(range(first_id, first_id + len(tuples)), pa.int32()),
            "target": pa.array([row[0] for row in tuples], pa.int32()),
            "candidates": pa.array([list(row[1:]) for row in tuples], pa.list_(pa.int32())),
        }
    )
    with store.write() as cursor:
        known = {row[0] for row in cursor.execute("SELECT name FROM data.samples").fetchall()}
        if name not in known:
            cursor.execute(ADD_SAMPLE, [sample_id, name])
        cursor.execute(ADD_SHAPE, [shape_id, list(levels), *facts, shape_id])
        cursor.register("rows", rows)
        cursor.execute(ADD_TUPLES, [sample_id, shape_id])


def random_study(
    store: StoreFolder, n_patents: int = 120, n_tuples: int = 80, seed: int = 3
) -> list[list[int]]:
    """Patents of random words and tuples of six candidates; the tuples."""
    rng = np.random.default_rng(seed)
    add_patents(store, random_texts(n_patents, seed))
    tuples = [rng.choice(n_patents, 7, replace=False).tolist() for _ in range(n_tuples)]
    add_tuples(store, "main", tuples, levels=range(1, 7))
    return tuples


def random_texts(n_texts: int, seed: int) -> list[tuple[str | None, str | None]]:
    """Titles and abstracts of random letters; every tenth has no abstract."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list(LETTERS), 5)) for _ in range(60)]
    return [
        (
            f"Title {i} {rng.choice(words)}",
            None if i % 10 == 9 else " ".join(rng.choice(words, 12)),
        )
        for i in range(n_texts)
    ]


class LetterEmbedder:
    """How often each letter occurs, which anybody can count; notes every text it is given."""

    device = "cpu"
    provenance: Mapping[str, Any] = {"library": "by hand"}

    def __init__(
        self,
        label: str = "letters",
        *,
        storage: str = "float32",
        prompts: tuple[str, str] = ("", ""),
        sparse: bool = False,
        log: Path | None = None,
        **identity: Any,
    ) -> None:
        self.spec = Spec(
            label,
            {
                "embedder": "letters",
                "text": {"fields": ["title", "abstract"], "separator": ". "},
                "prompts": {"query": prompts[0], "document": prompts[1]},
                "storage": storage,
                "normalize": False,
                **identity,
            },
            len(LETTERS),
            sparse,
        )
        self.seen: list[tuple[str, Role]] = []
        self._log = log

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        self.seen += [(text, role) for text in texts]
        if self._log is not None:
            with self._log.open("a") as stream:
                stream.write("".join(f"{text}\n" for text in texts))
        vectors = np.array([self.vector(text) for text in texts], dtype=np.float32)
        if self.spec.sparse:
            from scipy.sparse import csr_array

            return Encoded(csr_array(vectors))
        return Encoded(vectors, n_truncated=sum(len(text) > 80 for text in texts))

    def vector(self, text: str) -> list[float]:
        return [float(text.lower().count(letter)) for letter in LETTERS]
