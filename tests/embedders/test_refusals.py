"""What cannot be a model is refused in words, whatever is wrong with it: never by a traceback."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from patcache.cli import cli
from patcache.embedders.base import Context
from patcache.embedders.export import export_onnx, replaced_folder
from patcache.embedders.presets import resolve
from patcache.embedders.tensors import open_tensors
from patcache.errors import ModelRefused, WriteFailed
from patcache.records import ModelRequest
from tests.embedders.tiny import copied, opened, save_tokenizer, tiny_bert, tiny_cross_encoder

WORDS = b"red 1 0\nwheel 0 3\n"
MARK = b"\xef\xbb\xbf"


def word_file(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def encoded(name: str | Path, *texts: str, **settings: Any) -> list[Any]:
    vectors: Any = opened(name, Context(), **settings).encode(texts, "query").vectors
    return list(np.asarray(vectors).tolist())


@pytest.mark.parametrize("content", [MARK + WORDS, MARK + b"2 2\n" + WORDS])
def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path: Path, content: bytes) -> None:
    path = word_file(tmp_path, "w.txt", content)
    assert encoded(path, "red", "wheel", segmenter="regex") == [[1, 0], [0, 3]]


def test_a_byte_order_mark_is_no_part_of_an_id_or_name(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([[1, 2], [3, 4]], dtype=np.float32))
    names = word_file(tmp_path, "v.txt", MARK + b"red\nwheel\n")
    assert encoded(tmp_path / "v.npy", "red", segmenter="regex") == [[1, 2]]
    assert encoded(f"vectors:{tmp_path / 'v.npy'}", "wheel", "red", ids=str(names)) == [
        [3, 4],
        [1, 2],
    ]


def packed(content: bytes) -> bytes:
    """A gzip file whose middle was overwritten."""
    whole = bytearray(gzip.compress(content * 500, mtime=0))
    whole[len(whole) // 2 :] = b"\xff" * (len(whole) - len(whole) // 2)
    return bytes(whole)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("w.txt", b"1" * 20 + b" " + b"9" * 20 + b"\n" + WORDS, "line 2 of .* is torn"),
        ("w.txt", b"1" * 5000 + b" 2\n" + WORDS, "line 2 of .* is torn"),
        ("w.txt.gz", packed(WORDS), "is cut short|is torn|is no vector"),
        ("w.bin", b"2 0\na b ", "is no word2vec binary"),
        ("w.bin", b"1 100000000000\na \0\0\0\0", "is no word2vec binary"),
        ("w.bin", b"1 2\nal\npha " + bytes(8), "word 1 of .* holds an end of line"),
    ],
)
def test_word_files_that_cannot_be_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = word_file(tmp_path, name, content)
    with pytest.raises(ModelRefused, match=message):
        opened(path, segmenter="regex")


def test_names_of_words_that_would_not_be_read_are_refused(tmp_path: Path) -> None:
    path = word_file(tmp_path, "w.txt", WORDS)
    names = word_file(tmp_path, "n.txt", b"a\nb\n")
    with pytest.raises(ModelRefused, match="names its words itself"):
        opened(path, segmenter="regex", words=str(names))


@pytest.mark.parametrize("shape", [(0, 2), (2, 0)])
def test_arrays_that_hold_nothing_are_refused(tmp_path: Path, shape: tuple[int, int]) -> None:
    np.save(tmp_path / "v.npy", np.ones(shape, dtype=np.float32))
    word_file(tmp_path, "v.txt", b"red\nwheel\n"[: 10 * bool(shape[0])])
    with pytest.raises(ModelRefused, match=r"no array that can be read|holds no vectors"):
        opened(tmp_path / "v.npy", segmenter="regex")


def test_several_arrays_under_the_name_of_one_are_refused(tmp_path: Path) -> None:
    with (tmp_path / "v.npy").open("wb") as stream:
        np.savez(stream, a=np.ones((2, 2), dtype=np.float32))
    np.save(tmp_path / "good.npy", np.ones((2, 2), dtype=np.float32))
    word_file(tmp_path, "v.txt", b"red\nwheel\n")
    with pytest.raises(ModelRefused, match="several arrays"):
        opened(tmp_path / "v.npy", segmenter="regex")
    with pytest.raises(ModelRefused, match="holds no ids"):
        opened(f"vectors:{tmp_path / 'good.npy'}", ids=str(tmp_path / "v.npy"))


def test_words_of_parquet_that_are_none_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.ones((2, 2), dtype=np.float32))
    pq.write_table(pa.table({"word": ["red", None]}), tmp_path / "null.parquet")
    word_file(tmp_path, "torn.parquet", b"PAR1 torn")
    for name, message in (
        ("null", "row 2 of null.parquet has no name"),
        ("torn", "no Parquet file"),
    ):
        with pytest.raises(ModelRefused, match=message):
            opened(tmp_path / "v.npy", segmenter="regex", words=str(tmp_path / f"{name}.parquet"))


@pytest.mark.parametrize("name", ["glove", "vectors:"])
def test_a_folder_is_no_file_of_vectors(tmp_path: Path, name: str) -> None:
    request: dict[str, Any] = {"model": str(tmp_path)} if name == "glove" else {}
    with pytest.raises(ModelRefused, match=r"it is a folder|there is no"):
        opened(name if request else f"{name}{tmp_path}", None, **request)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ids.csv", b"x,id\n1\n2\n", "line 2 of ids.csv has no id"),
        ("ids.csv", b"id\n\xe9\n", "UnicodeDecodeError"),
        ("ids.csv", b"id\n" + b"x" * 200_000, "field larger than field limit"),
        ("ids.npy", b"no array", "holds no ids that can be read"),
    ],
)
def test_ids_that_cannot_be_read_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    np.save(tmp_path / "v.npy", np.ones((2, 2), dtype=np.float32))
    ids = word_file(tmp_path, name, content)
    with pytest.raises(ModelRefused, match=message):
        opened(f"vectors:{tmp_path / 'v.npy'}", ids=str(ids))


def parquet(path: Path, ids: list[Any], vectors: list[Any]) -> str:
    columns = {"id": ids, "v": pa.array(vectors, pa.list_(pa.float32()))}
    pq.write_table(pa.table(columns), path, compression="snappy")
    return f"vectors:{path}"


def test_parquet_rows_without_id_or_vector_are_refused_by_number(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    with pytest.raises(ModelRefused, match="id in row 2 cannot be None"):
        opened(parquet(path, ["a", None], [[1.0, 2.0]] * 2))
    with pytest.raises(ModelRefused, match="row 1 of p.parquet has 0 numbers"):
        opened(parquet(path, ["a", "b"], [None, [1.0, 2.0]]))


def test_a_parquet_file_with_damaged_pages_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    name = parquet(path, [str(i) for i in range(500)], [[float(i), 2.0] for i in range(500)])
    whole = bytearray(path.read_bytes())
    whole[20:2000] = b"\xa5" * 1980
    path.write_bytes(bytes(whole))
    with pytest.raises(ModelRefused, match="no Parquet file"):
        opened(name)


@pytest.mark.parametrize("setting", ["ids", "tensor"])
def test_a_setting_that_says_nothing_about_a_file_is_refused(tmp_path: Path, setting: str) -> None:
    # It would change the identity of vectors that it does not change.
    name = parquet(tmp_path / "p.parquet", ["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
    ids = word_file(tmp_path, "ids.txt", b"a\nb\n")
    with pytest.raises(ModelRefused, match=f"the setting {setting} says nothing about p.parquet"):
        asked: dict[str, Any] = {setting: str(ids)}
        opened(name, None, **asked)


def test_numbers_beyond_float32_are_refused_not_made_infinite(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([[1e300, 1.0]]))
    ids = word_file(tmp_path, "ids.txt", b"a\n")
    embedder = opened(f"vectors:{tmp_path / 'v.npy'}", ids=str(ids))
    with pytest.raises(ModelRefused, match="float32 cannot hold"):
        embedder.encode(["a"], "query")


@pytest.mark.parametrize(
    "header",
    [
        [1],
        {"v": {}},
        {"v": "x"},
        {"v": {"dtype": "F32", "shape": [1, 4], "data_offsets": [-4000, 1]}},
        {"v": {"dtype": "F32", "shape": [-1, 4], "data_offsets": [0, 1]}},
        {"v": {"dtype": "F32", "shape": None, "data_offsets": [0, 1]}},
    ],
)
def test_headers_of_tensors_that_cannot_be_are_value_errors(tmp_path: Path, header: Any) -> None:
    content = json.dumps(header).encode()
    path = word_file(tmp_path, "t.safetensors", len(content).to_bytes(8, "little") + content)
    with pytest.raises(ValueError, match=r"t\.safetensors"):
        open_tensors(path)


@pytest.mark.parametrize("name", ["", "x" * 5000, "./" + "y" * 300, "~no-such-user/model"])
def test_names_that_can_be_no_path_are_unknown_models(name: str) -> None:
    with pytest.raises(ModelRefused, match="unknown model"):
        resolve(ModelRequest(name))


@pytest.mark.parametrize(
    "settings",
    [
        {"text": {"fields": ["title"], "separator": "\udcff"}},
        {"prompts": {"query": "\udcff"}},
    ],
)
def test_texts_that_are_not_unicode_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ModelRefused, match="give it as UTF-8"):
        resolve(ModelRequest("use", settings=settings))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def (", "cannot be imported\nSyntaxError.*\nit was raised at .*theirs.py, line 1"),
        ("raise SystemExit(3)", "cannot be imported\nSystemExit: 3"),
        ("class m:\n    def __init__(self, size): pass", "cannot be made without arguments"),
        ("def m(t):\n    raise RuntimeError('no')", "RuntimeError: no\nit was .*theirs.py, line 2"),
        ("def m(t):\n    return [[1e300]] * len(t)", "FloatingPointError"),
    ],
)
def test_faults_of_other_peoples_code_are_named_with_their_place(
    tmp_path: Path, source: str, message: str
) -> None:
    path = word_file(tmp_path, "theirs.py", source.encode())
    with pytest.raises(ModelRefused, match=message):
        opened(f"python:{path}:m")


def test_overflow_inside_other_peoples_code_is_theirs(tmp_path: Path) -> None:
    source = (
        b"import numpy as np, warnings\nwarnings.simplefilter('ignore')\n"
        b"def m(t):\n    return np.ones((len(t), 2)) / (1 + np.exp(np.float32(1000)))\n"
    )
    path = word_file(tmp_path, "theirs2.py", source)
    assert encoded(f"python:{path}:m", "a", normalize=False) == [[0, 0]]


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_cross_encoder(tmp_path_factory.mktemp("scorer"))


def damaged(folder: Path, target: Path, name: str, content: bytes) -> Path:
    copied(folder, target)
    (target / name).write_bytes(content)
    return target


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.safetensors", b"garbage" * 10, "cannot be loaded from"),
        ("config.json", b"{no", r"config\.json is damaged\nJSONDecodeError"),
        ("config.json", b"[]", r"config\.json is damaged\nit holds no JSON object"),
        ("config.json", b"\xff", r"config\.json is damaged\nUnicodeDecodeError"),
        ("config.json", b'{"max_position_embeddings": "x"}', "its number of positions is 'x'"),
        ("sentence_bert_config.json", b'{"max_seq_length": "x"}', "its max_seq_length is 'x'"),
        ("tokenizer_config.json", b'{"model_max_length": "x"}', "its model_max_length is 'x'"),
    ],
)
def test_damaged_cross_encoders_are_refused(
    scorer: Path, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    folder = damaged(scorer, tmp_path / "scorer", name, content)
    with pytest.raises(ModelRefused, match=message):
        opened("ms-marco-minilm", model=str(folder))


def test_weights_of_another_shape_are_refused(scorer: Path, tmp_path: Path) -> None:
    config = json.loads((scorer / "config.json").read_text())
    content = json.dumps({**config, "vocab_size": 5}).encode()
    folder = damaged(scorer, tmp_path / "scorer", "config.json", content)
    with pytest.raises(ModelRefused, match="cannot be loaded from"):
        opened("ms-marco-minilm", model=str(folder))


@pytest.mark.parametrize("max_tokens", [1, 2, 3])
def test_a_pair_is_never_left_whole_because_nothing_fits(scorer: Path, max_tokens: int) -> None:
    # [CLS] and two [SEP] stand around the texts: tokenizers cut nothing below that many.
    with pytest.raises(ModelRefused, match=f"cannot cut a pair to {max_tokens} tokens\\n3 of them"):
        opened("ms-marco-minilm", model=str(scorer), max_tokens=max_tokens)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("modules.json", b'[{"x": 1}]', "no list of modules"),
        ("modules.json", b"{}", "no list of modules"),
        ("1_Pooling/config.json", b"[]", "holds no JSON object"),
        ("config_sentence_transformers.json", b"[]", "holds no JSON object"),
    ],
)
def test_damaged_settings_of_a_network_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    folder = tiny_bert(tmp_path / "bert")
    (folder / name).write_bytes(content)
    with pytest.raises(ModelRefused, match=message):
        opened(folder, prompts="model")


def test_an_index_that_names_no_weights_is_refused(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert")
    (folder / "model.safetensors").rename(folder / "weights.safetensors")
    (folder / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(ModelRefused, match="names no files of weights"):
        opened(folder)


def static_tokens(folder: Path, **changed: Any) -> Path:
    """A model2vec folder with one of its files changed."""
    safetensors = pytest.importorskip("safetensors.numpy")
    folder.mkdir()
    save_tokenizer(folder, special=False)
    table = changed.pop("table", np.eye(14, 4, dtype=np.float32))
    safetensors.save_file({"embeddings": table}, folder / "model.safetensors")
    (folder / "config.json").write_text("{}")
    for name, content in changed.items():
        (folder / f"{name}.json").write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tokenizer": b"{}"}, "no tokenizer that can be read"),
        ({"tokenizer": b"\xff"}, "no tokenizer that can be read"),
        ({"config": b"[]"}, "holds no JSON object"),
        ({"config": b'{"max_length": "x"}'}, "its max_length is 'x'"),
        ({"config": b'{"max_length": -3}'}, "its max_length is -3"),
        ({"table": np.zeros((14, 0), dtype=np.float32)}, "do not belong together"),
    ],
)
def test_damaged_model2vec_folders_are_refused(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    pytest.importorskip("tokenizers")
    folder = static_tokens(tmp_path / "static", **changed)
    with pytest.raises(ModelRefused, match=message):
        opened(folder)


@pytest.mark.parametrize(
    ("name", "content"), [("model.safetensors", b"garbage" * 9), ("config.json", b"{")]
)
def test_a_damaged_network_is_not_exported_and_nothing_is_left(
    tmp_path: Path, name: str, content: bytes
) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    folder = damaged(tiny_bert(tmp_path / "good"), tmp_path / "bert", name, content)
    with pytest.raises(ModelRefused, match=r"cannot be loaded to export it|is damaged"):
        export_onnx(folder, tmp_path / "out" / "graph")
    assert list(tmp_path.glob("out/*")) == []  # perhaps not even the folder around it


def test_a_graph_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(WriteFailed, match="graph cannot be written"),
        replaced_folder(tmp_path / "file" / "graph"),
    ):
        raise AssertionError("it cannot begin")


def test_texts_to_measure_8_bits_by_must_be_utf8(tmp_path: Path) -> None:
    texts = word_file(tmp_path, "texts.txt", b"caf\xe9\n")
    folder = tiny_bert(tmp_path / "bert")
    arguments = ["models", "export-onnx", str(folder), str(tmp_path / "out"), "--int8"]
    result = CliRunner().invoke(cli, [*arguments, "--texts", str(texts)])
    assert result.exit_code == 2
    assert "UTF-8" in result.stderr
    assert not (tmp_path / "out").exists()
