"""The API kind against a real server on loopback: retries, order, checks, cost, and the key."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.api import Store
from patcache.embedders.api import ApiEmbedder, refuse_cost
from patcache.embedders.base import Context
from patcache.embedders.presets import resolve
from patcache.embedders.served import retry_after
from patcache.embedders.text_lengths import CharacterLengths, estimate_tokens
from patcache.errors import ModelRefused
from patcache.records import ModelRequest, Runtime
from tests.corpus import write_patents
from tests.embedders.embedding_server import (
    DIM,
    Served,
    altered,
    embedding_server,
    fail,
    send,
    vector,
)
from tests.embedders.tiny import opened

pytest.importorskip("openai")

TEXTS = ["grinding wheels", "a battery", "seat belt"]
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[Served]:
    with embedding_server() as served:
        yield served


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were waited for, without waiting."""
    found: list[float] = []
    monkeypatch.setattr("patcache.embedders.served.time.sleep", found.append)
    return found


def api(server: Served, **settings: Any) -> ApiEmbedder:
    asked = {"base_url": server.url, "normalize": False, "timeout_s": 5, **settings}
    embedder = opened("api:tiny", Context(), **asked)
    assert isinstance(embedder, ApiEmbedder)
    return embedder


def rows(embedder: ApiEmbedder, texts: list[str]) -> Any:
    return np.asarray(embedder.encode(texts, "query").vectors).tolist()


@pytest.mark.parametrize("encoding", ["base64", "float"])
def test_vectors_are_the_servers_in_either_encoding(server: Served, encoding: str) -> None:
    embedder = api(server, encoding=encoding)
    assert rows(embedder, TEXTS) == [vector(text) for text in TEXTS]
    assert server.requests[-1]["encoding_format"] == encoding
    assert server.requests[-1]["path"] == "/v1/embeddings"
    assert embedder.spec.dim == DIM
    assert embedder.spec.identity["served"] == "tiny-001"


def test_requests_are_filled_by_texts_and_by_tokens(server: Served) -> None:
    embedder = api(server, batch_texts=2, batch_tokens=10)
    del server.requests[:]
    texts = ["aaaa", "bbbb", "cccc", "d" * 36, "e" * 200, "ffff"]  # 1, 1, 1, 9, 50, 1 tokens
    assert rows(embedder, texts) == [vector(text) for text in texts]
    sizes = [[len(text) for text in request["input"]] for request in server.requests]
    assert sizes == [[4, 4], [4, 36], [200], [4]]


def test_the_order_of_the_answer_does_not_matter(server: Served) -> None:
    embedder = api(server)
    server.script = [altered(lambda data: data[::-1])]
    assert rows(embedder, TEXTS) == [vector(text) for text in TEXTS]


def test_an_empty_text_is_not_sent_and_stays_zero(server: Served) -> None:
    embedder = api(server)
    assert rows(embedder, ["", "a battery", "  "]) == [[0] * 4, vector("a battery"), [0] * 4]
    assert "" not in server.texts


def test_busy_and_broken_servers_are_asked_again(server: Served, waits: list[float]) -> None:
    embedder = api(server)
    server.script = [fail(429, Retry_After="7"), fail(500), fail(503), fail(502)]
    assert rows(embedder, TEXTS) == [vector(text) for text in TEXTS]
    assert waits == [7, 2, 4, 8]  # what the server asked for, then doubling


