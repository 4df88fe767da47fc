"""Samples as files: one row a candidate, in Parquet, CSV, TSV or JSON lines by the file's ending.

What is exported can be imported where the same patents are, and is the same sample there. Tuples
from elsewhere (citations, human judgments) need the columns target, candidate and level.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import ImportRefused, SampleRefused
from patcache.records import Progress, TupleSet
from patcache.steps.label_noise import are_ipc_levels, label_noise
from patcache.steps.sample_parameters import check_name
from patcache.steps.shape_values import shape_values
from patcache.steps.tuple_rows import TupleRows, tuple_rows, tuple_sets_of
from patcache.store.corpus_ids import KnownPatents, cell_sizes, known_patents
from patcache.store.sample_writes import Cell, SampleHead, save_sample
from patcache.store.samples import TupleSpan, refuse_taken_name, tuple_span, tuple_table

if TYPE_CHECKING:
    import pyarrow as pa

    from patcache.store.folder import StoreFolder

EXPORTED_TUPLES = 50_000
FIRST_FEW = 5


@dataclass(frozen=True, slots=True)
class TupleImport:
    """What came of an import of tuples; shapes: the levels of the tuples, each once."""

    name: str
    n_tuples: int
    n_candidates: int
    n_cells: int
    shapes: tuple[tuple[int, ...], ...]


def export_sample(
    store: StoreFolder, name: str, path: Path, progress: Progress | None = None
) -> int:
    """Writes every candidate of a sample to a file; the number of rows.

    Errors: NotThere; SampleRefused for an ending that is no format.
    """
    write = _by_ending(path, WRITERS)
    with store.read() as cursor:
        span = tuple_span(cursor, name)
    aside = path.with_name(f".{path.name}.part")
    try:
        n_rows: int = write(aside, _tables(store, name, span, progress))
        aside.replace(path)
    except OSError as error:
        raise SampleRefused(f"cannot write {path}", str(error)) from error
    finally:
        aside.unlink(missing_ok=True)
    return n_rows


def import_sample(store: StoreFolder, name: str, path: Path) -> TupleImport:
    """Makes a sample of the tuples in a file, all of them or none.

    Errors: SampleRefused for a name that is taken, a file that is no tuples, patents that are not
    in the corpus; ImportRefused for a file that cannot be read.
    """
    check_name(name)
    rows = tuple_rows(_read(path), str(path))
    with store.read() as cursor:
        refuse_taken_name(cursor, name)
        targets = known_patents(cursor, rows.targets)
        candidates = known_patents(cursor, rows.candidates)
        sizes = cell_sizes(cursor)
    _refuse_unknown(rows, targets, candidates)
    tuples = tuple_sets_of(rows, targets, candidates)
    cells = _cells(store, tuples, sizes)
    head = SampleHead(name, "imported", None, {"file": path.name}, rows.digest)
    values = {some.shape: shape_values(some.shape) for some in tuples}
    save_sample(store, head, values, tuples, cells)
    return TupleImport(
        name,
        sum(len(some.ids) for some in tuples),
        len(rows.levels),
        len(cells),
        tuple(some.shape.levels for some in tuples),
    )


def _tables(
    store: StoreFolder, name: str, span: TupleSpan, progress: Progress | None
) -> Iterator[pa.Table]:
    for start in range(span.first, span.last + 1, EXPORTED_TUPLES):
        stop = min(start + EXPORTED_TUPLES, span.last + 1)
        with store.read() as cursor:
            table = tuple_table(cursor, name, start, stop)
        yield table
        if progress is not None:
            progress(stop - span.first, span.last + 1 - span.first)


def _refuse_unknown(rows: TupleRows, targets: KnownPatents, candidates: KnownPatents) -> None:
    """Errors: SampleRefused naming the first patents that are not in the corpus."""
    missing = []
    for word, numbers, known in (
        ("targets", rows.targets, targets),
        ("candidates", rows.candidates, candidates),
    ):
        at = np.flatnonzero(known.patent_ids < 0)
        names = dict.fromkeys(numbers.take(at).to_pylist())
        if names:
            few = ", ".join(list(names)[:FIRST_FEW])
            missing.append(f"{len(names):,} {word} ({few}{', ...' * (len(names) > FIRST_FEW)})")
    if missing:
        raise SampleRefused(
            "the file names patents that are not in this store",
            " and ".join(missing),
            "import them first (patcache import FILE), or take these tuples out",
        )


def _cells(
    store: StoreFolder, tuples: list[TupleSet], sizes: dict[tuple[int, str], int]
) -> list[Cell]:
    """The cells of the targets; label noise only where the levels are those of the main codes."""
    drawn: dict[tuple[int, str], int] = {}
    noise: dict[tuple[int, str], dict[int, tuple[int, int]]] = {}
    is_ipc = all(are_ipc_levels(store, some) for some in tuples)
    for some in tuples:
        for cell in zip(some.years.tolist(), some.sections.tolist(), strict=True):
            drawn[cell] = drawn.get(cell, 0) + 1
        for cell, levels in label_noise(store, some).by_cell.items() if is_ipc else ():
            into = noise.setdefault(cell, {})
            for level, (pairs, deeper) in levels.items():
                before = into.get(level, (0, 0))
                into[level] = (before[0] + pairs, before[1] + deeper)
    return [
        Cell(year, section, sizes[year, section], n, n, {}, noise.get((year, section), {}))
        for (year, section), n in sorted(drawn.items())
    ]


def _by_ending(path: Path, formats: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    chosen = formats.get(path.suffix.lower())
    if chosen is None:
        raise SampleRefused(
            f"{path.name}: unknown ending {path.suffix!r}",
            "the ending says the format",
            f"one of {', '.join(formats)}",
        )
    return chosen


def _read(path: Path) -> pa.Table:
    """The table in a file, numbers of patents as text."""
    import pyarrow as pa

    read = _by_ending(path, READERS)
    try:
        table: pa.Table = read(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise ImportRefused(f"cannot read {path}", str(error).splitlines()[0]) from error
    return table


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(path)


def _read_csv(path: Path, delimiter: str = ",") -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    with csv.open_csv(path, parse_options=parse) as first:
        names = first.schema.names
    as_text = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    return csv.read_csv(path, parse_options=parse, convert_options=as_text)


def _read_jsonl(path: Path) -> pa.Table:
    from pyarrow import json as pa_json

    return pa_json.read_json(path)


def _write_parquet(path: Path, tables: Iterator[pa.Table]) -> int:
    import pyarrow.parquet as pq

    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        return _write_all(writer.write_table, first, tables)


def _write_csv(path: Path, tables: Iterator[pa.Table], delimiter: str = ",") -> int:
    from pyarrow import csv

    first = next(tables)
    options = csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
    with csv.CSVWriter(path, first.schema, write_options=options) as writer:
        return _write_all(writer.write_table, first, tables)


def _write_jsonl(path: Path, tables: Iterator[pa.Table]) -> int:
    with path.open("w", encoding="utf-8", newline="\n") as stream:

        def write(table: pa.Table) -> None:
            lines = (json.dumps(row, ensure_ascii=False) for row in table.to_pylist())
            stream.writelines(f"{line}\n" for line in lines)

        return _write_all(write, next(tables), tables)


def _write_all(
    write: Callable[[pa.Table], None], first: pa.Table, others: Iterator[pa.Table]
) -> int:
    write(first)
    n_rows = int(first.num_rows)
    for table in others:
        write(table)
        n_rows += table.num_rows
    return n_rows


READERS: dict[str, Callable[..., Any]] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".tsv": lambda path: _read_csv(path, "\t"),
    ".jsonl": _read_jsonl,
}
WRITERS: dict[str, Callable[..., Any]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".tsv": lambda path, tables: _write_csv(path, tables, "\t"),
    ".jsonl": _write_jsonl,
}
