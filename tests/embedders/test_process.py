"""A model in a process of its own gives what it gives here, and its end is never silent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders.base import Context, Resolved, load
from patcache.embedders.presets import resolve
from patcache.embedders.process import EncoderProcess, SeveralDevices, devices_of
from patcache.errors import ModelRefused
from patcache.records import ModelRequest, Runtime

TEXTS = ["A valve.", "A method of \N{SNOWMAN} [b]", "", "line\nbreak"]
OBJECT = """
import os, sys
import numpy as np

print("a library that prints")

class Counting:
    def encode(self, texts):
        if any("die" in text for text in texts):
            os._exit(7)
        if any("wrong" in text for text in texts):
            raise ValueError("wrong text")
        return np.array([[len(text), text.count("e") + 1] for text in texts], dtype=np.float32)

class Missing:
    def __init__(self):
        raise RuntimeError("no such weights")
"""


@pytest.fixture
def named(tmp_path: Path) -> Callable[[str], Resolved]:
    path = tmp_path / "objects.py"
    path.write_text(OBJECT)
    return lambda name: resolve(ModelRequest(f"python:{path}:{name}"))


def test_it_gives_the_vectors_and_the_spec_of_the_model_here(named: Any) -> None:
    here = load(named("Counting"), Context())
    with EncoderProcess(named("Counting"), Context()) as there:
        assert there.spec == here.spec
        assert (there.device, there.provenance) == (here.device, here.provenance)
        expected: Any = here.encode(TEXTS, "query").vectors
        found: Any = there.encode(TEXTS, "query").vectors
    np.testing.assert_array_equal(found, expected)


def test_answers_come_to_who_asked(named: Any) -> None:
    with EncoderProcess(named("Counting"), Context()) as there, ThreadPoolExecutor(8) as pool:
        texts = ["x" * n for n in range(1, 60)]
        found = list(pool.map(lambda text: there.encode([text], "query").vectors, texts))
    lengths = [row[0, 0] / row[0, 1] for row in found]  # brought to length 1: n to 1
    np.testing.assert_allclose(lengths, range(1, 60), rtol=1e-5)


def test_an_error_of_loading_or_encoding_is_raised_here(named: Any) -> None:
    with pytest.raises(ModelRefused, match="RuntimeError: no such weights"):
        EncoderProcess(named("Missing"), Context())
    with pytest.raises(ModelRefused, match="there is no .*Nothing"):
        EncoderProcess(named("Nothing"), Context())
    with EncoderProcess(named("Counting"), Context()) as there:
        with pytest.raises(ModelRefused, match="cannot encode a list of texts"):
            there.encode(["wrong"], "query")
        assert there.encode(["right"], "query").vectors.shape == (1, 2)  # and it goes on


def test_a_process_that_dies_says_so_to_everybody_who_waits(named: Any) -> None:
    with EncoderProcess(named("Counting"), Context()) as there, ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(there.encode, ["die"], "query") for _ in range(4)]
        for answer in asked:
            with pytest.raises(ModelRefused, match="Counting is gone") as caught:
                answer.result()
            assert "status 7" in caught.value.why


def test_sparse_vectors_come_through(tmp_path: Path) -> None:
    from tests.embedders.tiny import Texts

    resolved = resolve(ModelRequest("tfidf", settings={"segmenter": "regex"}))
    texts = ["a valve and a seat", "a seat", "the valve"]
    here: Any = load(resolved, Context(fit=Texts(texts)))
    here.save_fit(tmp_path)
    context = Context(fit_path=tmp_path)
    with EncoderProcess(resolved, context) as there:
        found: Any = there.encode(texts, "document").vectors
    np.testing.assert_array_equal(found.toarray(), here.encode(texts, "document").vectors.toarray())


def test_several_devices_share_the_blocks(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.embedders.tiny import tiny_bert

    resolved = resolve(ModelRequest(str(tiny_bert(tmp_path)), settings={"pooling": "mean"}))
    texts = [f"a text of number {n}" for n in range(40)]
    here: Any = load(resolved, Context()).encode(texts, "document").vectors
    several = SeveralDevices(resolved, Context(), ["cpu", "cpu"])
    try:
        with ThreadPoolExecutor(several.n_parallel) as pool:
            parts = [texts[i : i + 10] for i in range(0, 40, 10)]
            found = list(pool.map(lambda part: several.encode(part, "document").vectors, parts))
        assert (several.device, several.provenance["processes"]) == ("cpu,cpu", 2)
    finally:
        several.close()
    np.testing.assert_allclose(np.concatenate(found), here, atol=1e-5)  # type: ignore[arg-type]


def test_only_networks_run_on_several_devices(named: Any) -> None:
    with pytest.raises(ModelRefused, match="cannot run on 2 devices"):
        SeveralDevices(named("Counting"), Context(), ["cpu", "cpu"])


def test_devices_are_named_or_counted() -> None:
    assert devices_of(Runtime()) == ["auto"]
    assert devices_of(Runtime("cuda:0, cuda:1")) == ["cuda:0", "cuda:1"]
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        with pytest.raises(ModelRefused, match="asked for cuda:all"):
            devices_of(Runtime("cuda:all"))
        assert devices_of(Runtime("cuda:all", allow_cpu=True)) == ["cpu"]


def test_the_parent_loads_none_of_what_the_child_does(named: Any) -> None:
    resolved = named("Counting")
    request = {"kind": resolved.kind, "label": "counting", "settings": resolved.settings}
    program = f"""
import json, sys
from patcache.embedders.base import Context, Resolved
from patcache.embedders.process import EncoderProcess
resolved = Resolved(**{request})
with EncoderProcess(resolved, Context()) as there:
    there.encode(["a"], "query")
print(json.dumps("objects" in sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) is False
    assert "a library that prints" in done.stderr