def test_a_connection_that_closes_is_opened_again(server: Served, waits: list[float]) -> None:
    embedder = api(server)

    def hang_up(handler: Any, asked: dict[str, Any]) -> None:
        handler.close_connection = True
        handler.connection.shutdown(2)

    def half(handler: Any, asked: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"data": [')
        hang_up(handler, asked)

    server.script = [hang_up, half]
    assert rows(embedder, TEXTS) == [vector(text) for text in TEXTS]
    assert waits == [1, 2]


def test_a_server_that_hangs_is_given_up_in_time(server: Served, waits: list[float]) -> None:
    embedder = api(server, timeout_s=0.2, max_tries=2)

    def hang(handler: Any, asked: dict[str, Any]) -> None:
        server.released.wait()

    server.script = [hang] * 2
    with pytest.raises(ModelRefused, match=r"no answer within 0.2 s") as refused:
        embedder.encode(TEXTS, "query")
    assert "(2 tries)" in refused.value.what
    assert "goes on where it stopped" in refused.value.todo
    assert waits == [1]


@pytest.mark.parametrize(
    ("response", "n_requests"),
    [
        (fail(400, "maximum context length is 8192 tokens"), 1),
        (fail(404, "no such model"), 1),
        (fail(429, "You exceeded your quota", code="insufficient_quota"), 1),
        (fail(429, Retry_After="3600"), 1),
        (fail(500), 3),
    ],
)
def test_what_cannot_get_better_is_not_asked_again(
    server: Served, waits: list[float], response: Any, n_requests: int
) -> None:
    embedder = api(server, max_tries=3)
    del server.requests[:]
    server.script = [response] * 3
    with pytest.raises(ModelRefused, match="gave no vectors"):
        embedder.encode(TEXTS, "query")
    assert len(server.requests) == n_requests


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1], "2 vectors came for 3 texts"),
        (lambda data: [*data, data[0]], "4 vectors came for 3 texts"),
        (lambda data: [{**row, "index": 0} for row in data], "3 vectors came for 3 texts, or not"),
        (lambda data: [data[0], data[1], {**data[2], "embedding": [1.0, 2.0]}], "dimensions"),
        (lambda data: [{**row, "embedding": [1.0, 2.0]} for row in data], "2 dimensions"),
        (lambda data: [data[0], data[1], {**data[2], "embedding": "%%%"}], "cannot be read"),
        (lambda data: [{**row, "embedding": [float("nan")] * 4} for row in data], "not finite"),
    ],
)
def test_an_answer_that_cannot_be_is_refused(server: Served, change: Any, message: str) -> None:
    embedder = api(server)
    server.script = [altered(change)]
    with pytest.raises(ModelRefused, match=message):
        embedder.encode(TEXTS, "query")


def test_another_model_behind_the_name_is_noticed(server: Served) -> None:
    embedder = api(server)
    server.script = [altered(lambda data: data, model="tiny-002")]
    with pytest.raises(ModelRefused, match="now serves 'tiny-002', and served 'tiny-001' before"):
        embedder.encode(TEXTS, "query")


def test_an_answer_that_is_no_json_is_refused(server: Served) -> None:
    embedder = api(server)

    def page(handler: Any, asked: dict[str, Any]) -> None:
        content = b"<html>a proxy's page</html>"
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    server.script = [page]
    with pytest.raises(ModelRefused, match="no list of vectors"):
        embedder.encode(TEXTS, "query")


def test_dimensions_are_asked_of_the_server(server: Served) -> None:
    embedder = api(server, dimensions=2)
    assert embedder.spec.dim == 2
    assert server.requests[-1]["dimensions"] == 2
    server.script = [altered(lambda data: [{**row, "embedding": [1.0] * 3} for row in data])]
    with pytest.raises(ModelRefused, match=r"\[3\] dimensions came, where 2 belong"):
        embedder.encode(TEXTS, "query")


def test_long_texts_are_cut_by_the_stated_rule_and_counted(server: Served) -> None:
    embedder = api(server, max_tokens=2)
    found = embedder.encode(["abcdefghij", "装置方法", "ab装c", "short"], "document")
    assert server.texts[-4:] == ["abcdefgh", "装置", "ab装c", "short"]
    assert found.n_truncated == 2
    assert embedder.spec.identity["cut_by"] == "characters-1"
    assert api(server).spec.identity["cut_by"] is None


