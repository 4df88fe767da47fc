"""Networks by torch: pooling, padding, cutting, number formats and devices."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders.base import Context
from patcache.embedders.batches import pad
from patcache.embedders.transformer import TransformerEmbedder, pool
from patcache.errors import ModelRefused
from patcache.hashing import text_key
from patcache.records import Runtime
from tests.embedders.test_model_folder import dense_folder
from tests.embedders.tiny import (
    SENTENCES,
    WORDS,
    add_pooling,
    copied,
    minilm,
    opened,
    save_tokenizer,
    tiny_bert,
    tiny_decoder,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

LONG = " ".join(WORDS * 10)


def last_layer(folder: Path, text: str, limit: int) -> Any:
    """The last layer of one text alone, without padding, straight from transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    ids = tokenizer(text, truncation=True, max_length=limit, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        return model(input_ids=ids).last_hidden_state[0].numpy()


POOL_BY_HAND = {"mean": lambda h: h.mean(axis=0), "cls": lambda h: h[0], "last": lambda h: h[-1]}


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_a_batch_gives_what_each_text_gives_alone(
    tmp_path: Path, family: str, pooling: str
) -> None:
    folder = tiny_bert(tmp_path) if family == "bert" else tiny_decoder(tmp_path, family)
    embedder = opened(f"{folder}@{pooling}")
    found = embedder.encode([*SENTENCES, LONG], "query")
    limit = embedder.spec.identity["max_tokens"]
    for text, vector in zip([*SENTENCES, LONG], found.vectors, strict=True):
        wanted = POOL_BY_HAND[pooling](last_layer(folder, text, limit))
        # Random weights this large spread rounding further than trained ones: 1.2e-6 was seen.
        np.testing.assert_allclose(vector, wanted / np.linalg.norm(wanted), atol=5e-6)


def test_no_padding_token_and_no_length_limit(tmp_path: Path) -> None:
    # B21: a GPT-2 without padding token, whose tokenizer says 1e30 tokens; 20 and 5,000 words.
    embedder = opened(f"{tiny_decoder(tmp_path, 'gpt2')}@mean")
    short, long = " ".join(WORDS * 2), " ".join(WORDS * 500)
    found = embedder.encode([short, long], "document")
    assert embedder.spec.identity["max_tokens"] == 24  # its own positions
    assert found.n_truncated == 1
    alone = embedder.encode([short], "document").vectors
    np.testing.assert_allclose(found.vectors[:1], alone, atol=5e-6)
    cut = embedder.encode([" ".join((WORDS * 500)[:24])], "document")
    assert cut.n_truncated == 0
    np.testing.assert_allclose(found.vectors[1:], cut.vectors, atol=5e-6)


def test_truncation_is_counted_by_text(tmp_path: Path) -> None:
    embedder = opened(tiny_bert(tmp_path), max_tokens=6)
    # [CLS] and [SEP] leave four words.
    texts = ["a method for grinding", "a method for grinding wheels", LONG]
    assert embedder.encode(texts, "query").n_truncated == 2


def test_the_order_of_texts_and_the_batches_change_nothing(tmp_path: Path) -> None:
    embedder = opened(tiny_bert(tmp_path))
    assert isinstance(embedder, TransformerEmbedder)
    together = embedder.encode(SENTENCES, "query").vectors
    embedder._batches.budget = 1  # every text alone
    alone = embedder.encode(SENTENCES[::-1], "query").vectors[::-1]
    np.testing.assert_allclose(together, alone, atol=5e-6)


def test_a_text_without_tokens_has_the_zero_vector(tmp_path: Path) -> None:
    found = opened(f"{tiny_decoder(tmp_path, 'llama')}@mean").encode(["", "belt"], "query")
    assert not found.vectors[0].any()
    assert found.vectors[1].any()
    assert opened(f"{tmp_path}@mean").encode([], "query").vectors.shape == (0, 8)


def test_padding_and_pooling_worked_by_hand() -> None:
    ids, mask = pad([[5, 6], [7]])
    assert (ids.tolist(), mask.tolist()) == ([[5, 6], [7, 0]], [[1, 1], [1, 0]])
    hidden = torch.tensor([[[1.0], [3.0]], [[5.0], [float("nan")]]])
    right = torch.tensor(mask)
    assert pool(hidden, right, "mean").tolist() == [[2.0], [5.0]]
    assert pool(hidden, right, "cls").tolist() == [[1.0], [5.0]]
    assert pool(hidden, right, "last").tolist() == [[3.0], [5.0]]
    left = torch.tensor([[1, 1], [0, 1]])
    hidden = torch.tensor([[[1.0], [3.0]], [[float("nan")], [5.0]]])
    for pooling, wanted in (("mean", 2.0), ("cls", 1.0), ("last", 3.0)):
        assert pool(hidden, left, pooling).tolist() == [[wanted], [5.0]]


def test_settings_of_the_folder_are_applied_and_stated(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path)
    weight = np.eye(8, dtype="<f4")[:2]
    dense_folder(folder / "2_Dense")
    from safetensors.numpy import save_file

    save_file({"linear.weight": weight}, folder / "2_Dense" / "model.safetensors")
    add_pooling(folder, "mean", dense=["2_Dense"])
    headed, plain = opened(folder, normalize=False), opened(f"{folder}@cls", normalize=False)
    hidden = last_layer(folder, "seat belt", 32)
    found = headed.encode(["seat belt"], "query").vectors
    np.testing.assert_allclose(found[0], np.tanh(hidden.mean(axis=0)[:2]), atol=1e-6)
    assert (headed.spec.dim, plain.spec.dim) == (2, 8)
    assert len(headed.spec.identity["dense"]) == 1
    assert plain.spec.identity["dense"] == []


def test_a_copy_is_the_same_spec_and_other_settings_are_others(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "first")
    copy = copied(folder, tmp_path / "elsewhere" / "renamed")
    first = opened(folder).spec
    assert opened(copy).spec.spec_id == first.spec_id
    others = [
        opened(folder, **settings).spec.spec_id
        for settings in (
            {"pooling": "cls"},
            {"max_tokens": 9},
            {"normalize": False},
            {"prompts": {"query": "query: "}},
            {"storage": "float16"},
            {"arithmetic": "bf16"},
        )
    ]
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    assert len({first.spec_id, opened(copy).spec.spec_id, *others}) == 8


def test_bfloat16_comes_out_as_float32(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path)
    found = opened(folder, arithmetic="bf16").encode(SENTENCES, "query").vectors
    assert found.dtype == np.float32
    exact = opened(folder).encode(SENTENCES, "query").vectors
    cosines = (found * exact).sum(axis=1)
    assert cosines.min() > 0.99
    assert abs(found - exact).max() > 1e-4  # it really was another arithmetic


def test_an_overflow_in_fp16_stops_with_the_texts_and_advice(tmp_path: Path) -> None:
    # B22: a layer whose sums go past 65,504 for one word, and for one only.
    folder = tiny_bert(tmp_path)
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.1.output.LayerNorm.weight"] *= 60_000
    weights["encoder.layer.1.output.LayerNorm.bias"] += 60_000
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    embedder = opened(folder, arithmetic="fp16")
    with pytest.raises(ModelRefused, match="overflows in fp16") as refusal:
        embedder.encode(SENTENCES[:3], "query")
    assert "texts 0, 1, 2 of this block" in refusal.value.why
    assert f"key {text_key('battery cell').hex()} 'battery cell'" in refusal.value.why
    assert "fp32" in refusal.value.todo
    assert np.isfinite(opened(folder).encode(SENTENCES[:3], "query").vectors).all()


def test_out_of_memory_halves_the_batch_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = opened(tiny_bert(tmp_path))
    assert isinstance(embedder, TransformerEmbedder)
    wanted = embedder.encode(SENTENCES, "query").vectors
    network, sizes = embedder._model, []

    def small(input_ids: Any, attention_mask: Any) -> Any:
        sizes.append(input_ids.numel())
        if input_ids.numel() > 16:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return network(input_ids=input_ids, attention_mask=attention_mask)

    monkeypatch.setattr(embedder, "_model", small)
    np.testing.assert_allclose(embedder.encode(SENTENCES, "query").vectors, wanted, atol=5e-6)
    assert sizes[0] > 16 >= sizes[-1]
    assert embedder.provenance["batch_tokens"] <= 16

    monkeypatch.setattr(embedder, "_model", _always_full)
    with pytest.raises(ModelRefused, match="does not fit into the memory"):
        embedder.encode(SENTENCES, "query")


def _always_full(**_: Any) -> Any:
    raise torch.OutOfMemoryError("CUDA out of memory.")


def test_another_error_of_the_network_is_not_taken_for_lack_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = opened(tiny_bert(tmp_path))

    def broken(**_: Any) -> Any:
        raise RuntimeError("index out of range")

    monkeypatch.setattr(embedder, "_model", broken)
    with pytest.raises(RuntimeError, match="index out of range"):
        embedder.encode(SENTENCES, "query")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_cuda_asked_for_and_not_there_is_refused_unless_the_cpu_is_allowed(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path)
    with pytest.raises(ModelRefused, match="asked for cuda"):
        opened(folder, Context(Runtime(device="cuda")))
    allowed = opened(folder, Context(Runtime(device="cuda", allow_cpu=True)))
    assert allowed.device == "cpu"
    with pytest.raises(ModelRefused, match="asked for quantum"):
        opened(folder, Context(Runtime(device="quantum")))


def test_pickled_missing_and_foreign_models_are_refused(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert")
    pickled = copied(folder, tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(ModelRefused, match="pickled weights only"):
        opened(pickled)
    remote = copied(folder, tmp_path / "remote")
    (remote / "config.json").write_text(
        '{"model_type": "mine", "auto_map": {"AutoModel": "code.Net"}, "n_ctx": 32}'
    )
    with pytest.raises(ModelRefused, match="needs code of its own") as refusal:
        opened(remote)
    assert "--set trust_remote_code=true" in refusal.value.todo
    with pytest.raises(ModelRefused, match="asks for max"):
        add_pooling(folder, "max")
        opened(folder)


def test_weights_that_are_not_in_the_file_are_refused(tmp_path: Path) -> None:
    # transformers would fill them with random numbers and say so in a log.
    folder = tiny_bert(tmp_path)
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.0.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelRefused, match="lacks weights"):
        opened(folder)


def test_a_network_that_wants_more_than_a_text_is_refused(tmp_path: Path) -> None:
    config = transformers.T5Config(
        vocab_size=14, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2
    )
    transformers.T5Model(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path, special=True)
    with pytest.raises(ModelRefused, match="gives no last layer"):
        opened(f"{tmp_path}@mean", max_tokens=16)


def test_bart_pools_its_decoder(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = transformers.BartConfig(
        vocab_size=14,
        d_model=8,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=8,
        decoder_ffn_dim=8,
        max_position_embeddings=32,
        init_std=0.5,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=3,
    )
    transformers.BartModel(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path, special=True)
    found = opened(f"{tmp_path}@mean", normalize=False).encode(SENTENCES, "query").vectors
    for text, vector in zip(SENTENCES, found, strict=True):
        wanted = last_layer(tmp_path, text, 32).mean(axis=0)
        np.testing.assert_allclose(vector, wanted, atol=1e-5)


def test_without_a_network_a_hub_name_is_refused_with_what_would_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def no_network(model: str, **options: Any) -> str:
        raise OSError("no route to host")

    monkeypatch.setattr(hub, "snapshot_download", no_network)
    with pytest.raises(ModelRefused, match="copy the model's folder here"):
        opened("bge@cls")


def test_minilm_is_what_sentence_transformers_computes(shared: Path) -> None:
    # Their way: last layer, mean over the mask, length 1; here text by text, without padding.
    folder = minilm()
    texts = real_abstracts(shared, 8)
    embedder = opened("minilm")
    found = embedder.encode(texts, "document")
    wanted = np.array([last_layer(folder, text, 256).mean(axis=0) for text in texts])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(found.vectors, wanted, atol=1e-6)
    assert embedder.spec.identity["max_tokens"] == 256
    assert embedder.spec.identity["weights"].startswith("53aa51172d142c89")
    alone = np.concatenate([embedder.encode([text], "query").vectors for text in texts])
    np.testing.assert_allclose(found.vectors, alone, atol=1e-6)


def real_abstracts(shared: Path, n: int) -> list[str]:
    pq = pytest.importorskip("pyarrow.parquet")
    rows = pq.read_table(shared / "data" / "patents_en.parquet", columns=["abstract"]).to_pylist()
    return [row["abstract"] for row in rows if row["abstract"]][:n]


def test_threads_of_torch_come_back_after_a_batch_a_thread(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path)
    before = torch.get_num_threads()
    one, three = (
        opened(folder, Context(Runtime(device="cpu", threads=n, batch_tokens=16))) for n in (1, 3)
    )
    inside: list[int] = []
    assert isinstance(three, TransformerEmbedder)
    compute = three._try

    def watched(*batch: Any) -> Any:
        inside.append(torch.get_num_threads())
        return compute(*batch)

    three._try = watched  # type: ignore[method-assign]
    found = three.encode(SENTENCES * 5, "query").vectors
    np.testing.assert_allclose(found, one.encode(SENTENCES * 5, "query").vectors, atol=1e-6)
    assert set(inside) == {1}
    assert len(inside) > 3
    assert torch.get_num_threads() == before
    assert (one.provenance["threads"], three.provenance["threads"]) == (1, 3)


def test_arithmetic_that_the_processor_lacks_is_said_aloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny_bert(tmp_path)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, "avx512_bf16": False})
    slow = opened(folder, arithmetic="bf16")
    assert slow.provenance["is_native"] is False
    assert "computes in bf16, which this cpu does not have" in caplog.text
    caplog.clear()
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    assert opened(folder, arithmetic="bf16").provenance["is_native"] is True
    assert opened(folder).provenance["is_native"] is True
    assert caplog.text == ""


def test_preparing_ahead_gives_what_encoding_gives(tmp_path: Path) -> None:
    embedder = opened(tiny_bert(tmp_path))
    assert isinstance(embedder, TransformerEmbedder)
    with ThreadPoolExecutor(1) as reader:
        prepared = reader.submit(embedder.prepare, [*SENTENCES, LONG], "query").result()
    ahead, at_once = (
        embedder.encode_prepared(prepared),
        embedder.encode([*SENTENCES, LONG], "query"),
    )
    assert np.array_equal(ahead.vectors, at_once.vectors)
    assert ahead.n_truncated == at_once.n_truncated == 1


def test_a_limit_that_leaves_no_room_for_a_text_is_refused(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path)
    with pytest.raises(ModelRefused, match="give --max-tokens 3 or more"):
        opened(folder, max_tokens=2)
    assert opened(folder, max_tokens=3).encode(["a valve"], "query").n_truncated == 1
