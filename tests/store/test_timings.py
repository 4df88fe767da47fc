"""Timings: the migration of an older store with rows, the view, and what goes with a spec."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from patcache.records import ModelRequest
from patcache.steps.embedding import embed
from patcache.steps.removing import drop_spec
from patcache.store import StoreFolder
from patcache.store.migrate import migrations
from patcache.store.timings import Timing, add_timings, find_timings
from tests.steps.study_by_hand import LetterEmbedder, random_study

TIMING = Timing("folder", "cpu", 8, 70, 10, 3, 0.7, 0.1, {"numpy": "2"})


def test_a_store_without_timings_gets_the_table_and_keeps_its_rows(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "patcache.duckdb") as connection:
        connection.execute(
            "CREATE TABLE schema_migrations "
            "(version INTEGER, name VARCHAR, sha256 VARCHAR, applied_at TIMESTAMPTZ)"
        )
        for old in migrations()[:3]:
            connection.execute(old.sql)
            connection.execute(
                "INSERT INTO schema_migrations VALUES (?, ?, ?, now())",
                [old.version, old.name, old.sha256],
            )
        connection.execute(
            "INSERT INTO data.specs VALUES ('abc', 'old', 'random', 2, false, '{}', now(), 'abc')"
        )
        connection.execute(
            "INSERT INTO data.encodings VALUES ('abc', now(), 5, 0, 2.5, 'cpu', '{}')"
        )
    store = StoreFolder(tmp_path)
    with store.read() as cursor:
        assert cursor.execute("SELECT model, s_per_text FROM models").fetchall() == [("old", 0.5)]
        assert cursor.execute("SELECT count(*) FROM timings").fetchone() == (0,)
    with store.write() as cursor:
        add_timings(cursor, [replace(TIMING, spec_id="abc")])
    with store.read() as cursor:
        (row,) = cursor.execute(
            "SELECT model, device, batch, s_per_text, s_per_tuple, is_pairs FROM timings"
        ).fetchall()
    assert row == ("old", "cpu", 8, pytest.approx(0.01), pytest.approx(0.07), False)


def test_the_last_timing_of_a_spec_device_and_batch_stands(store: StoreFolder) -> None:
    other = replace(TIMING, device="cuda:0")
    with store.write() as cursor:
        add_timings(cursor, [TIMING, other])
        add_timings(cursor, [replace(TIMING, median_s=1.4)])
    with store.read() as cursor:
        found = find_timings(cursor, ["folder"])
        assert find_timings(cursor, ["another"]) == []
    assert [(each.device, each.median_s) for each in found] == [("cpu", 1.4), ("cuda:0", 0.7)]
    assert found[0].provenance == {"numpy": "2"}


def test_timings_go_with_the_last_model_of_the_vectors(store: StoreFolder) -> None:
    random_study(store, n_patents=20, n_tuples=5)
    embed(store, ModelRequest("letters"), embedder=LetterEmbedder(truncate_dim=None))
    request = ModelRequest("letters", settings={"truncate_dim": 8})
    embed(store, request, embedder=LetterEmbedder(truncate_dim=None))
    folder = LetterEmbedder(truncate_dim=None).spec.spec_id
    with store.write() as cursor:
        add_timings(cursor, [replace(TIMING, spec_id=folder)])

    def timed() -> list[str]:
        with store.read() as cursor:
            rows = cursor.execute("SELECT model FROM timings ORDER BY model").fetchall()
        return [model for (model,) in rows]

    assert timed() == ["letters", "letters@8d"]
    drop_spec(store, "letters")
    assert timed() == ["letters@8d"]
    drop_spec(store, "letters@8d")
    with store.read() as cursor:
        assert cursor.execute("SELECT count(*) FROM data.timings").fetchone() == (0,)
