"""What is stored costs nothing again: a second run, 1 % new texts, and memory as texts grow.

Run: python -m bench.bench_reuse [TEXTS] [KNOWN]. A corpus of generated patents is embedded whole
(`--all`) by a fast fake encoder: digests as vectors, so that a row can be told by its text. Then it
is embedded again, then 1 % more patents come. Each run is a process of its own, whose largest
memory is that of the process; opening is importing the libraries and opening the store. Peak memory
is shown for 10,000 texts, a tenth of TEXTS and TEXTS (1,000,000); the second run again for KNOWN
texts (5,000,000). In the same run: every text was encoded once, and rows are those of their texts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.common import report

N_TEXTS = 1_000_000
N_KNOWN = 5_000_000
NEW_SHARE = 0.01
N_CHECKED = 1000
DIM = 16
BATCH = 500_000

INSERT = """
INSERT INTO data.patents BY NAME
SELECT i::INTEGER AS patent_id, 'US' || (7000000 + i) || 'B2' AS publication_number,
       2000 + i % 20 AS year, 'year' AS year_source, 'year' AS date_precision,
       'H' AS section, 'H01' AS ipc_class, 'H01L' AS subclass, 'H01L 21' AS main_group,
       'H01L 21/02' AS code, ['H01L 21/02'] AS codes,
       'Title ' || i AS title, repeat(md5(i::VARCHAR) || ' ', 20) AS abstract,
       unhex(md5(i::VARCHAR)) AS same_text_key, 1 AS import_id
FROM range(?, ?) t(i)"""


def vector_of(text: str) -> Any:
    """Digits that only this text has."""
    import hashlib

    import numpy as np

    raw = hashlib.blake2b(text.encode(), digest_size=DIM).digest()
    return np.frombuffer(raw, dtype=np.uint8).astype(np.float32) + 1


class FakeEncoder:
    """As fast as an encoder can be: a digest a text."""

    n_encoded = 0

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        self.n_encoded += len(texts)
        return np.stack([vector_of(text) for text in texts])


def grow(folder: Path, first: int, stop: int) -> None:
    """Patents first..stop, in transactions that fit into memory."""
    from patcache.store import StoreFolder

    store = StoreFolder(folder)
    for start in range(first, stop, BATCH):
        with store.write() as cursor:
            cursor.execute(INSERT, [start, min(start + BATCH, stop)])


def embed_once(folder: Path) -> None:
    """One run in this process, told on standard output."""
    start = time.perf_counter()
    import numpy as np

    from patcache.embedders.python import from_object
    from patcache.records import ModelRequest
    from patcache.steps.embedding import embed
    from patcache.store import StoreFolder

    store = StoreFolder(folder, create=False)
    encoder = FakeEncoder()
    embedder = from_object(encoder, "fake", "1", normalize=False)
    encoder.n_encoded = 0
    opened_s = time.perf_counter() - start
    start, cpu = time.perf_counter(), time.process_time()
    found = embed(store, ModelRequest("fake"), embedder=embedder, all_texts=True)
    told = {
        "n_encoded": encoder.n_encoded,
        "n_rows": found.n_stored,
        "opening_s": round(opened_s, 3),
        "work_s": round(time.perf_counter() - start, 3),
        "cpu_s": round(time.process_time() - cpu, 3),
        "peak_mib": peak_mib(),
    }
    if encoder.n_encoded:
        told["rows_right"] = _rows_right(store, found.label, np.random.default_rng(1))
    print(json.dumps(told))


def peak_mib() -> int:
    """Largest memory of this process since it began (Linux); not its parent's, as getrusage."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1024)


def _rows_right(store: Any, label: str, rng: Any) -> bool:
    """Whether rows drawn at random hold the vectors of their own texts."""
    import numpy as np

    from patcache.hashing import text_keys
    from patcache.steps.rows import spec_rows
    from patcache.store.specs import labelled_spec
    from patcache.store.texts import texts_of

    with store.read() as cursor:
        spec = labelled_spec(cursor, label)
        (n_patents,) = cursor.execute("SELECT count(*) FROM data.patents").fetchall()[0]
        patents = rng.integers(0, n_patents, N_CHECKED).astype(np.int32)
        texts = texts_of(cursor, spec.text_view, patents)
    rows = spec_rows(store, spec)
    found = rows.gather(rows.rows_of(text_keys(texts)))
    return bool((found == np.stack([vector_of(text) for text in texts])).all())


def run(folder: Path) -> dict[str, Any]:
    """One run in a process of its own."""
    command = [sys.executable, "-m", "bench.bench_reuse", "--once", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def lifetime(n_texts: int) -> None:
    """First run, second run, and a run after 1 % more patents."""
    n_new = int(n_texts * NEW_SHARE)
    with TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        grow(store, 0, n_texts)
        first = run(store)
        second = run(store)
        grow(store, n_texts, n_texts + n_new)
        more = run(store)
    encoded = (first["n_encoded"], second["n_encoded"], more["n_encoded"])
    report(
        "reuse",
        n_texts=n_texts,
        first=first,
        second=second,
        one_percent_new=more,
        share_of_first=round(more["work_s"] / first["work_s"], 4),
        each_text_once=encoded == (n_texts, 0, n_new),
    )


def main() -> None:
    if sys.argv[1:2] == ["--once"]:
        embed_once(Path(sys.argv[2]))
        return
    sizes = [int(argument) for argument in sys.argv[1:]] or [N_TEXTS, N_KNOWN]
    for n_texts in (10_000, sizes[0] // 10, *sizes):
        lifetime(n_texts)


if __name__ == "__main__":
    main()
