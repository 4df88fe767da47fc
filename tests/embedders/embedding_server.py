"""A real HTTP server on loopback that speaks /v1/embeddings, well or in a scripted wrong way."""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIM = 4


def vector(text: str, dim: int = DIM) -> list[float]:
    """Numbers that float32 holds exactly, and that differ from text to text."""
    total = sum(text.encode())
    return [float(len(text)), float(total % 97), float(total % 13) - 6.0, 0.5][:dim]


@dataclass
class Served:
    """What the server was asked, and what it does next.

    script: what to do with the next requests, one each; then it behaves well.
    """

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    script: list[Callable[[Any, dict[str, Any]], None]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    model: str = "tiny-001"
    wants_key: str | None = None

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request["input"]]


def send(handler: Any, status: int, body: dict[str, Any], **headers: str) -> None:
    content = json.dumps(body).encode()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def fail(status: int, message: str = "no", code: str | None = None, **headers: str) -> Any:
    body = {"error": {"message": message, "code": code, "type": "t", "param": None}}
    return lambda handler, asked: send(handler, status, body, **headers)


def answer(asked: dict[str, Any], model: str) -> dict[str, Any]:
    data = []
    for index, text in enumerate(asked["input"]):
        numbers: Any = vector(text, asked.get("dimensions", DIM))
        if asked.get("encoding_format") == "base64":
            numbers = base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
        data.append({"object": "embedding", "index": index, "embedding": numbers})
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "data": data, "model": model, "usage": usage}


def altered(change: Callable[[list[Any]], Any], model: str = "tiny-001") -> Any:
    """A well-formed answer whose list of vectors was changed."""

    def respond(handler: Any, asked: dict[str, Any]) -> None:
        body = answer(asked, model)
        body["data"] = change(body["data"])
        send(handler, 200, body)

    return respond


@contextmanager
def embedding_server() -> Iterator[Served]:
    """The server, until the block ends."""
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            asked = json.loads(self.rfile.read(length))
            served.requests.append({**asked, "path": self.path})
            key = self.headers.get("Authorization", "").removeprefix("Bearer ")
            served.keys.append(key)
            if served.wants_key is not None and key != served.wants_key:
                fail(401, f"Incorrect API key provided: {key}")(self, asked)
            elif served.script:
                served.script.pop(0)(self, asked)
            else:
                send(self, 200, answer(asked, served.model))

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield served
    finally:
        served.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
