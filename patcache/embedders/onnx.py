"""Networks by ONNX Runtime: the fastest way on a CPU, and no torch needed.

One session with a single thread inside is shared by one Python thread a core, each with one text:
no padding, no batches, the same bits for a text whatever stands beside it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.finish import Finish
from patcache.embedders.installed import versions
from patcache.embedders.model_folder import identity_of, read_facts, tokenizer_digest
from patcache.embedders.onnx_graph import read_graph
from patcache.embedders.transformer import PROBE
from patcache.errors import ModelRefused
from patcache.records import Role, Runtime, Spec

if TYPE_CHECKING:
    from patcache.records import FloatArray

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("last_hidden_state", "token_embeddings", "hidden_states")
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


class OnnxEmbedder:
    """Texts one by one through a graph, on all cores."""

    def __init__(
        self,
        spec: Spec,
        network: Network,
        tokenizer: Any,
        finish: Finish,
        width: int,
        threads: int,
    ) -> None:
        self.spec = spec
        self.device = network.device
        self.provenance: Mapping[str, Any] = {
            **versions("onnxruntime", "onnxruntime-gpu", "tokenizers", "numpy"),
            "threads": threads,
            "provider": network.session.get_providers()[0],
        }
        self._network = network
        self._tokenizer = tokenizer
        self._finish = finish
        self._width = width
        self._threads = threads

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]; a text without a token has the zero vector."""
        encodings = self._tokenizer.encode_batch(list(texts))
        pooled = np.zeros((len(texts), self._width), dtype=np.float32)

        def encode_one(row: int) -> None:
            if encodings[row].ids:
                pooled[row] = self._network.pooled(encodings[row].ids, encodings[row].type_ids)

        longest_first = sorted(range(len(texts)), key=lambda row: -len(encodings[row].ids))
        with ThreadPoolExecutor(self._threads) as pool:
            for _ in pool.map(encode_one, longest_first):
                pass
        n_truncated = sum(bool(encoding.overflowing) for encoding in encodings)
        return Encoded(self._finish(pooled), n_truncated)


class Network:
    """A graph that gives a vector for each token, and how to make one of them."""

    def __init__(self, session: Any, output: str, pooling: str) -> None:
        self.session = session
        self.device = next(
            (name for name, p in PROVIDERS.items() if p == session.get_providers()[0]),
            str(session.get_providers()[0]),
        )
        self._inputs = [entry.name for entry in session.get_inputs()]
        self._output = output
        self._pooling = pooling

    def pooled(self, ids: Sequence[int], type_ids: Sequence[int]) -> FloatArray:
        """The mean of the vectors of a text's tokens, the first one or the last one.

        Shapes: ids (tokens,) -> (width,) float32.
        """
        given = (ids, np.ones(len(ids)), type_ids)
        columns = dict(zip(INPUTS, given, strict=True))
        feed = {name: np.asarray([columns[name]], dtype=np.int64) for name in self._inputs}
        tokens: FloatArray = self.session.run([self._output], feed)[0][0].astype(np.float32)
        if self._pooling == "mean":
            mean: FloatArray = tokens.mean(axis=0)
            return mean
        one: FloatArray = tokens[0 if self._pooling == "cls" else -1]
        return one


def load(resolved: Resolved, context: Context) -> OnnxEmbedder:
    """A network by ONNX Runtime, from a graph and the tokenizer.json that belongs to it.

    Errors: ModelRefused where onnxruntime, the device or an input that the graph wants is missing.
    """
    settings, label = resolved.settings, resolved.label
    _require(label)
    graph, folder = Path(settings["model"]), Path(settings["tokenizer"])
    facts = read_facts(folder, settings, label)
    tokenizer = open_tokenizer(folder / "tokenizer.json", facts.max_tokens)
    session = open_session(graph, context.runtime, label)
    output = _output(session, settings["output"], label)
    network = Network(session, output, facts.pooling)
    probe = tokenizer.encode(PROBE)
    width = len(network.pooled(probe.ids, probe.type_ids))
    found = read_graph(graph)
    identity = {
        "embedder": "onnx",
        "engine": {"name": "onnx", "arithmetic": found.arithmetic, "graph": found.digest},
        "output": output,
        "tokenizer": tokenizer_digest(folder, probe.ids),
        **identity_of(facts, settings),
    }
    finish = Finish(facts.heads, settings["normalize"])
    threads = context.runtime.threads or os.cpu_count() or 1
    spec = Spec(label, identity, facts.output_dim(width))
    return OnnxEmbedder(spec, network, tokenizer, finish, width, threads)


def open_tokenizer(path: Path, max_tokens: int) -> Any:
    """A tokenizer that cuts at max_tokens and never pads, whatever its file says about either."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def open_session(graph: Path, runtime: Runtime, label: str) -> Any:
    """A session with one thread inside, on the provider asked for.

    ONNX Runtime falls back to the CPU without an error, so the provider is read back.
    Errors: ModelRefused if it is not the one asked for and the CPU is not allowed instead.
    """
    import onnxruntime

    available = onnxruntime.get_available_providers()
    kind = runtime.device.partition(":")[0]
    wanted = PROVIDERS["cuda"] if PROVIDERS["cuda"] in available else PROVIDERS["cpu"]
    wanted = wanted if kind == "auto" else PROVIDERS.get(kind, kind)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4 if kind == "auto" else 3
    providers: list[Any] = [p for p in (wanted,) if p in available and p != PROVIDERS["cpu"]]
    number = runtime.device.partition(":")[2]
    if number and providers:
        providers = [(providers[0], {"device_id": int(number)})]
    session = onnxruntime.InferenceSession(
        str(graph), options, providers=[*providers, PROVIDERS["cpu"]]
    )
    found = session.get_providers()[0]
    if kind != "auto" and found != wanted and not runtime.allow_cpu:
        raise ModelRefused(
            f"asked for {runtime.device} for {label}, but onnxruntime runs on {found}",
            f"onnxruntime {onnxruntime.__version__} offers {', '.join(available)}",
            "install onnxruntime-gpu with its CUDA libraries, or allow the CPU (--allow-cpu)",
        )
    return session


def _output(session: Any, asked: str | None, label: str) -> str:
    """The output with a vector for each token. Errors: ModelRefused if that is not clear."""
    ranks = {entry.name: len(entry.shape) for entry in session.get_outputs()}
    unknown = [entry.name for entry in session.get_inputs() if entry.name not in INPUTS]
    if unknown:
        raise ModelRefused(
            f"the graph of {label} wants {', '.join(unknown)}", f"known are {', '.join(INPUTS)}"
        )
    by_token = [name for name, rank in ranks.items() if rank == 3]
    named = [name for name in OUTPUTS if name in by_token]
    found = asked or (named[0] if named else by_token[0] if len(by_token) == 1 else "")
    if found not in by_token:
        shown = ", ".join(f"{name} ({rank} axes)" for name, rank in ranks.items())
        raise ModelRefused(
            f"no output of the graph of {label} is clearly a vector for each token",
            f"its outputs are {shown}",
            "give the setting output=NAME of one with 3 axes",
        )
    return found


def _require(label: str) -> None:
    try:
        import onnxruntime  # noqa: F401
        import tokenizers  # noqa: F401
    except ImportError as error:
        raise ModelRefused(
            f"{label} needs onnxruntime and tokenizers", str(error), "pip install 'patcache[onnx]'"
        ) from error
