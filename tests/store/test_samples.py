from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from patcache.errors import SampleRefused, StoreBusy
from patcache.records import Shape, TupleSet
from patcache.store import StoreFolder, sample_writes
from patcache.store.sample_writes import Cell, SampleHead, ShapeValues, save_extension, save_sample
from patcache.store.samples import (
    TABLES_OF_SAMPLE,
    only_writer,
    remove_sample,
    sample_id,
    sample_names,
    tuple_sets,
)

SHAPE = Shape((1, 6))
VALUES = {SHAPE: ShapeValues(2, 2, 1, 0.5)}


def tuples(n_tuples: int, years: tuple[int, ...], first: int = 0) -> TupleSet:
    """n tuples in each year, all in section A, in order of year."""
    size = n_tuples * len(years)
    return TupleSet(
        SHAPE,
        np.arange(first, first + size),
        np.arange(size, dtype=np.int32),
        np.stack([np.arange(size) + 1000, np.arange(size) + 2000], axis=1).astype(np.int32),
        np.repeat(np.array(years, dtype=np.int16), n_tuples),
        np.full(size, "A"),
    )


def cells(n_tuples: int, years: tuple[int, ...]) -> list[Cell]:
    return [Cell(year, "A", 9, 8, n_tuples, {6: 1, 1: 0}, {6: (n_tuples, 0)}) for year in years]


def save(store: StoreFolder, name: str, n_tuples: int, years: tuple[int, ...]) -> None:
    head = SampleHead(name, "drawn", 1, {"seed": 1}, "digest")
    save_sample(store, head, VALUES, [tuples(n_tuples, years)], cells(n_tuples, years))


def count(store: StoreFolder, table: str) -> int:
    with store.read() as cursor:
        return int(cursor.execute(f"SELECT count(*) FROM data.{table}").fetchall()[0][0])


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


def kill_at(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """Dies in the given transaction of the next save, before it is committed."""
    real, calls = sample_writes._add_cells, []

    def add_cells(*arguments: Any) -> None:
        calls.append(1)
        if len(calls) == part:
            raise Killed
        real(*arguments)

    monkeypatch.setattr(sample_writes, "_add_cells", add_cells)


def test_a_sample_comes_back_as_it_was_saved_in_several_transactions(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_writes, "TRANSACTION_TUPLES", 5)
    years = (2001, 2002, 2003)
    save(store, "main", 4, years)
    expected = tuples(4, years)
    with store.read() as cursor:
        (found,) = tuple_sets(cursor, sample_id(cursor, "main"))
    for name in ("ids", "targets", "candidates", "years", "sections"):
        assert (getattr(found, name) == getattr(expected, name)).all(), name
    assert (count(store, "sample_cells"), count(store, "shortages")) == (3, 3)  # no zero is kept


def test_a_killed_draw_leaves_no_sample_and_is_cleared_by_the_next(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_writes, "TRANSACTION_TUPLES", 5)
    with monkeypatch.context() as patch:
        kill_at(patch, part=2)
        with pytest.raises(Killed):
            save(store, "main", 4, (2001, 2002, 2003))
    assert count(store, "tuples") == 4  # the first transaction was committed
    with store.read() as cursor:
        assert sample_names(cursor) == []
        assert cursor.execute("SELECT count(*) FROM tuples").fetchall() == [(0,)]
        assert cursor.execute("SELECT count(*) FROM sample_cells").fetchall() == [(0,)]
    save(store, "other", 1, (2001,))
    assert (count(store, "tuples"), count(store, "sample_cells")) == (1, 1)


def test_a_killed_extension_has_fewer_cells_and_can_go_on(
    store: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_writes, "TRANSACTION_TUPLES", 5)
    save(store, "main", 4, (2001,))
    years = (2002, 2003)
    arguments = (store, "main", "new digest", VALUES)
    with monkeypatch.context() as patch:
        kill_at(patch, part=2)
        with pytest.raises(Killed):
            save_extension(*arguments, [tuples(4, years, first=4)], cells(4, years))
    assert (count(store, "tuples"), count(store, "sample_cells")) == (8, 2)
    save_extension(*arguments, [tuples(4, (2003,), first=8)], cells(4, (2003,)))
    with store.read() as cursor:
        (found,) = tuple_sets(cursor, sample_id(cursor, "main"))
    assert found.ids.tolist() == list(range(12))
    assert found.years.tolist() == [2001] * 4 + [2002] * 4 + [2003] * 4


def test_a_cell_is_never_drawn_twice(store: StoreFolder) -> None:
    save(store, "main", 2, (2001,))
    with pytest.raises(SampleRefused, match="changed"):
        save_extension(
            store, "main", "digest", VALUES, [tuples(2, (2001,), first=2)], cells(2, (2001,))
        )
    assert count(store, "tuples") == 2


def test_a_shape_is_stored_once(store: StoreFolder) -> None:
    save(store, "one", 1, (2001,))
    save(store, "two", 1, (2001,))
    assert count(store, "shapes") == 1


def test_two_draws_at_once_do_not_clear_each_other(store: StoreFolder) -> None:
    names = [f"s{n}" for n in range(6)]
    threads = [threading.Thread(target=save, args=(store, name, 3, (2001,))) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as cursor:
        assert sorted(sample_names(cursor)) == names
        assert all(len(tuple_sets(cursor, sample_id(cursor, n))[0].ids) == 3 for n in names)


def test_a_writer_that_stays_is_named_as_busy(store: StoreFolder) -> None:
    impatient = StoreFolder(store.path, wait_s=0.05)
    with only_writer(store), pytest.raises(StoreBusy, match="writing a sample"):
        save(impatient, "main", 1, (2001,))


def test_removal_knows_every_table_that_belongs_to_a_sample(store: StoreFolder) -> None:
    save(store, "main", 1, (2001,))
    with store.read() as cursor:
        found = cursor.execute(
            "SELECT table_name FROM duckdb_columns() WHERE schema_name = 'data'"
            " AND column_name = 'sample_id' AND database_name = current_database()"
        ).fetchall()
    assert {table for (table,) in found} == {*TABLES_OF_SAMPLE, "samples"}
    remove_sample(store, "main")
    assert all(count(store, table) == 0 for (table,) in found)
