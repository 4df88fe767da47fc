"""A cross-encoder's scores are transformers' own of each pair alone, in any order and company."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.embedders.base import Context
from patcache.embedders.cross_encoder import CrossEncoder
from patcache.errors import ModelRefused
from patcache.records import Runtime
from tests.embedders.tiny import (
    SENTENCES,
    WORDS,
    copied,
    opened,
    save_tokenizer,
    tiny_bert,
    tiny_cross_encoder,
    tiny_decoder,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

LONG = " ".join(WORDS * 10)
TEXTS = [*SENTENCES, LONG, "unheard battery"]
QUERIES = [query for query in TEXTS for _ in TEXTS]
DOCUMENTS = [document for _ in TEXTS for document in TEXTS]


def cross_encoder(folder: Path, context: Context | None = None, **settings: Any) -> CrossEncoder:
    scorer: Any = opened("ms-marco-minilm", context, model=str(folder), **settings)
    assert isinstance(scorer, CrossEncoder)
    return scorer


def alone(folder: Path, query: str, document: str, limit: int = 32) -> Any:
    """The logits of one pair, straight from transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokens = tokenizer(query, document, truncation=True, max_length=limit, return_tensors="pt")
    with torch.no_grad():
        return model(**tokens).logits[0].numpy()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross"))


def test_scores_are_the_logits_of_each_pair_alone(folder: Path) -> None:
    wanted = [alone(folder, *pair)[0] for pair in zip(QUERIES, DOCUMENTS, strict=True)]
    for budget in (1, 40, 1024):
        runtime = Runtime(device="cpu", threads=1, batch_tokens=budget)
        found = cross_encoder(folder, Context(runtime)).score(QUERIES, DOCUMENTS)
        np.testing.assert_allclose(found.values, wanted, atol=1e-5)
    assert np.std(wanted) > 0.1  # far apart, where the tolerance is small


def test_the_order_of_pairs_does_not_matter_but_that_of_the_two_texts_does(folder: Path) -> None:
    scorer = cross_encoder(folder)
    found = scorer.score(QUERIES, DOCUMENTS).values
    mixed = np.random.default_rng(2).permutation(len(QUERIES))
    again = scorer.score([QUERIES[i] for i in mixed], [DOCUMENTS[i] for i in mixed]).values
    np.testing.assert_allclose(again, found[mixed], atol=1e-5)
    exchanged = scorer.score(DOCUMENTS, QUERIES).values
    assert abs(exchanged - found).max() > 0.01


def test_pairs_too_long_are_cut_at_the_longer_text_and_counted(folder: Path) -> None:
    # [CLS] and two [SEP] leave 7 of 10 tokens: five words keep 5 beside 2, a longer text is cut.
    scorer = cross_encoder(folder, max_tokens=10)
    cut = scorer.score(["battery cell", LONG], ["a method for grinding wheels", "battery cell"])
    assert cut.n_truncated == 1
    whole = scorer.score([" ".join(WORDS[:5])], ["battery cell"])
    np.testing.assert_allclose(cut.values[1:], whole.values, atol=1e-5)
    assert scorer.spec.identity["max_tokens"] == 10
    with pytest.raises(ModelRefused, match="32 positions"):
        cross_encoder(folder, max_tokens=33)


def test_two_labels_give_their_difference_and_three_are_refused(tmp_path: Path) -> None:
    two = tiny_cross_encoder(tmp_path / "two", n_labels=2)
    scorer = cross_encoder(two)
    logits = alone(two, SENTENCES[0], SENTENCES[1])
    found = scorer.score(SENTENCES[:1], SENTENCES[1:2]).values
    np.testing.assert_allclose(found, [logits[1] - logits[0]], atol=1e-5)
    assert scorer.spec.identity["output"] == "difference"
    with pytest.raises(ModelRefused, match="3 labels"):
        cross_encoder(tiny_cross_encoder(tmp_path / "three", n_labels=3))


def test_a_model_without_a_classifier_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match=r"lacks weights(.|\n)*classifier"):
        cross_encoder(tiny_bert(tmp_path))


def test_pickled_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    pickled = copied(folder, tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(ModelRefused, match="no safetensors"):
        cross_encoder(pickled)


@pytest.mark.parametrize("pad_token_id", [None, 0])
def test_a_decoder_reads_its_last_token_in_any_batch(
    tmp_path: Path, pad_token_id: int | None
) -> None:
    folder = tiny_decoder(tmp_path, "llama")
    config = transformers.LlamaConfig.from_pretrained(folder)
    config.num_labels, config.pad_token_id = 1, pad_token_id
    torch.manual_seed(11)
    transformers.LlamaForSequenceClassification(config).save_pretrained(folder)
    save_tokenizer(folder, special=False, pad=None)
    found = cross_encoder(folder).score(QUERIES, DOCUMENTS).values
    wanted = [alone(folder, *pair, limit=24)[0] for pair in zip(QUERIES, DOCUMENTS, strict=True)]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_out_of_memory_halves_the_batch_and_one_pair_alone_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = cross_encoder(folder)
    wanted = scorer.score(QUERIES, DOCUMENTS).values
    real, n_most = scorer._model.forward, 3

    def forward(input_ids: Any, **given: Any) -> Any:
        if len(input_ids) > n_most:
            raise RuntimeError("CUDA out of memory")
        return real(input_ids=input_ids, **given)

    monkeypatch.setattr(scorer._model, "forward", forward)
    np.testing.assert_allclose(scorer.score(QUERIES, DOCUMENTS).values, wanted, atol=1e-5)
    assert scorer.provenance["batch_tokens"] < 1024
    n_most = 0
    with pytest.raises(ModelRefused, match="memory of cpu"):
        scorer.score(QUERIES[:1], DOCUMENTS[:1])


def test_the_spec_says_what_changes_a_score_and_not_where_or_what_comes_after_the_logit(
    folder: Path, tmp_path: Path
) -> None:
    spec = cross_encoder(folder).spec
    assert (spec.is_pairs, spec.dim, spec.storage, spec.embedder) == (
        True,
        1,
        "float32",
        "cross-encoder",
    )
    same = copied(folder, tmp_path / "same")
    config = json.loads((same / "config.json").read_text())
    config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.linear.Identity"}
    (same / "config.json").write_text(json.dumps(config))
    assert cross_encoder(same).spec.spec_id == spec.spec_id
    asked = cross_encoder(folder, prompts={"query": "a method for "}).spec
    assert asked.prompt("query") == "a method for "
    assert len({spec.spec_id, asked.spec_id, cross_encoder(folder, max_tokens=9).spec.spec_id}) == 3


def test_no_pairs_have_no_scores(folder: Path) -> None:
    assert cross_encoder(folder).score([], []).values.shape == (0,)
