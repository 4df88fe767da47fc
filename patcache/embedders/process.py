"""A model in a process of its own: one for each of several devices, or apart from other libraries.

The parent writes requests to the child's standard input and reads answers from its standard
output, in order: a JSON header, then arrays as npy. Nothing is pickled.
"""

from __future__ import annotations

import io
import json
import os
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np

from patcache import errors
from patcache.embedders.base import Context, Embedder, Encoded, Resolved, load
from patcache.errors import ModelRefused, PatcacheError
from patcache.records import Role, Runtime, Spec

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

IN_FLIGHT = 2  # requests a child has at once: one is cut into tokens while the other is computed
CPUS = os.cpu_count() or 1
_HEAD = struct.Struct("<II")  # bytes of the header, number of arrays
_SIZE = struct.Struct("<Q")


class EncoderProcess:
    """An embedder whose model is loaded in a child process; leave it with `close`, or `with`.

    Errors: those of loading and encoding, as if the model were here; ModelRefused where the
    process dies.
    """

    def __init__(self, resolved: Resolved, context: Context) -> None:
        if context.fit is not None:
            raise ValueError("a model is fitted in the process that has the texts")
        self._label = resolved.label
        self._waiting: deque[Future[_Message]] = deque()
        self._lock = threading.Lock()
        self._child = subprocess.Popen(
            [sys.executable, "-m", "patcache.embedders.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._read_answers, daemon=True)
        self._reader.start()
        try:
            said = self._ask(_Message(_request(resolved, context))).result().header
        except BaseException:
            self.close()
            raise
        self.spec = Spec(said["label"], said["identity"], said["dim"], said["sparse"])
        self.device = str(said["device"])
        self.provenance: Mapping[str, Any] = said["provenance"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]; may be called from several threads at once."""
        answer = self._ask(_Message({"texts": list(texts), "role": role})).result()
        self.provenance = answer.header["provenance"]
        return Encoded(_vectors(answer), answer.header["n_truncated"])

    def close(self) -> None:
        """Ends the process."""
        if self._child.stdin is not None and not self._child.stdin.closed:
            with suppress(OSError):  # it may be gone already
                self._child.stdin.close()  # the child reads its end and leaves
        try:
            self._child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._reader.join()
        if self._child.stdout is not None:
            self._child.stdout.close()

    def _ask(self, message: _Message) -> Future[_Message]:
        future: Future[_Message] = Future()
        with self._lock:
            self._waiting.append(future)
            with suppress(OSError, ValueError):  # if it is gone, the reader says so
                message.write(self._child.stdin)
            if not self._reader.is_alive():
                self._fail_all()
        return future

    def _read_answers(self) -> None:
        """Hands each answer to who asked for it, in order, until the child ends."""
        while (answer := _Message.read(self._child.stdout)) is not None:
            future = self._waiting.popleft()
            if (fault := answer.header.get("error")) is not None:
                future.set_exception(_error_of(fault))
            else:
                future.set_result(answer)
        with self._lock:
            self._fail_all()

    def _fail_all(self) -> None:
        """Errors: ModelRefused, for everybody who still waits for the child."""
        status = self._child.wait()
        why = f"it ended with signal {-status}" if status < 0 else f"it ended with status {status}"
        killed = " (out of memory?)" if status == -signal.SIGKILL else ""
        while self._waiting:
            self._waiting.popleft().set_exception(
                ModelRefused(
                    f"the process that ran {self._label} is gone",
                    why + killed,
                    "run the same command again; what was finished is kept",
                )
            )


class SeveralDevices:
    """One model in a process for each device; blocks go to whichever is free.

    n_parallel: how many blocks are worth asking for at once.
    """

    def __init__(self, resolved: Resolved, context: Context, devices: Sequence[str]) -> None:
        if resolved.kind not in ("transformer", "onnx"):
            raise ModelRefused(
                f"{resolved.label} cannot run on {len(devices)} devices",
                f"a {resolved.kind} model runs on one",
                "name one device",
            )
        threads = context.runtime.threads or max(1, CPUS // len(devices))
        self._children: list[EncoderProcess] = []
        self._free: queue.SimpleQueue[EncoderProcess] = queue.SimpleQueue()
        try:
            for device in devices:
                runtime = replace(context.runtime, device=device, threads=threads)
                self._children.append(EncoderProcess(resolved, replace(context, runtime=runtime)))
        except BaseException:
            self.close()
            raise
        for child in self._children * IN_FLIGHT:
            self._free.put(child)
        self.spec = self._children[0].spec
        self.device = ",".join(child.device for child in self._children)
        self.n_parallel = len(self._children) * IN_FLIGHT
        self.provenance: Mapping[str, Any] = self._said_by(self._children[0])

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]; called from `n_parallel` threads at once."""
        child = self._free.get()
        try:
            return child.encode(texts, role)
        finally:
            self.provenance = self._said_by(child)
            self._free.put(child)

    def _said_by(self, child: EncoderProcess) -> Mapping[str, Any]:
        return {**child.provenance, "processes": len(self._children)}

    def close(self) -> None:
        """Ends the processes."""
        for child in self._children:
            child.close()


def devices_of(runtime: Runtime) -> list[str]:
    """The devices that were asked for: "cuda:0,cuda:1", or every one of a kind ("cuda:all").

    Errors: ModelRefused where they cannot be counted, or there is none.
    """
    if not runtime.device.endswith(":all"):
        return [device.strip() for device in runtime.device.split(",")]
    kind = runtime.device.partition(":")[0]
    try:
        import torch
    except ImportError as error:
        raise ModelRefused(
            f"{runtime.device}: the devices cannot be counted", str(error), "name them: cuda:0,..."
        ) from error
    count = torch.cuda.device_count() if kind == "cuda" else 0
    if count == 0 and not runtime.allow_cpu:
        raise ModelRefused(
            f"asked for {runtime.device}, but torch {torch.__version__} has none here",
            "",
            "name another device, or allow the CPU (--allow-cpu)",
        )
    return [f"{kind}:{number}" for number in range(count)] or ["cpu"]


@dataclass(frozen=True, slots=True)
class _Message:
    """What goes through the pipe: a header, and arrays."""

    header: Mapping[str, Any]
    arrays: tuple[NDArray[Any], ...] = ()

    def write(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        head = json.dumps(self.header).encode()
        stream.write(_HEAD.pack(len(head), len(self.arrays)) + head)
        for array in self.arrays:
            held = io.BytesIO()
            np.save(held, array, allow_pickle=False)
            stream.write(_SIZE.pack(held.tell()) + held.getbuffer())
        stream.flush()

    @classmethod
    def read(cls, stream: IO[bytes] | None) -> _Message | None:
        """The next message; None at the end."""
        assert stream is not None
        start = stream.read(_HEAD.size)
        if len(start) < _HEAD.size:
            return None
        head_bytes, n_arrays = _HEAD.unpack(start)
        head = stream.read(head_bytes)
        arrays = []
        for _ in range(n_arrays):
            size = stream.read(_SIZE.size)
            whole = stream.read(_SIZE.unpack(size)[0]) if len(size) == _SIZE.size else b""
            if not whole:
                return None
            arrays.append(np.load(io.BytesIO(whole), allow_pickle=False))
        return cls(json.loads(head), tuple(arrays)) if len(head) == head_bytes else None


def _request(resolved: Resolved, context: Context) -> dict[str, Any]:
    return {
        "resolved": asdict(resolved),
        "runtime": asdict(context.runtime),
        "fit_path": None if context.fit_path is None else str(context.fit_path),
        "fit_digest": context.fit_digest,
        "cache_path": None if context.cache_path is None else str(context.cache_path),
    }


def _context(header: Mapping[str, Any]) -> Context:
    fit_path, cache_path = header["fit_path"], header["cache_path"]
    return Context(
        runtime=Runtime(**header["runtime"]),
        fit_path=None if fit_path is None else Path(fit_path),
        fit_digest=header["fit_digest"],
        cache_path=None if cache_path is None else Path(cache_path),
    )


def _answer(encoded: Encoded, embedder: Embedder) -> _Message:
    header = {"n_truncated": int(encoded.n_truncated), "provenance": dict(embedder.provenance)}
    found: Any = encoded.vectors
    if isinstance(found, np.ndarray):
        return _Message(header, (found,))
    return _Message(header, (found.data, found.indices, found.indptr, np.array(found.shape)))


def _vectors(answer: _Message) -> Any:
    if len(answer.arrays) == 1:
        return answer.arrays[0]
    from scipy.sparse import csr_array

    data, indices, indptr, shape = answer.arrays
    return csr_array((data, indices, indptr), shape=tuple(shape.tolist()))


def _fault(error: BaseException) -> _Message:
    """An error as the parent raises it again."""
    if isinstance(error, PatcacheError):
        parts = [error.what, error.why, error.todo]
        return _Message({"error": [type(error).__name__, *parts]})
    return _Message({"error": ["", f"{type(error).__name__}: {error}", "", ""]})


def _error_of(fault: Sequence[str]) -> Exception:
    kind, *parts = fault
    known = getattr(errors, kind, None)
    return known(*parts) if isinstance(known, type) else RuntimeError(parts[0])


class _Child:
    """The other end: loads the model, then answers in order, preparing one request ahead."""

    def __init__(self, asks: IO[bytes], answers: IO[bytes]) -> None:
        self._asks = asks
        self._answers = answers
        self._prepared: queue.Queue[Any] = queue.Queue(1)

    def serve(self) -> None:
        first = _Message.read(self._asks)
        if first is None:
            return
        try:
            embedder = load(Resolved(**first.header["resolved"]), _context(first.header))
        except Exception as error:  # whatever it is, the parent raises it
            _fault(error).write(self._answers)
            return
        self._introduce(embedder)
        threading.Thread(target=self._prepare_all, args=(embedder,), daemon=True).start()
        encode = getattr(embedder, "encode_prepared", None)
        while (item := self._prepared.get()) is not None:
            try:
                if isinstance(item, Exception):
                    raise item
                encoded = encode(item) if encode is not None else embedder.encode(*item)
                answer = _answer(encoded, embedder)
            except Exception as error:
                answer = _fault(error)
            answer.write(self._answers)

    def _introduce(self, embedder: Embedder) -> None:
        spec = embedder.spec
        said = {
            "label": spec.label,
            "identity": spec.identity,
            "dim": spec.dim,
            "sparse": spec.sparse,
            "device": embedder.device,
            "provenance": dict(embedder.provenance),
        }
        _Message(said).write(self._answers)

    def _prepare_all(self, embedder: Embedder) -> None:
        prepare = getattr(embedder, "prepare", None)
        while (message := _Message.read(self._asks)) is not None:
            asked = (message.header["texts"], message.header["role"])
            try:
                self._prepared.put(prepare(*asked) if prepare is not None else asked)
            except Exception as error:
                self._prepared.put(error)
        self._prepared.put(None)


def main() -> None:
    """Serves a parent; what libraries print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, who lets a block finish
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _Child(sys.stdin.buffer, answers).serve()


if __name__ == "__main__":
    main()