def test_texts_are_cut_by_a_tokenizer_where_one_is_given(server: Served, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    embedder = api(server, max_tokens=2, tokenizer=str(tmp_path))
    assert embedder.encode(["one two three four", "one two"], "query").n_truncated == 1
    assert server.texts[-2:] == ["one two", "one two"]
    assert embedder.spec.identity["cut_by"].startswith("tokenizer:")


def test_lengths_by_characters_worked_by_hand() -> None:
    lengths = CharacterLengths()
    assert [lengths.count(text) for text in ("", "abcd", "abcde", "装置", "ab装")] == [
        0,
        1,
        2,
        2,
        2,
    ]
    assert estimate_tokens(["abcde", "装置"]) == 4


def test_the_identity_holds_the_host_unless_a_revision_names_the_weights(server: Served) -> None:
    with embedding_server() as other:
        here, there = api(server), api(other)
        assert here.spec.spec_id != there.spec.spec_id
        assert api(server, revision="v1").spec.spec_id == api(other, revision="v1").spec.spec_id
    ids = {
        here.spec.spec_id,
        api(server, dimensions=3).spec.spec_id,
        api(server, max_tokens=9).spec.spec_id,
        api(server, prompts={"query": "q: "}).spec.spec_id,
    }
    assert len(ids) == 4
    unrelated = {"price_per_million": 1, "max_cost": 9, "batch_texts": 7, "encoding": "float"}
    assert api(server, **unrelated).spec.spec_id == here.spec.spec_id


def test_the_cost_is_refused_before_a_text_is_sent(server: Served) -> None:
    embedder = api(server, price_per_million=2, max_cost=0.0001)
    n_before = len(server.requests)
    with pytest.raises(ModelRefused, match=r"would cost about") as refused:
        embedder.check_run(["x" * 400] * 3)  # 300 tokens at 2 a million: 0.0006
    assert len(server.requests) == n_before
    assert "3 texts of about 300 tokens at 2 a million" in refused.value.why
    embedder.check_run(["x" * 40])
    api(server, price_per_million=2, max_cost=1).check_run(["x" * 400] * 3)


def test_a_large_run_at_an_unknown_price_is_refused() -> None:
    refuse_cost("m", 10, 1_000_000, {"price_per_million": None, "max_cost": 5.0})
    refuse_cost("m", 10, 9_000_000_000, {"price_per_million": 0.0, "max_cost": 5.0})
    with pytest.raises(ModelRefused, match="what m costs is not known"):
        refuse_cost("m", 10, 1_000_001, {"price_per_million": None, "max_cost": 5.0})


def test_the_key_comes_from_the_named_variable_and_is_seen_nowhere(
    server: Served,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    waits: list[float],
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_KEY", KEY)
    server.wants_key = KEY
    embedder = api(server, key_env="MY_KEY")
    assert rows(embedder, TEXTS) == [vector(text) for text in TEXTS]
    assert server.keys[-1] == KEY
    server.script = [fail(429, f"slow down, {KEY}"), fail(401, f"Incorrect API key: {KEY}")]
    with pytest.raises(ModelRefused) as refused:
        embedder.encode(TEXTS, "query")
    seen = [
        str(refused.value),
        "".join(traceback.format_exception(refused.value)),
        caplog.text,
        json.dumps([dict(embedder.spec.identity), dict(embedder.provenance)]),
        json.dumps(dict(resolve(ModelRequest("api:m", None, {"key_env": "MY_KEY"})).settings)),
    ]
    assert "[key]" in seen[0]
    assert not [text for text in seen if KEY in text]


def test_another_host_gets_no_key_unasked(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    api(server)
    assert server.keys == ["no-key"]
    server.wants_key = KEY
    with pytest.raises(ModelRefused, match="--set key_env=NAME"):
        api(server)
    api(server, key_env="OPENAI_API_KEY")


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelRefused, match="OPENAI_API_KEY is not set"):
        opened("api:text-embedding-3-small", Context())


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": "http://user:sk-hidden@host/v1"},
        {"base_url": "https://host/v1?key=sk-hidden"},
        {"base_url": "sk-hidden"},
        {"key_env": "sk-hidden"},
    ],
)
def test_a_key_in_a_setting_is_refused_unseen(settings: dict[str, str]) -> None:
    with pytest.raises(ModelRefused) as refused:
        resolve(ModelRequest("api:m", None, settings))
    assert "sk-hidden" not in "".join(traceback.format_exception(refused.value))


def test_retry_after_is_seconds_or_a_date() -> None:
    now = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    assert retry_after("1.5", now) == 1.5
    assert retry_after("Sun, 01 Mar 2026 12:00:30 GMT", now) == 30
    assert retry_after("Sun, 01 Mar 2026 11:00:00 GMT", now) == 0
    assert retry_after("soon", now) is None
    assert retry_after(None, now) is None


