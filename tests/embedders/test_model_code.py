"""Code of a model's own: refused unless asked for, and then part of the spec."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from patcache.errors import ModelRefused
from tests.embedders.tiny import SENTENCES, add_pooling, copied, opened, save_tokenizer, tiny

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

CODE = """
import torch
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput


class TableConfig(PretrainedConfig):
    model_type = "patcache_test_table"

    def __init__(self, vocab_size=14, hidden_size=4, **rest):
        super().__init__(**rest)
        self.vocab_size, self.hidden_size = vocab_size, hidden_size


class TableModel(PreTrainedModel):
    config_class = TableConfig

    def __init__(self, config):
        super().__init__(config)
        self.table = torch.nn.Embedding(config.vocab_size, config.hidden_size)
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, **rest):
        return BaseModelOutput(last_hidden_state=FACTOR * self.table(input_ids))


FACTOR = 1.0
"""
AUTO_MAP = {"AutoConfig": "table.TableConfig", "AutoModel": "table.TableModel"}


@pytest.fixture(autouse=True)
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers copies a model's code before it runs it: not into the user's cache."""
    from transformers import dynamic_module_utils

    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))


def coded(folder: Path, code: str = CODE, auto_map: dict[str, str] = AUTO_MAP) -> Path:
    """A model whose network is a table of vectors, in code of its own."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True)
    config = {"model_type": "patcache_test_table", "auto_map": auto_map, "vocab_size": 14}
    (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 4}))
    (folder / "table.py").write_text(code)
    table = np.arange(56, dtype=np.float32).reshape(14, 4)
    save_file({"table.weight": table}, folder / "model.safetensors", metadata={"format": "pt"})
    save_tokenizer(folder, special=False, limit=16)
    add_pooling(folder, "mean")
    return folder


def test_code_runs_only_when_asked_for(tmp_path: Path) -> None:
    folder = coded(tmp_path / "coded")
    with pytest.raises(ModelRefused, match="needs code of its own") as refusal:
        opened(folder)
    assert "names table.TableModel" in refusal.value.why
    assert "--set trust_remote_code=true" in refusal.value.todo
    embedder = opened(folder, trust_remote_code="true", normalize=False)
    found = embedder.encode(["a method", "belt"], "query").vectors
    # Words are numbered from 4: a is 4, method 5, belt 13; their rows are 16.., 20.. and 52...
    assert found.tolist() == [[18, 19, 20, 21], [52, 53, 54, 55]]


def test_code_that_runs_is_part_of_the_spec(tmp_path: Path) -> None:
    folder = coded(tmp_path / "first")
    first = opened(folder, trust_remote_code=True).spec
    assert first.identity["trust_remote_code"] is True
    assert opened(copied(folder, tmp_path / "copy"), trust_remote_code=True).spec == (
        type(first)("copy", first.identity, first.dim)
    )
    other = coded(tmp_path / "other", CODE.replace("FACTOR = 1.0", "FACTOR = -1.0"))
    changed = opened(other, trust_remote_code=True)
    assert changed.spec.identity["code"] != first.identity["code"]
    assert changed.encode(["belt"], "query").vectors[0, 0] < 0  # its own code ran


def test_a_model_of_a_known_family_has_no_code_in_its_spec(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "bert", "bert")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "modeling.Bert"}
    (folder / "config.json").write_text(json.dumps(config))
    embedder = opened(folder)  # transformers knows BERT: the code is not needed
    assert {"trust_remote_code", "code"} & set(embedder.spec.identity) == set()
    assert embedder.encode(SENTENCES, "query").vectors.shape == (5, 8)


def test_code_of_another_repository_is_refused(tmp_path: Path) -> None:
    elsewhere = {"AutoModel": "somebody/else--table.TableModel"}
    folder = coded(tmp_path / "coded", auto_map=elsewhere)
    with pytest.raises(ModelRefused, match="lies in another repository"):
        opened(folder, trust_remote_code=True)
