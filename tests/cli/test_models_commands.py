"""embed, score, add, models and rm as people type them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from patcache.cli import cli
from patcache.cli.embed import embed_lines
from patcache.errors import NotThere
from patcache.records import ModelRequest, Runtime
from patcache.steps.embedding import EmbedReport, embed
from patcache.steps.removing import sample_contents
from patcache.store import StoreFolder
from tests.steps.study_by_hand import LetterEmbedder, random_study


def patcache(store: StoreFolder, *arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--store", str(store.path)], **options)


def models(store: StoreFolder) -> list[dict[str, str]]:
    result = patcache(store, "models", "--format", "csv")
    return list(csv.DictReader(result.stdout.splitlines()))


def test_add_embeds_and_scores_and_a_second_time_does_nothing(store: StoreFolder) -> None:
    random_study(store)
    first = patcache(store, "add", "random", "tfidf", "--set", "segmenter=regex")
    assert first.exit_code == 1  # a random model has no segmenter
    assert "no setting 'segmenter'" in first.stderr
    first = patcache(store, "add", "tfidf", "--tokenizer", "regex")
    assert first.exit_code == 0, first.output
    assert first.stdout == ""
    assert "tfidf  119 texts encoded" in first.stderr
    assert "main · tfidf: 80 tuples scored · 0 undefined" in first.stderr
    assert "next: patcache leaderboard" in first.stderr
    second = patcache(store, "add", "tfidf")
    assert second.exit_code == 0
    assert "tfidf  up to date · 119 vectors" in second.stderr
    assert "scores are up to date (1 pair of sample and model)" in second.stderr


def test_models_lists_what_is_stored_and_what_could_be(store: StoreFolder) -> None:
    random_study(store)
    embed(store, ModelRequest("letters"), embedder=LetterEmbedder())
    patcache(store, "add", "random", "--label", "chance", "--storage", "float16")
    rows = models(store)
    letters, chance = rows[:2]
    assert (letters["label"], letters["n_texts"], letters["dim"]) == ("letters", "119", "26")
    assert int(letters["size_bytes"]) == 119 * (26 * 4 + 16) + 2 * 128
    assert float(letters["truncated"]) > 0
    assert (letters["device"], letters["scored"]) == ("cpu", "")
    assert (chance["label"], chance["kind"], chance["scored"]) == ("chance", "random", "main")
    assert int(chance["size_bytes"]) == 119 * (256 * 2 + 16) + 2 * 128
    presets = {row["label"]: row for row in rows[2:]}
    assert presets["tfidf"]["spec_id"] == ""
    assert {"random", "word2vec", "minilm", "bge@cls"} <= set(presets)
    stored = patcache(store, "models", "--stored", "--format", "json")
    assert [row["label"] for row in json.loads(stored.stdout)] == ["letters", "chance"]


def test_a_damaged_model_is_listed_as_such(store: StoreFolder) -> None:
    random_study(store)
    report = embed(store, ModelRequest("letters"), embedder=LetterEmbedder())
    (store.vectors_path / report.spec_id / "keys.npy").unlink()
    assert "keys.npy is not what its journal says" in models(store)[0]["note"]


def test_rm_shows_what_goes_and_asks(store: StoreFolder) -> None:
    random_study(store)
    patcache(store, "add", "random")
    spec_id = models(store)[0]["spec_id"]
    asked = patcache(store, "rm", "spec", "random", input="n\n")
    assert asked.exit_code == 1
    assert f"vectors/{spec_id} and 80 distances in 1 sample go" in asked.stderr
    assert models(store)[0]["label"] == "random"
    assert patcache(store, "rm", "spec", "random", "--yes").exit_code == 0
    assert "random" not in {row["label"] for row in models(store) if row["spec_id"]}
    assert list(store.vectors_path.iterdir()) == []
    with store.read() as cursor:
        for table in ("specs", "requests", "sources", "encodings", "distances", "counts"):
            assert cursor.execute(f"SELECT count(*) FROM data.{table}").fetchone() == (0,)
    again = patcache(store, "add", "random")
    assert "119 texts encoded" in again.stderr


def test_a_model_goes_although_an_earlier_removal_was_killed(store: StoreFolder) -> None:
    random_study(store)
    patcache(store, "add", "random")
    (folder,) = store.vectors_path.iterdir()
    left = folder.with_name(f"{folder.name}.removed")
    left.mkdir()
    (left / "vectors.npy").write_bytes(b"half gone")
    assert patcache(store, "rm", "spec", "random", "--yes").exit_code == 0
    assert list(store.vectors_path.iterdir()) == []


def test_rm_sample_keeps_the_vectors(store: StoreFolder) -> None:
    random_study(store)
    patcache(store, "add", "random")
    gone = patcache(store, "rm", "sample", "main", "--yes")
    assert "80 tuples and 80 distances of 1 model go; vectors stay" in gone.stderr
    assert models(store)[0]["n_texts"] == "119"
    with pytest.raises(NotThere):
        sample_contents(store, "main")


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (["add", "nonsense"], 1, "unknown model 'nonsense'"),
        (["score", "nothing"], 3, "no model 'nothing'"),
        (["score", "--tie-tolerance", "nan"], 2, "'nan' is not a finite number"),
        (["embed", "random", "--sample", "none"], 3, "no sample 'none'"),
        (["rm", "spec", "nothing", "--yes"], 3, "no model 'nothing'"),
        (["rm", "sample", "nothing", "--yes"], 3, "no sample 'nothing'"),
        (["embed", "random", "tfidf", "--label", "x"], 2, "--label names one model"),
        (["embed", "random", "--set", "seed"], 2, "'seed' is not NAME=VALUE"),
        (["embed", "random", "--refit"], 1, "random cannot be fitted"),
    ],
)
def test_refusals_have_their_exit_code(
    store: StoreFolder, arguments: list[str], exit_code: int, message: str
) -> None:
    random_study(store)
    result = patcache(store, *arguments)
    assert result.exit_code == exit_code
    assert message in " ".join(result.stderr.split())


def test_score_without_models_says_what_could_be_added(store: StoreFolder) -> None:
    random_study(store)
    result = patcache(store, "score")
    assert result.exit_code == 3
    assert "run `patcache add tfidf`" in result.stderr


def test_options_reach_the_request(store: StoreFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    from patcache.steps import embedding

    seen: dict[str, Any] = {}

    def fake(_store: StoreFolder, request: ModelRequest, **options: Any) -> EmbedReport:
        seen.update(options, request=request)
        return EmbedReport("m", "m", "id", 3, 0)

    monkeypatch.setattr(embedding, "embed", fake)
    result = patcache(
        store,
        *("embed", "minilm", "--label", "mine", "--pooling", "cls", "--max-tokens", "128"),
        *("--arithmetic", "bf16", "--engine", "torch", "--text", "title+claims", "--all"),
        *("--separator", " ", "--prompt-query", "q: ", "--storage", "float16", "--fit-on"),
        *("sample", "--tokenizer", "folder", "--set", "revision=abc", "--device", "cuda:1"),
        *("--allow-cpu", "--threads", "2", "--sample", "a", "--sample", "b", "--refit"),
    )
    assert result.exit_code == 0, result.output
    assert seen["request"] == ModelRequest(
        "minilm",
        "mine",
        {
            "revision": "abc",
            "engine": "torch",
            "pooling": "cls",
            "max_tokens": 128,
            "arithmetic": "bf16",
            "tokenizer": "folder",
            "storage": "float16",
            "fit_on": "sample",
            "text": {"fields": ["title", "claims"], "separator": " "},
            "prompts": {"query": "q: "},
        },
    )
    assert seen["runtime"] == Runtime("cuda:1", True, 2)
    assert (seen["samples"], seen["all_texts"], seen["refit"]) == (("a", "b"), True, True)


def test_a_line_says_what_embedding_came_to() -> None:
    report = EmbedReport(
        *("minilm", "mine", "id", 384, 5142),
        n_texts=5142,
        n_without_text=3,
        n_encoded=1000,
        n_truncated=41,
        elapsed_s=31.0,
        device="cpu",
        max_tokens=256,
    )
    assert list(embed_lines(report, 8)) == [
        "  minilm    1,000 texts encoded · 4,142 there before · 32/s on cpu"
        " · 41 truncated at 256 tokens",
        "    3 patents have no such text: their tuples are undefined",
        "    mine is stored as minilm: the same weights and settings",
    ]


def test_help_of_each_command_names_its_options(tmp_path: Path) -> None:
    for command, option in (("embed", "--fit-on"), ("add", "--pooling"), ("score", "--tie-tol")):
        result = CliRunner().invoke(cli, [command, "--help"])
        assert result.exit_code == 0
        assert option in result.output


def test_one_command_embeds_every_combination_of_settings(store: StoreFolder) -> None:
    random_study(store)
    result = patcache(store, "add", "random", "--text", "title,abstract", "--storage", "float16")
    assert result.exit_code == 0, result.output
    stored = patcache(store, "models", "--stored", "--format", "json")
    rows = json.loads(stored.stdout)
    assert [row["label"] for row in rows] == ["random@title", "random@abstract"]
    assert len({row["spec_id"] for row in rows}) == 2
    twice = patcache(store, "embed", "random", "--text", "title,title")
    assert twice.exit_code == 2
    assert "names one value twice" in twice.stderr
    wrong = patcache(store, "embed", "random", "--pooling", "mean,max")
    assert wrong.exit_code == 2
    assert "'max' is not one of" in wrong.stderr


def test_export_onnx_writes_a_graph_and_says_how_to_go_on(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from tests.embedders.tiny import tiny

    model, out = str(tiny(tmp_path / "bert", "bert")), tmp_path / "graph"
    done = CliRunner().invoke(cli, ["models", "export-onnx", model, str(out)])
    assert done.exit_code == 0, done.output
    assert (out / "model.onnx").is_file()
    assert "fused: 2 Attention, 2 BiasGelu" in done.stderr
    assert "largest difference to torch" in done.stderr
    assert f"next: patcache add {out}\n" in done.stderr
    texts = tmp_path / "texts.txt"
    texts.write_text("a method\n\na seat belt\n")
    eight = [*("models", "export-onnx", model), str(tmp_path / "int8")]
    done = CliRunner().invoke(cli, [*eight, "--int8", "--texts", str(texts)])
    assert done.exit_code == 0, done.output
    assert "cosine to fp32 over 2 texts: min 0.9" in done.stderr
    assert CliRunner().invoke(cli, [*eight, "--texts", str(texts)]).exit_code == 2


def test_what_has_no_graph_to_export_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["models", "export-onnx", "tfidf", str(tmp_path / "graph")])
    assert done.exit_code == 1
    assert "it is a tfidf model" in done.stderr
    assert not (tmp_path / "graph").exists()


def test_presets_are_listed_without_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PATCACHE_STORE", raising=False)
    for arguments in (["models"], ["models", "--presets"]):
        result = CliRunner().invoke(cli, [*arguments, "--format", "csv"])
        assert result.exit_code == 0, result.output
        rows = {row["name"]: row for row in csv.DictReader(result.stdout.splitlines())}
        assert rows["minilm"]["licence"] == "Apache-2.0"
        assert rows["bge"]["pooling"] == "mean"
    assert CliRunner().invoke(cli, ["models", "--stored"]).exit_code == 3
    assert CliRunner().invoke(cli, ["models", "--stored", "--presets"]).exit_code == 2


def test_dimensions_cut_from_another_model_take_no_bytes(store: StoreFolder) -> None:
    random_study(store)
    for dims in (None, 4):
        settings = {} if dims is None else {"truncate_dim": dims}
        letters = LetterEmbedder(truncate_dim=None)
        embed(store, ModelRequest("letters", settings=settings), embedder=letters)
    whole, cut = models(store)[:2]
    assert (cut["label"], cut["dim"], cut["size_bytes"]) == ("letters@4d", "4", "0")
    assert cut["note"] == f"the first 4 dimensions of vectors/{whole['spec_id']}"
