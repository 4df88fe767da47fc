"""Rows of a file of tuples, checked and put together by shape."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.errors import SampleRefused
from patcache.records import Shape, TupleSet
from patcache.store.corpus_ids import KnownPatents

if TYPE_CHECKING:
    import pyarrow as pa

    from patcache.records import IntArray

NEEDED = ("target", "candidate", "level")
OPTIONAL = ("tuple_id", "gold_position")
WHOLE = re.compile(r"[0-9]{1,10}")
LARGEST_LEVEL = 255
LARGEST_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class TupleRows:
    """One row a candidate, as the file has them.

    Shapes: targets, candidates (n,) text; levels, order (n,), order being the place inside the
    tuple among equal levels; tuples (n,), the tuple_id of each row. digest: of all of them.
    """

    targets: pa.Array
    candidates: pa.Array
    levels: IntArray
    order: IntArray
    tuples: IntArray
    digest: str


def tuple_rows(table: pa.Table, source: str) -> TupleRows:
    """The rows of a table, checked by themselves.

    Errors: SampleRefused for a missing column, one that is there twice or holds neither text nor
    numbers, an empty value, a level that is no whole number from 0 to 255, a candidate that is
    its target or occurs twice, a tuple with two targets or one level.
    """
    names = [name.strip().lower() for name in table.column_names]
    absent = [name for name in NEEDED if name not in names]
    if absent or not table.num_rows:
        raise SampleRefused(
            f"{source} holds no tuples",
            f"no column {', '.join(absent)}; there are: {', '.join(table.column_names) or 'none'}"
            if absent
            else "it has no rows",
            "columns: target, candidate, level (higher is more similar), and tuple_id if a target "
            "has several tuples",
        )
    columns = {
        name: _text_column(table, names, name) for name in (*NEEDED, *OPTIONAL) if name in names
    }
    for name, column in columns.items():
        _refuse_rows(name, _empty(column), "is empty")
    levels = _whole_numbers(columns["level"], "level", LARGEST_LEVEL)
    order = np.arange(table.num_rows)
    if "gold_position" in columns:
        order = _whole_numbers(columns["gold_position"], "gold_position", LARGEST_ID)
    tuples = _tuple_ids(columns.get("tuple_id"), columns["target"])
    found = TupleRows(
        columns["target"], columns["candidate"], levels, order, tuples, _digest(columns)
    )
    _check(found)
    return found


def tuple_sets_of(
    rows: TupleRows, targets: KnownPatents, candidates: KnownPatents
) -> list[TupleSet]:
    """The tuples of each shape, in order of tuple_id, candidates in gold order."""
    order = np.lexsort((rows.order, rows.levels, rows.tuples))
    _, first, sizes = np.unique(rows.tuples[order], return_index=True, return_counts=True)
    found = []
    for size in np.unique(sizes):
        heads = first[sizes == size]
        block = order[heads[:, None] + np.arange(size)]  # (n, m) rows of the file
        shapes, which = np.unique(rows.levels[block], axis=0, return_inverse=True)
        for number, levels in enumerate(shapes.tolist()):
            mine = block[which.ravel() == number]
            owner = mine[:, 0]
            found.append(
                TupleSet(
                    Shape(tuple(levels)),
                    rows.tuples[owner],
                    targets.patent_ids[owner],
                    candidates.patent_ids[mine],
                    targets.years[owner],
                    targets.sections[owner],
                )
            )
    return found


def _text_column(table: pa.Table, names: list[str], name: str) -> pa.Array:
    """The column of a name as text. Errors: SampleRefused."""
    import pyarrow as pa

    if names.count(name) > 1:
        raise SampleRefused(
            f"there are {names.count(name)} columns {name}",
            f"the columns are {', '.join(table.column_names)}",
            "leave one of them in the file",
        )
    column = table.column(names.index(name)).combine_chunks()
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SampleRefused(
            f"the column {name} cannot be read", f"it holds {column.type}, not text or numbers"
        ) from error


def _tuple_ids(given: pa.Array | None, targets: pa.Array) -> IntArray:
    """Whole numbers stay as they are; other names, or targets, count in order of appearance."""
    names = targets if given is None else given
    if given is not None:
        texts = given.to_pylist()
        if all(WHOLE.fullmatch(text) and int(text) <= LARGEST_ID for text in texts):
            return np.array(texts, dtype=np.int64)
    return np.asarray(names.dictionary_encode().indices, dtype=np.int64)


def _check(rows: TupleRows) -> None:
    """Errors: SampleRefused."""
    targets = np.asarray(rows.targets.dictionary_encode().indices, dtype=np.int64)
    _, owner, tuples = np.unique(rows.tuples, return_index=True, return_inverse=True)
    _refuse_rows("target", targets != targets[owner][tuples], "differs inside its tuple")
    itself = np.array(
        [a == b for a, b in zip(rows.targets.to_pylist(), rows.candidates.to_pylist(), strict=True)]
    )
    _refuse_rows("candidate", itself, "is its own target")
    names = np.asarray(rows.candidates.dictionary_encode().indices, dtype=np.int64)
    pairs = np.stack([tuples, names])
    _, seen = np.unique(pairs, axis=1, return_index=True)
    is_again = np.ones(len(names), dtype=bool)
    is_again[seen] = False
    _refuse_rows("candidate", is_again, "occurs twice in its tuple")
    lowest = np.full(len(owner), LARGEST_LEVEL)
    highest = np.zeros(len(owner), dtype=np.int64)
    np.minimum.at(lowest, tuples, rows.levels)
    np.maximum.at(highest, tuples, rows.levels)
    _refuse_rows("level", (lowest == highest)[tuples], "is the only one in its tuple")


def _whole_numbers(column: pa.Array, name: str, largest: int) -> IntArray:
    numbers = np.array([_number(text) for text in column.to_pylist()])
    wrong = ~((numbers >= 0) & (numbers <= largest) & (numbers == np.floor(numbers)))
    _refuse_rows(name, wrong, f"is no whole number from 0 to {largest}")
    return numbers.astype(np.int64)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _empty(column: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([not text for text in column.to_pylist()])


def _refuse_rows(name: str, wrong: np.ndarray[tuple[int], np.dtype[np.bool_]], why: str) -> None:
    at = np.flatnonzero(wrong)
    if len(at):
        few = ", ".join(str(row + 1) for row in at[:5])
        raise SampleRefused(
            f"{len(at):,} rows of {len(wrong):,} are wrong",
            f"{name} {why}: row {few}{', ...' * (len(at) > 5)}",
            "nothing was imported; put the rows right and import again",
        )


def _digest(columns: dict[str, pa.Array]) -> str:
    digest = hashlib.sha256()
    for row in zip(*(columns[name].to_pylist() for name in sorted(columns)), strict=True):
        digest.update("\x1f".join(row).encode() + b"\n")
    return digest.hexdigest()
