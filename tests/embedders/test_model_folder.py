"""What a folder says is taken from it; what it does not say is never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders.finish import Finish, read_dense, unit_length
from patcache.embedders.model_folder import (
    config_digest,
    position_limit,
    read_facts,
    tokenizer_digest,
    weight_files,
    weights_digest,
)
from patcache.embedders.tensors import read_tensors
from patcache.errors import ModelRefused
from tests.embedders.tiny import add_pooling

ASKED = {"pooling": None, "max_tokens": None, "prompts": {"query": "", "document": ""}}


def facts(folder: Path, **asked: Any) -> Any:
    return read_facts(folder, {**ASKED, **asked}, "mine")


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def write_safetensors(path: Path, tensors: dict[str, tuple[str, list[int], bytes]]) -> None:
    """The format by hand: length, header, bytes."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    content = b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(content), len(content) + len(raw)],
        }
        content += raw
    head = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(head).to_bytes(8, "little") + head + content)


def dense_folder(path: Path, activation: str = "torch.nn.modules.activation.Tanh") -> Path:
    weight = np.array([[1, 2], [0, -1], [3, 0]], dtype="<f4")
    bias = np.array([0.5, 0, -1], dtype="<f4")
    write(path / "config.json", {"in_features": 2, "activation_function": activation})
    write_safetensors(
        path / "model.safetensors",
        {
            "linear.weight": ("F32", [3, 2], weight.tobytes()),
            "linear.bias": ("F32", [3], bias.tobytes()),
        },
    )
    return path


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_the_pooling_is_the_folders_own_unless_another_is_asked_for(
    tmp_path: Path, pooling: str
) -> None:
    write(tmp_path / "config.json", {"max_position_embeddings": 512})
    add_pooling(tmp_path, pooling)
    assert facts(tmp_path).pooling == pooling
    assert facts(tmp_path, pooling="cls").pooling == "cls"


def test_a_folder_that_does_not_say_how_to_pool_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "config.json", {"max_position_embeddings": 512})
    with pytest.raises(ModelRefused, match="no pooling configuration"):
        facts(tmp_path)
    add_pooling(tmp_path, "max")
    with pytest.raises(ModelRefused, match="asks for max"):
        facts(tmp_path)


def test_the_newer_spelling_of_a_pooling_is_understood(tmp_path: Path) -> None:
    write(tmp_path / "config.json", {"max_position_embeddings": 512})
    write(tmp_path / "1_Pooling" / "config.json", {"pooling_mode": "lasttoken"})
    assert facts(tmp_path).pooling == "last"


def test_dense_heads_go_with_the_makers_pooling_only(tmp_path: Path) -> None:
    write(tmp_path / "config.json", {"max_position_embeddings": 512})
    dense_folder(tmp_path / "2_Dense")
    add_pooling(tmp_path, "mean", dense=["2_Dense"])
    assert facts(tmp_path).output_dim(2) == 3
    assert facts(tmp_path, pooling="mean").output_dim(2) == 3
    assert facts(tmp_path, pooling="cls").output_dim(2) == 2


def test_a_dense_head_worked_by_hand(tmp_path: Path) -> None:
    # (1, 1): (1 + 2 + 0.5, -1 + 0, 3 - 1) = (3.5, -1, 2), then tanh.
    head = read_dense(dense_folder(tmp_path))
    found = Finish([head], normalize=False)(np.ones((1, 2), dtype=np.float32))
    np.testing.assert_allclose(found, np.tanh([[3.5, -1, 2]]), rtol=1e-6)


def test_an_unknown_activation_and_pickled_heads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match="SiLU"):
        read_dense(dense_folder(tmp_path / "a", "torch.nn.modules.activation.SiLU"))
    pickled = dense_folder(tmp_path / "b")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(ModelRefused, match="pickled"):
        read_dense(pickled)


def test_half_precision_tensors_are_read_as_float32(tmp_path: Path) -> None:
    # bfloat16 is the upper half of a float32: 1.5 is 0x3FC0.
    write_safetensors(
        tmp_path / "t.safetensors",
        {
            "half": ("F16", [2], np.array([1.5, -2], dtype="<f2").tobytes()),
            "brain": ("BF16", [1, 1], (0x3FC0).to_bytes(2, "little")),
        },
    )
    found = read_tensors(tmp_path / "t.safetensors")
    assert found["half"].tolist() == [1.5, -2.0]
    assert found["brain"].tolist() == [[1.5]]


