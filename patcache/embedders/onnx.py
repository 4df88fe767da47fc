"""Networks by ONNX Runtime: the fastest way on a CPU, and no torch needed.

On a CPU one session with a single thread inside is shared by one Python thread a core, each with
one text, or a few of exactly one length where that was seen to give the same bits: no padding, the
same bits for a text whatever stands beside it. On a GPU, or where a number of tokens is asked for,
texts of like length go in padded batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patcache.embedders.base import Context, Encoded, Resolved
from patcache.embedders.batches import (
    Batches,
    Prepared,
    check_overflow,
    is_out_of_memory,
    pad,
    tokenized,
)
from patcache.embedders.finish import Finish
from patcache.embedders.installed import n_cores, versions
from patcache.embedders.model_folder import (
    PROBE,
    identity_of,
    read_facts,
    refuse_too_short,
    tokenizer_digest,
)
from patcache.embedders.onnx_graph import read_graph
from patcache.embedders.settings import POOLINGS
from patcache.errors import ModelRefused
from patcache.records import Role, Runtime, Spec

if TYPE_CHECKING:
    from patcache.records import FloatArray

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("last_hidden_state", "token_embeddings", "hidden_states")
BATCH_TOKENS = {"cuda": 16_384}  # on a CPU nothing is padded
GROUP_TOKENS = 512  # in one call of texts of one length
GROUPS_A_THREAD = 8
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


class OnnxEmbedder:
    """Texts through a graph: without padding on all cores, or in batches.

    budget: tokens in a batch; None: no padding. is_groupable: texts of one length may go together.
    """

    def __init__(
        self,
        spec: Spec,
        network: Network,
        tokenizer: Any,
        finish: Finish,
        width: int,
        threads: int,
        *,
        budget: int | None,
        is_groupable: bool,
    ) -> None:
        self.spec = spec
        self.device = network.device
        self.provenance: Mapping[str, Any] = {
            **versions("onnxruntime", "onnxruntime-gpu", "tokenizers", "numpy"),
            "threads": threads,
            "batch_tokens": budget,
            "equal_lengths_together": is_groupable,
            "provider": network.session.get_providers()[0],
        }
        self._network = network
        self._tokenizer = tokenizer
        self._finish = finish
        self._width = width
        self._threads = threads
        self._is_groupable = is_groupable
        self._batches = None if budget is None else Batches(budget, spec.label, self.device)

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Row i for texts[i]; a text without a token has the zero vector."""
        return self.encode_prepared(self.prepare(texts, role))

    def prepare(self, texts: Sequence[str], role: Role) -> Prepared:
        """Token ids of each text, cut to fit."""
        return tokenized(self._tokenizer, texts)

    def encode_prepared(self, prepared: Prepared) -> Encoded:
        """Row i for text i.

        Errors: ModelRefused for numbers beyond fp16, or where one text alone is out of memory.
        """
        return self.encode_each([self], prepared)[0]

    def encode_each(self, siblings: Sequence[OnnxEmbedder], prepared: Prepared) -> list[Encoded]:
        """By each sibling, row i for text i, from one run of the graph.

        Errors: as of encode_prepared.
        """
        poolings = [sibling.spec.identity["pooling"] for sibling in siblings]
        compute = self._unpadded if self._batches is None else self._batched
        parts = np.split(compute(prepared, poolings), len(poolings), axis=1)
        return [each._finished(part, prepared) for each, part in zip(siblings, parts, strict=True)]

    def sibling(self, resolved: Resolved) -> OnnxEmbedder:
        """The same graph under settings that differ in AFTER_TOKENS alone, as load() gives it.

        Errors: ModelRefused where nothing says how to pool.
        """
        settings, label = resolved.settings, resolved.label
        facts = read_facts(Path(settings["tokenizer"]), settings, label)
        identity = {**self.spec.identity, **identity_of(facts, settings)}
        return OnnxEmbedder(
            Spec(label, identity, facts.output_dim(self._width)),
            self._network,
            self._tokenizer,
            Finish(facts.heads, settings["normalize"]),
            self._width,
            self._threads,
            budget=None if self._batches is None else self._batches.budget,
            is_groupable=self._is_groupable,
        )

    def _finished(self, pooled: FloatArray, prepared: Prepared) -> Encoded:
        pooled = np.ascontiguousarray(pooled)  # the same bits, whatever stood beside it
        arithmetic = self.spec.identity["engine"]["arithmetic"]
        check_overflow(pooled, prepared.texts, arithmetic, self.spec.label)
        return Encoded(self._finish(pooled), prepared.n_truncated)

    def _unpadded(self, prepared: Prepared, poolings: Sequence[str]) -> FloatArray:
        """Each text in a call of its own, or with others of its length.

        The longest go first, in groups small enough that no core waits for another at the end.
        """
        width = self._width * len(poolings)
        pooled = np.zeros((len(prepared.ids), width), dtype=np.float32)
        share = len(prepared.ids) // (GROUPS_A_THREAD * self._threads)

        def encode_group(rows: list[int]) -> None:
            ids, types = ([kept[i] for i in rows] for kept in (prepared.ids, prepared.type_ids))
            pooled[rows] = self._network.pooled(ids, types, poolings)

        groups = prepared.equal_lengths(share if self._is_groupable else 1, GROUP_TOKENS)
        with ThreadPoolExecutor(self._threads) as pool:
            for _ in pool.map(encode_group, groups):
                pass
        return pooled

    def _batched(self, prepared: Prepared, poolings: Sequence[str]) -> FloatArray:
        batches = cast(Batches, self._batches)

        def compute(members: Sequence[int]) -> FloatArray | None:
            ids, types = ([rows[i] for i in members] for rows in (prepared.ids, prepared.type_ids))
            try:
                return self._network.pooled(ids, types, poolings)
            except Exception as error:  # ONNX Runtime's errors have no ancestor of their own
                if not is_out_of_memory(error):
                    raise
                return None

        pooled = batches.pooled(prepared, self._width * len(poolings), compute)
        self.provenance = {**self.provenance, "batch_tokens": batches.budget}
        return pooled


