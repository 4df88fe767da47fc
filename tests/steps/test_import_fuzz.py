"""Any table and any bytes: every record is accounted for, and there is never a traceback."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patcache.errors import ImportRefused
from patcache.store import StoreFolder
from tests.steps.import_tools import HEADER, WRITERS, import_one, query, rejects

cells = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8
) | st.sampled_from(
    ["A61B 5/00", "0205", "2015", "15/03/2015", "US1", "-", 'a "b"', "a\r\nb", "x;y"]
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(cells, min_size=5, max_size=5), max_size=6),
    st.sampled_from(["csv", "tsv", "jsonl", "parquet"]),
)
def test_any_table_is_accounted_for_record_by_record(rows: list[list[str]], suffix: str) -> None:
    if not rows:
        return
    with tempfile.TemporaryDirectory() as folder:
        store = StoreFolder(Path(folder) / "store")
        path = Path(folder) / f"a.{suffix}"
        WRITERS[suffix](path, [dict(zip(HEADER, row, strict=True)) for row in rows])
        report = import_one(store, path)
        assert report.counts.n_rows == len(rows)
        refused = report.counts.n_excluded + report.counts.n_rejected
        assert len(rejects(store)) == refused
        assert query(store, "SELECT count(*) FROM patents") == [(report.counts.n_added,)]
        numbers = {row[0] for row in rows}
        assert {n for (n,) in query(store, "SELECT publication_number FROM patents")} <= numbers


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200) | st.text('aA1,;\n\r"\t', max_size=60).map(str.encode))
def test_any_bytes_are_imported_or_refused_never_a_traceback(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = StoreFolder(Path(folder) / "store")
        path = Path(folder) / "a.csv"
        path.write_bytes(b"number,title,abstract,ipc,year\n" + content)
        n_added = n_refused = 0
        with contextlib.suppress(ImportRefused):
            counts = import_one(store, path).counts  # n_rows is the sum of what became of them
            n_added, n_refused = counts.n_added, counts.n_excluded + counts.n_rejected
        assert query(store, "SELECT count(*) FROM patents") == [(n_added,)]
        assert len(rejects(store)) == n_refused