def test_vectors_are_brought_to_length_one_and_zero_and_nan_stay() -> None:
    pooled = np.array([[3, 4], [0, 0]], dtype=np.float32)
    found: Any = Finish((), normalize=True)(pooled)
    np.testing.assert_allclose(found, np.array([[0.6, 0.8], [0.0, 0.0]]), rtol=1e-6)
    assert np.isnan(unit_length(np.array([[np.nan, 1]], dtype=np.float32))).all()


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"config.json": {"max_position_embeddings": 512}}, 512),
        ({"config.json": {"n_positions": 1024}}, 1024),
        (
            {
                "config.json": {"max_position_embeddings": 512},
                "sentence_bert_config.json": {"max_seq_length": 256},
            },
            256,
        ),
        (
            {
                "config.json": {"max_position_embeddings": 4096},
                "tokenizer_config.json": {"model_max_length": 1e30},
            },
            4096,
        ),
        (
            {
                "config.json": {"max_position_embeddings": 4096},
                "tokenizer_config.json": {"model_max_length": 300},
            },
            300,
        ),
        # RoBERTa counts positions from padding_idx + 1 = 2.
        (
            {
                "config.json": {
                    "model_type": "roberta",
                    "pad_token_id": 1,
                    "max_position_embeddings": 514,
                }
            },
            512,
        ),
    ],
)
def test_the_longest_text_comes_from_the_folder(
    tmp_path: Path, files: dict[str, Any], limit: int
) -> None:
    for name, content in files.items():
        write(tmp_path / name, content)
    assert facts(tmp_path, pooling="mean").max_tokens == limit


def test_a_length_beyond_the_positions_or_unknown_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "config.json", {"max_position_embeddings": 512})
    with pytest.raises(ModelRefused, match="cannot read 513 tokens"):
        facts(tmp_path, pooling="mean", max_tokens=513)
    write(tmp_path / "config.json", {"model_type": "t5"})
    write(tmp_path / "tokenizer_config.json", {"model_max_length": 1e30})
    with pytest.raises(ModelRefused, match="does not say how many tokens"):
        facts(tmp_path, pooling="mean")
    assert facts(tmp_path, pooling="mean", max_tokens=99).max_tokens == 99
    assert position_limit({"model_type": "t5"}) is None


def test_prompts_are_the_folders_own_only_when_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "config.json", {"max_position_embeddings": 512})
    own = {"prompts": {"query": "query: ", "passage": "passage: "}}
    write(tmp_path / "config_sentence_transformers.json", own)
    assert facts(tmp_path, pooling="mean").prompts == {"query": "", "document": ""}
    asked = facts(tmp_path, pooling="mean", prompts="model").prompts
    assert asked == {"query": "query: ", "document": "passage: "}
    for_both = facts(tmp_path, pooling="mean", prompts="query").prompts
    assert for_both == {"query": "query: ", "document": "query: "}
    write(tmp_path / "config_sentence_transformers.json", {"prompts": {"sts": "x"}})
    with pytest.raises(ModelRefused, match="states no prompts"):
        facts(tmp_path, pooling="mean", prompts="model")


def test_weights_are_known_by_their_bytes_not_by_their_names(tmp_path: Path) -> None:
    for folder, name in (("a", "model.safetensors"), ("b", "model-00001-of-00001.safetensors")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(b"weights")
    index = {"weight_map": {"x": "model-00001-of-00001.safetensors"}}
    write(tmp_path / "b" / "model.safetensors.index.json", index)
    found = {weights_digest(weight_files(tmp_path / folder, "m")) for folder in ("a", "b")}
    assert len(found) == 1


def test_pickled_absent_and_incomplete_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match=r"holds no model\.safetensors"):
        weight_files(tmp_path, "mine")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ModelRefused, match="pickled weights only"):
        weight_files(tmp_path, "mine")
    write(tmp_path / "model.safetensors.index.json", {"weight_map": {"x": "one.safetensors"}})
    with pytest.raises(ModelRefused, match=r"lacks one\.safetensors"):
        weight_files(tmp_path, "mine")


def test_digests_ignore_what_does_not_compute(tmp_path: Path) -> None:
    config = {"hidden_size": 8, "hidden_act": "gelu"}
    assert config_digest(config) == config_digest({**config, "transformers_version": "9"})
    assert config_digest(config) != config_digest({**config, "hidden_act": "relu"})
    write(tmp_path / "tokenizer.json", {"model": {"a": 1}, "truncation": {"max_length": 128}})
    one = tokenizer_digest(tmp_path, [1, 2])
    write(tmp_path / "tokenizer.json", {"truncation": None, "model": {"a": 1}})
    assert tokenizer_digest(tmp_path, [1, 2]) == one
    assert tokenizer_digest(tmp_path, [1, 3]) != one
