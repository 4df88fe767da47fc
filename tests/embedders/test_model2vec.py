"""model2vec folders: the weighted mean of token vectors, by model2vec's own rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders.base import Embedder
from patcache.embedders.installed import package_folder
from patcache.embedders.presets import resolve
from patcache.errors import ModelRefused
from patcache.records import ModelRequest
from tests.embedders.tiny import opened

pytest.importorskip("tokenizers")

WORDS = ("[UNK]", "red", "wheel", "battery")  # the median length of a token is 5
TABLE = np.array([[4, 0], [0, 2], [10, 10]], dtype=np.int8)
MAPPING = np.array([2, 0, 1, 1], dtype=np.int64)
WEIGHTS = np.array([1, 0.5, 2, 1], dtype=np.float32)


def model_folder(folder: Path, config: dict[str, Any] | None = None, **tensors: Any) -> Path:
    numpy_file = pytest.importorskip("safetensors.numpy")
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder.mkdir()
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding()  # as some folders say: to be ignored
    tokenizer.save(str(folder / "tokenizer.json"))
    stored = tensors or {"embeddings": TABLE, "mapping": MAPPING, "weights": WEIGHTS}
    numpy_file.save_file(stored, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config or {"normalize": False}))
    return folder


def rows(embedder: Embedder, *texts: str) -> Any:
    return np.asarray(embedder.encode(texts, "query").vectors).tolist()


def test_a_mean_worked_by_hand(tmp_path: Path) -> None:
    # red: row 0 times 0.5 = (2, 0); wheel: row 1 times 2 = (0, 4); the mean of the two tokens is
    # (1, 2). Weights do not divide, and unknown tokens do not count.
    embedder = opened(model_folder(tmp_path / "m"))
    assert resolve(ModelRequest(str(tmp_path / "m"))).kind == "model2vec"
    assert rows(embedder, "red wheel", "red xyzzy wheel", "xyzzy", "") == [
        [1, 2],
        [1, 2],
        [0, 0],
        [0, 0],
    ]


def test_the_folder_says_whether_vectors_have_length_one(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "m", {"normalize": True})
    assert rows(opened(folder), "red wheel") == [pytest.approx([1 / 5**0.5, 2 / 5**0.5])]
    assert rows(opened(folder, normalize=False), "red wheel") == [[1, 2]]


def test_plain_floats_without_mapping_and_weights(tmp_path: Path) -> None:
    table = np.array([[0, 0], [1, 0], [0, 1], [3, 3]], dtype=np.float16)
    embedder = opened(model_folder(tmp_path / "m", embeddings=table))
    assert rows(embedder, "red red wheel") == [pytest.approx([2 / 3, 1 / 3])]


def test_long_texts_are_cut_by_tokens_and_by_characters_and_counted(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "m", {"max_length": 2})
    embedder = opened(folder)
    # Two tokens, of 2 x 5 characters at most: "red red red" is cut to "red red re" and then to
    # two tokens; "wheel battery" to "wheel batt", whose end is unknown.
    found = embedder.encode(["red red red", "wheel battery", "red red"], "document")
    assert np.asarray(found.vectors).tolist() == [[2, 0], [0, 4], [2, 0]]
    assert found.n_truncated == 2
    assert embedder.spec.identity["max_tokens"] == 2
    assert opened(folder, max_tokens=3).spec.spec_id != embedder.spec.spec_id


def test_the_company_of_a_text_changes_nothing(tmp_path: Path) -> None:
    embedder = opened(model_folder(tmp_path / "m"))
    texts = ["battery wheel red", "red", "wheel wheel battery"]
    assert rows(embedder, *texts) == [rows(embedder, text)[0] for text in texts]


def test_parts_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match="4 tokens, 3 of them with a row"):
        opened(model_folder(tmp_path / "a", embeddings=TABLE, mapping=MAPPING[:3]))
    with pytest.raises(ModelRefused, match="do not belong together"):
        opened(model_folder(tmp_path / "b", embeddings=TABLE))
    folder = model_folder(tmp_path / "c")
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:-4])
    with pytest.raises(ModelRefused, match="cut short"):
        opened(folder)


@pytest.mark.parametrize("normalize", [True, False])
def test_a_real_model_gives_model2vecs_own_vectors(shared: Path, normalize: bool) -> None:
    model2vec = pytest.importorskip("model2vec")
    pq = pytest.importorskip("pyarrow.parquet")
    installed = package_folder("static_model")
    if installed is None:
        pytest.skip("tokenlearn-static-model is not installed")
    folder = installed / "model"
    table = pq.read_table(shared / "data" / "patents_en.parquet", columns=["title", "abstract"])
    texts = [f"{row['title']}. {row['abstract']}" for row in table.to_pylist()[:300]]
    texts += ["", "wheel", "x " * 3000, "装置" * 50]
    theirs = model2vec.StaticModel.from_pretrained(folder).encode(texts, normalize=normalize)
    ours = opened(folder, normalize=normalize).encode(texts, "query").vectors
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6 if normalize else 1e-5)