def test_a_run_through_a_store_asks_once_for_each_text_and_keeps_no_key(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    store = Store(tmp_path / "store")
    store.import_files(write_patents(tmp_path / "patents.parquet"))
    store.sample("main", targets=2, seed=1)
    settings: dict[str, Any] = {
        "base_url": server.url,
        "price_per_million": 1000,
        "key_env": "MY_KEY",
    }
    for device in ("auto", "cpu,cpu"):  # several devices do not hide the check
        with pytest.raises(ModelRefused, match="would cost about"):
            store.embed("api:tiny", runtime=Runtime(device), **settings, max_cost=0.01)
    assert len(server.texts) == 2  # the probes
    done = store.embed("api:tiny", **settings)
    sent = server.texts[3:]
    assert done.n_encoded == len(sent) == len(set(sent)) > 0
    assert store.embed("api:tiny", **settings).n_encoded == 0
    assert len(server.texts) == 3 + len(sent)
    assert set(server.keys) == {KEY}
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_key_at_the_edge_of_a_long_error_is_not_shown_in_part(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_KEY", KEY)
    before = "x" * (300 - len("Error code: 401 - ") - 8)  # 8 characters of the key would be left
    server.script = [fail(401, before + KEY)]
    with pytest.raises(ModelRefused) as refused:
        api(server, key_env="TINY_KEY", max_tries=1)
    assert KEY[:8] not in str(refused.value)


def test_a_key_that_comes_back_as_a_name_or_a_number_is_nowhere(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_KEY", KEY)
    server.script = [altered(lambda data: data, model=KEY)]
    embedder = api(server, key_env="TINY_KEY")
    assert embedder.spec.identity["served"] == "[key]"
    assert KEY not in json.dumps([dict(embedder.spec.identity), dict(embedder.provenance)])
    server.script = [altered(lambda data: [{**data[0], "embedding": [KEY]}])]
    with pytest.raises(ModelRefused) as refused:
        api(server, key_env="TINY_KEY")
    assert "[key]" in str(refused.value)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("key", ["two\nlines-of-a-secret", "with a-secret", "sécret"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(
    server: Served, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("TINY_KEY", key)
    with pytest.raises(ModelRefused, match="holds is none") as refused:
        api(server, key_env="TINY_KEY")
    assert "cret" not in str(refused.value)
    assert server.requests == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: {k: d[k] for k in ("index", "object")}, "cannot be read"),
        (lambda d: {**d, "index": [0]}, "or not theirs"),
        (lambda d: {**d, "embedding": [10**400]}, "gave no vectors .1 try"),
        (lambda d: {**d, "embedding": []}, "is empty"),
        (lambda d: {**d, "embedding": "MTIzNDU="}, "cannot be read"),  # five bytes
    ],
)
def test_a_vector_that_cannot_be_is_refused(server: Served, change: Any, message: str) -> None:
    server.script = [altered(lambda data: [change(item) for item in data])]
    with pytest.raises(ModelRefused, match=message):
        api(server)


def test_an_error_with_status_200_is_quoted(server: Served) -> None:
    server.script = [lambda handler, asked: send(handler, 200, {"error": {"message": "no quota"}})]
    with pytest.raises(ModelRefused, match="no list of vectors, but says: .*no quota"):
        api(server)


@pytest.mark.parametrize("name", ["\ud800", "n" * 1000, "two\nlines"])
def test_a_name_of_a_served_model_that_is_none_is_refused(server: Served, name: str) -> None:
    server.script = [altered(lambda data: data, model=name)]
    with pytest.raises(ModelRefused, match="name of its model"):
        api(server)


@pytest.mark.parametrize(
    "url",
    ["http://x:y/v1", "http://127.0.0.1:99999/v1", "http://a b/v1", "http://a\n/v1", "http://[::1"],
)
def test_an_address_that_cannot_be_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(ModelRefused, match="an address such as"):
        resolve(ModelRequest("api:tiny", settings={"base_url": url}))


def test_a_date_without_a_zone_is_taken_as_utc() -> None:
    now = datetime(2026, 1, 1, 0, 0, 0, tzinfo=UTC)
    assert retry_after("Thu, 01 Jan 2026 00:00:07 -0000", now) == 7
    assert retry_after("Thu, 01 Jan 99999 00:00:07 GMT", now) is None
