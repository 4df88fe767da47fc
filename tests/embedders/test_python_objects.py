"""Anything that encodes a list of texts can be ranked, and says what it is by a fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from patcache.embedders.python import from_object
from patcache.errors import ModelRefused
from tests.embedders.tiny import opened


class Lengths:
    """A model that you can compute by hand: (characters, words, 1)."""

    device = "abacus"

    def __init__(self) -> None:
        self.calls: list[int] = []

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls.append(len(texts))
        return [[len(text), len(text.split()), 1] for text in texts]


def test_an_object_and_a_function_give_their_rows() -> None:
    for model in (Lengths(), Lengths().encode):
        embedder = from_object(model, "lengths", "v1", normalize=False)
        assert embedder.encode(["a b", "cde"], "query").vectors.tolist() == [[3, 2, 1], [3, 1, 1]]
        assert (embedder.spec.dim, embedder.spec.label) == (3, "lengths")
        assert embedder.device == "abacus"
        assert embedder.encode([], "query").vectors.shape == (0, 3)


def test_settings_apply_after_the_object() -> None:
    embedder = from_object(Lengths(), "lengths", "v1")
    np.testing.assert_allclose(
        np.linalg.norm(embedder.encode(["ab c"], "query").vectors, axis=1), 1, rtol=1e-6
    )


def test_an_object_is_not_asked_for_fewer_dimensions() -> None:
    with pytest.raises(ModelRefused, match=r"store\.embed\(lengths, truncate_dim=2\)"):
        from_object(Lengths(), "lengths", "v1", truncate_dim=2)


def test_the_fingerprint_is_the_identity_and_the_label_is_not() -> None:
    one, renamed = from_object(Lengths(), "a", "v1"), from_object(Lengths(), "b", "v1")
    other = from_object(Lengths(), "a", "v2")
    assert one.spec.spec_id == renamed.spec.spec_id != other.spec.spec_id


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (object(), "has no encode method"),
        (lambda texts: [1.0 for _ in texts], r"array \(1,\)"),
        (lambda texts: np.ones((2, 3)), r"array \(2, 3\) for 1 texts"),
        (lambda texts: ["word"], "cannot encode"),
    ],
)
def test_what_gives_no_rows_is_refused(model: object, message: str) -> None:
    with pytest.raises(ModelRefused, match=message):
        from_object(model, "broken", "v1")


def test_a_changing_dimension_is_refused() -> None:
    embedder = from_object(lambda texts: np.ones((len(texts), len(texts))), "odd", "v1")
    with pytest.raises(ModelRefused, match=r"\(2, 2\) for 2 texts"):
        embedder.encode(["a", "b"], "query")


def test_a_file_names_an_object_and_its_bytes_are_the_fingerprint(tmp_path: Path) -> None:
    source = tmp_path / "mymodel.py"
    body = "import numpy as np\nclass Ones:\n    def encode(self, texts):\n"
    source.write_text(body + "        return np.ones((len(texts), 4))\n")
    embedder = opened(f"python:{source}:Ones", normalize=False)
    assert embedder.encode(["x"], "query").vectors.tolist() == [[1, 1, 1, 1]]
    source.write_text(body + "        return np.ones((len(texts), 4)) * 2\n")
    assert opened(f"python:{source}:Ones", normalize=False).spec.spec_id != embedder.spec.spec_id
    kept = opened(f"python:{source}:Ones", fingerprint="mine-1").spec.identity["fingerprint"]
    assert kept == "mine-1"


def test_two_objects_of_one_file_are_two_models(tmp_path: Path) -> None:
    source = tmp_path / "pair.py"
    source.write_text(
        "import numpy as np\n"
        "def ones(texts): return np.ones((len(texts), 2))\n"
        "def lengths(texts): return np.array([[len(t), 1] for t in texts])\n"
    )
    ones, lengths = (opened(f"python:{source}:{name}") for name in ("ones", "lengths"))
    assert ones.spec.spec_id != lengths.spec.spec_id
    assert opened(f"python:{source}:ones").spec.spec_id == ones.spec.spec_id


def test_a_module_names_an_object_and_an_absent_one_is_refused() -> None:
    embedder = opened("python:tests.embedders.test_python_objects:Lengths", normalize=False)
    assert embedder.encode(["a b"], "query").vectors.tolist() == [[3, 2, 1]]
    with pytest.raises(ModelRefused, match="No module named 'nosuch'"):
        opened("python:nosuch.module:thing")
    with pytest.raises(ModelRefused, match="there is no"):
        opened("python:tests.embedders.test_python_objects:Missing")