class Network:
    """A graph that gives a vector for each token, of which one is made in several ways."""

    def __init__(self, session: Any, output: str) -> None:
        self.session = session
        self.device = next(
            (name for name, p in PROVIDERS.items() if p == session.get_providers()[0]),
            str(session.get_providers()[0]),
        )
        self._inputs = [entry.name for entry in session.get_inputs()]
        # A graph traced with a fixed number of texts states that number as the first axis.
        self.takes_several = all(entry.shape[0] != 1 for entry in session.get_inputs())
        self._output = output

    def pooled(
        self,
        ids: Sequence[Sequence[int]],
        type_ids: Sequence[Sequence[int]],
        poolings: Sequence[str],
    ) -> FloatArray:
        """The mean of the vectors of each text's tokens, the first or the last one, side by side.

        Shapes: n rows of ids, p poolings -> (n, p * width) float32.
        """
        padded, mask = pad(ids)
        types, _ = pad(type_ids)
        columns = dict(zip(INPUTS, (padded, mask, types), strict=True))
        feed = {name: columns[name] for name in self._inputs}
        tokens = self.session.run([self._output], feed)[0]
        if len(tokens) != len(ids):
            raise ModelRefused(
                f"the output {self._output} of the graph is no vector for each token",
                f"it gives {len(tokens)} rows for {len(ids)} texts",
            )
        own = [tokens[i, : len(row)] for i, row in enumerate(ids)]
        return np.stack([np.concatenate([_one(each, way) for way in poolings]) for each in own])


