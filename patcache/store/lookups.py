"""Patents looked up one by one: by number, by slice, and what a list of neighbours says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import NotThere
from patcache.records import TextView

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

FIND = """
SELECT p.publication_number, p.patent_id
FROM (SELECT unnest(?::VARCHAR[]) AS publication_number) w
JOIN data.patents p USING (publication_number)"""
# Numbers as people write them differ by spaces, separators and the kind code at the end.
ALIKE = """
SELECT publication_number FROM (
  SELECT publication_number,
         regexp_replace(upper(publication_number), '[^A-Z0-9]', '', 'g') AS plain,
         regexp_replace(upper(?), '[^A-Z0-9]', '', 'g') AS asked
  FROM data.patents)
ORDER BY NOT (contains(plain, asked) OR contains(asked, plain)), levenshtein(plain, asked),
         publication_number
LIMIT 3"""
IN_SLICE = """
SELECT patent_id FROM data.patents
WHERE ($years::INTEGER[] IS NULL OR list_contains($years::INTEGER[], year))
  AND ($sections::VARCHAR[] IS NULL OR list_contains($sections::VARCHAR[], section))
ORDER BY patent_id"""
FACTS = """
SELECT w.patent_id, p.publication_number, p.year, p.code, p.title
FROM (SELECT unnest(?::INTEGER[]) AS patent_id) w JOIN data.patents p USING (patent_id)"""
STATE = """
SELECT count(*), bit_xor(hash(patent_id, publication_number, {columns}))::VARCHAR
FROM data.patents p WHERE patent_id <= ?"""
STATE_COLUMNS = {"abstract": "p.same_text_key"}  # a digest of it, and shorter


@dataclass(frozen=True, slots=True)
class PatentFacts:
    """What a list shows of a patent."""

    publication_number: str
    year: int
    code: str
    title: str | None


def find_patents(cursor: duckdb.DuckDBPyConnection, numbers: Sequence[str]) -> list[int]:
    """The patent_id of each publication number. Errors: NotThere, naming those most like it."""
    found = dict(cursor.execute(FIND, [list(numbers)]).fetchall())
    for number in numbers:
        if number not in found:
            alike = [row[0] for row in cursor.execute(ALIKE, [number]).fetchall()]
            raise NotThere(
                f"no patent {number!r} in this store",
                f"the most similar numbers are {', '.join(alike)}" if alike else "it has none",
                "write the number as the imported file has it, kind code included"
                if alike
                else "import patents first: `patcache import FILE`",
            )
    return [found[number] for number in numbers]


def patents_in(
    cursor: duckdb.DuckDBPyConnection,
    years: Sequence[int] | None,
    sections: Sequence[str] | None,
) -> NDArray[np.int32]:
    """The patents of a slice, in the order of import."""
    asked = {
        "years": None if years is None else list(years),
        "sections": None if sections is None else list(sections),
    }
    found: NDArray[np.int32] = cursor.execute(IN_SLICE, asked).fetchnumpy()["patent_id"]
    return np.asarray(found, dtype=np.int32)


def patent_facts(
    cursor: duckdb.DuckDBPyConnection, patents: Sequence[int]
) -> dict[int, PatentFacts]:
    """What to show of some patents."""
    rows = cursor.execute(FACTS, [list(patents)]).fetchall()
    return {patent_id: PatentFacts(*facts) for patent_id, *facts in rows}


def corpus_state(cursor: duckdb.DuckDBPyConnection, view: TextView, last: int) -> str:
    """Tells one corpus from another as far as the texts of the patents up to `last` go."""
    columns = ", ".join(STATE_COLUMNS.get(field, f"p.{field}") for field in view.fields)
    row = cursor.execute(STATE.format(columns=columns), [last]).fetchall()[0]
    return "-".join(map(str, row))
