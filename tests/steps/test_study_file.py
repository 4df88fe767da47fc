"""A study file is read as it stands, and every mistake in it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from patcache.embedders.flat import variants
from patcache.errors import ModelRefused, StudyInvalid
from patcache.steps.study_file import Study, read_study

WHOLE = """
corpus = "patents.parquet"
store = "mine"

[sample.main]
targets = 30
seed = 7
levels = "1-5"

[sample.sizes]
targets = "all"
candidates = "3..5"

[sample.study]
preset = "study"

[[model]]
name = "tfidf"
tokenizer = "regex"

[[model]]
name = "bge"
pooling = ["mean", "cls"]
max_tokens = 512

[[model]]
name = "minilm"
label = "queries"
prompt_query = "query: "
text = "title"
separator = " - "

[compare]
test = "signed-rank"
correction = "bh"
years = "2010-2012"
sections = ["G", "H"]
"""


def study(tmp_path: Path, text: str) -> Study:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_study(path)


def test_everything_a_file_may_say(tmp_path: Path) -> None:
    found = study(tmp_path, WHOLE)
    assert found.files == (str(tmp_path / "patents.parquet"),)
    assert found.store_path == tmp_path / "mine"
    assert list(found.samples) == ["main", "sizes-m3", "sizes-m4", "sizes-m5", "study"]
    assert found.samples["main"].levels == (1, 2, 3, 4, 5)
    assert (found.samples["main"].targets, found.samples["main"].seed) == (30, 7)
    assert found.samples["sizes-m4"].targets is None
    assert found.samples["sizes-m4"].shape.levels == (1, 2, 3, 6)
    assert found.samples["study"].allow_family
    assert [(model.name, model.label) for model in found.models] == [
        ("tfidf", None),
        ("bge", "bge@mean"),
        ("bge", "bge@cls"),
        ("minilm", "queries"),
    ]
    assert found.models[0].settings == {"segmenter": "regex"}
    assert found.models[2].settings == {"pooling": "cls", "max_tokens": 512}
    assert found.models[3].settings == {
        "prompts": {"query": "query: "},
        "text": {"fields": ["title"], "separator": " - "},
    }
    question = found.question
    assert (question.test, question.correction) == ("signed-rank", "bh")
    assert (question.years, question.sections) == ((2010, 2011, 2012), ("G", "H"))


def test_paths_of_models_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "encoder").mkdir()
    for name in ("mine.py", "graph.onnx"):
        (tmp_path / name).touch()
    names = {
        "./encoder": str(tmp_path / "encoder"),
        "./encoder@cls": f"{tmp_path / 'encoder'}@cls",
        "python:mine.py:Model": f"python:{tmp_path / 'mine.py'}:Model",
        "python:some.module:Model": "python:some.module:Model",
        "owner/name": "owner/name",
        "encoder": "encoder",  # a preset or stored label first; a path has a slash
    }
    corpus = 'corpus = "a.csv"\n'
    tables = "".join(f'[[model]]\nname = "{name}"\n' for name in names)
    assert [model.name for model in study(tmp_path, corpus + tables).models] == [*names.values()]
    settings = '[[model]]\nname = "minilm-onnx"\nmodel = "graph.onnx"\ntokenizer = "encoder"\n'
    assert study(tmp_path, corpus + settings).models[0].settings == {
        "model": str(tmp_path / "graph.onnx"),
        "tokenizer": str(tmp_path / "encoder"),
    }


def test_a_corpus_may_be_a_table(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        '[corpus]\nfiles = ["a.csv", "b.csv"]\nmap = {title = "Titel"}\nencoding = "cp1252"\n',
    )
    assert found.files == (str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    assert found.import_options.mapping == {"title": "Titel"}
    assert found.import_options.encoding == "cp1252"
    assert (found.samples, found.models) == ({}, ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("corpus = ", "cannot read the study"),
        ("[compare]\n", "names no corpus"),
        ("corpus = 3\n", "names no corpus"),
        ('corpus = "a"\nsampel = 1\n', "the study says 'sampel'"),
        ('corpus = "a"\n[sample.main]\ntarget = 3\n', r"\[sample.main\] says 'target'"),
        ('corpus = "a"\n[sample]\ntargets = 3\n', "no table of samples"),
        ('corpus = "a"\n[sample.main]\nlevels = "1-9"\n', r"\[sample.main\]: levels 1, 2"),
        ('corpus = "a"\n[sample.main]\nlevels = ["1"]\n', "levels of"),
        ('corpus = "a"\n[sample.main]\ntargets = 0\n', "0 targets"),
        ('corpus = "a"\n[sample.main]\npreset = "mine"\n', "no preset 'mine'"),
        ('corpus = "a"\n[sample.list]\n', "'list' is no name"),
        ('corpus = "a"\n[[model]]\npooling = "cls"\n', "a model without a name"),
        ('corpus = "a"\n[[model]]\nname = "x"\n[[model]]\nname = "x"\n', "two models are called"),
        ('corpus = "a"\n[compare]\ntest = "t"\n', r"\[compare\]: 't' is none of u, signed-rank"),
        ('corpus = "a"\n[compare]\nalpha = 2.0\n', "alpha 2.0"),
        ('corpus = "a"\n[compare]\nresamples = "many"\n', "n_resamples 'many' is not a whole"),
        ('corpus = "a"\n[compare]\nseed = -1\n', "seed -1 is not a whole number of at least 0"),
        ('corpus = "a"\n[compare]\nmodels = "x"\n', r"\[compare\] says 'models'"),
        ('[corpus]\nfiles = "a"\nencodings = "x"\n', r"\[corpus\] says 'encodings'"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(StudyInvalid, match=message) as caught:
        study(tmp_path, text)
    assert caught.value.exit_code == 2


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyInvalid, match="none.toml"):
        read_study(tmp_path / "none.toml")


def test_settings_that_are_lists_make_a_model_of_each_combination() -> None:
    found = variants("bge", None, {"pooling": ["mean", "cls"], "dims": [768, 256], "max_tokens": 9})
    assert [request.label for request in found] == [
        "bge@mean@768d",
        "bge@mean@256d",
        "bge@cls@768d",
        "bge@cls@256d",
    ]
    assert found[3].settings == {"pooling": "cls", "truncate_dim": 256, "max_tokens": 9}
    (prompted,) = variants("bge", "mine", {"prompt": "query"})
    assert (prompted.label, prompted.settings) == ("mine", {"prompts": "query"})
    with pytest.raises(ModelRefused, match="in two ways"):
        variants("bge", None, {"prompt": "none", "prompt_query": "q: "})