def _one(tokens: FloatArray, pooling: str) -> FloatArray:
    if pooling == "mean":
        mean: FloatArray = tokens.astype(np.float32).mean(axis=0)
        return mean
    one: FloatArray = tokens[0 if pooling == "cls" else -1].astype(np.float32)
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
    refuse_too_short(facts.max_tokens, tokenizer.num_special_tokens_to_add(False), label)
    threads = context.runtime.threads or n_cores()
    session = open_session(graph, context.runtime, label)
    output = _output(session, settings["output"], label)
    network = Network(session, output)
    probe = tokenizer.encode(PROBE)
    width = network.pooled([probe.ids], [probe.type_ids], [facts.pooling]).shape[1]
    found = read_graph(graph)
    identity = {
        "embedder": "onnx",
        "engine": {"name": "onnx", "arithmetic": found.arithmetic, "graph": found.digest},
        "output": output,
        "tokenizer": tokenizer_digest(folder, probe.ids),
        **identity_of(facts, settings),
    }
    finish = Finish(facts.heads, settings["normalize"])
    spec = Spec(label, identity, facts.output_dim(width))
    # Activations of 8 bits are scaled by the largest of a call: there a text must be alone.
    is_batchable = network.takes_several and found.arithmetic not in ("int8", "int4")
    budget = context.runtime.batch_tokens or BATCH_TOKENS.get(network.device)
    return OnnxEmbedder(
        spec,
        network,
        tokenizer,
        finish,
        width,
        threads,
        budget=budget if is_batchable else None,
        is_groupable=is_batchable and budget is None and is_groupable(network, probe.ids),
    )


def is_groupable(network: Network, ids: Sequence[int]) -> bool:
    """Whether texts of one length have the same bits in one call as alone, tried on this machine.

    However they are pooled. ids: of a text, whose beginnings and reversals are the texts.
    """
    parts = [list(ids), list(ids[: len(ids) // 2]), list(ids[:3])]
    return all(_gives_same_bits(network, part) for part in parts if part)


def _gives_same_bits(network: Network, part: list[int]) -> bool:
    rows = [part, part[::-1], part[1:] + part[:1]]
    types = [0] * len(part)
    alone = np.concatenate([network.pooled([row], [types], POOLINGS) for row in rows])
    try:
        together = network.pooled(rows, [types] * len(rows), POOLINGS)
        return np.array_equal(together, alone)
    except Exception:  # a graph traced for one text; ONNX Runtime's errors have no ancestor
        return False


def open_tokenizer(path: Path, max_tokens: int) -> Any:
    """A tokenizer that cuts at max_tokens and never pads, whatever its file says about either."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def open_session(graph: Path, runtime: Runtime, label: str) -> Any:
    """A session on the provider asked for, with one thread inside, or all of them for batches.

    ONNX Runtime falls back to the CPU without an error, so the provider is read back.
    Errors: ModelRefused if it is not the one asked for and the CPU is not allowed instead.
    """
    import onnxruntime

    available = onnxruntime.get_available_providers()
    kind, _, number = runtime.device.partition(":")
    wanted = PROVIDERS["cuda"] if PROVIDERS["cuda"] in available else PROVIDERS["cpu"]
    wanted = wanted if kind == "auto" else PROVIDERS.get(kind, kind)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = (runtime.threads or n_cores()) if runtime.batch_tokens else 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4 if kind == "auto" else 3
    providers: list[Any] = [PROVIDERS["cpu"]]
    if wanted in available and wanted != PROVIDERS["cpu"]:
        providers.insert(0, (wanted, _provider_options(wanted, number)))
    try:
        session = onnxruntime.InferenceSession(
            str(graph), options, providers=providers, enable_fallback=0
        )
    except (ValueError, RuntimeError) as error:  # a device number that is not there
        raise ModelRefused(
            f"{label} cannot run on {runtime.device}", str(error).splitlines()[0][:300]
        ) from error
    found = session.get_providers()[0]
    if kind != "auto" and found != wanted and not runtime.allow_cpu:
        raise ModelRefused(
            f"asked for {runtime.device} for {label}, but onnxruntime runs on {found}",
            f"onnxruntime {onnxruntime.__version__} offers {', '.join(available)}",
            "install onnxruntime-gpu with its CUDA libraries, or allow the CPU (--allow-cpu)",
        )
    return session


def _provider_options(provider: str, number: str) -> dict[str, Any]:
    """Of CUDA: which card, arithmetic that is fp32 and not TF32, memory as it is needed."""
    if provider != PROVIDERS["cuda"]:
        return {}
    return {
        "device_id": int(number or 0),
        "use_tf32": 0,
        "arena_extend_strategy": "kSameAsRequested",
    }


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
