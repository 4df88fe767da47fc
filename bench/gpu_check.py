"""Whether the GPU path works and how fast it is: one run on a CUDA machine, without a network.

    python -m bench.gpu_check                     all of it; exit 2 where there is no CUDA
    python -m bench.gpu_check --tiny --device cpu the same steps on small shapes, to try the script

Embeds the demo corpus with a BERT-base shape and a decoder of 1.24 billion weights, both random, by
torch in fp32, bf16 and fp16, and BERT by ONNX Runtime. Each line: texts and tokens a second, share
of the rate of matrix products measured on the card in that arithmetic, peak memory, and the largest
difference of any number of the first vectors from those of the CPU in fp32, with its tolerance.
Exit 0 if all pass, 1 if one does not.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import report
from bench.random_models import (
    BERT_BASE,
    LLAMA_1B,
    TINY_BERT,
    TINY_LLAMA,
    add_tokenizer,
    n_flops,
    random_bert,
    random_llama,
)
from patcache.demo.corpus import generate
from patcache.embedders.base import Context, load
from patcache.embedders.export import export_onnx
from patcache.embedders.onnx import open_tokenizer
from patcache.embedders.presets import resolve
from patcache.errors import ModelRefused
from patcache.records import ModelRequest, Runtime

MAX_TOKENS = 512
BLOCK_TEXTS = 4096
# Largest difference of a number of a vector of length 1: rounding of fp32 in another order, and
# of 11 and 8 significant bits through all layers.
TOLERANCE = {"fp32": 1e-4, "fp16": 5e-3, "bf16": 3e-2}


@dataclass(frozen=True)
class Subject:
    """A model to check, its token numbers, and its first vectors by the CPU in fp32."""

    name: str
    folder: Path
    lengths: Sequence[int]
    wanted: Any


def main() -> int:
    """Runs every case; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small shapes and few texts")
    parser.add_argument("--texts", type=int, help="[default: the whole demo corpus; 24 if tiny]")
    asked = parser.parse_args()
    import torch

    if asked.device.startswith("cuda") and not torch.cuda.is_available():
        print(f"no CUDA here: torch {torch.__version__} sees no card; nothing was run")
        return 2
    n_texts = asked.texts or (24 if asked.tiny else None)
    texts = demo_texts(n_texts)
    passed = []
    with tempfile.TemporaryDirectory() as scratch:
        for family in ("bert", "decoder"):
            folder = made(Path(scratch) / family, family, texts, is_tiny=asked.tiny)
            n_reference = 8 if family == "decoder" else 32
            subject = Subject(
                family, folder, n_tokens(folder, texts), by_cpu(folder, texts[:n_reference])
            )
            for arithmetic in TOLERANCE:
                passed.append(check(subject, folder, texts, asked.device, arithmetic, "torch"))
            if family == "bert":
                graph = export_onnx(folder, Path(scratch) / "graph").graph.parent
                passed.append(check(subject, graph, texts, asked.device, "fp32", "onnx"))
    print(f"{sum(passed)} of {len(passed)} passed on {asked.device}")
    return 0 if all(passed) else 1


def check(
    subject: Subject, folder: Path, texts: list[str], device: str, arithmetic: str, engine: str
) -> bool:
    """Embeds all texts one way, prints the line, and says whether it passed."""
    settings = {} if engine == "onnx" else {"arithmetic": arithmetic}
    request = ModelRequest(str(folder), settings=settings)
    facts = {"model": subject.name, "engine": engine, "arithmetic": arithmetic}
    start_memory(device)
    try:
        embedder = load(resolve(request), Context(Runtime(device=device)))
        embedder.encode(texts[:BLOCK_TEXTS], "document")  # warm: kernels are chosen, memory taken
        start = time.perf_counter()
        blocks = range(0, len(texts), BLOCK_TEXTS)
        vectors = np.concatenate(
            [embedder.encode(texts[at : at + BLOCK_TEXTS], "document").vectors for at in blocks]
        )
        elapsed_s = time.perf_counter() - start
    except ModelRefused as error:
        report("gpu_check", **facts, verdict="FAIL", reason=str(error))
        return False
    memory = peak_memory(device, engine)
    difference = float(np.abs(vectors[: len(subject.wanted)] - subject.wanted).max())
    is_good = difference <= TOLERANCE[arithmetic] and bool(np.isfinite(vectors).all())
    config = json.loads((subject.folder / "config.json").read_text(encoding="utf-8"))
    flops = n_flops(config, subject.lengths) / elapsed_s
    report(
        "gpu_check",
        **facts,
        device=embedder.device,
        card=embedder.provenance.get("gpu"),
        provider=embedder.provenance.get("provider"),
        batch_tokens=embedder.provenance["batch_tokens"],
        n_texts=len(texts),
        texts_per_s=round(len(texts) / elapsed_s, 1),
        tokens_per_s=round(sum(subject.lengths) / elapsed_s),
        share_of_peak=round(flops / matmul_flops(device, arithmetic), 3),
        peak_memory_bytes=memory,
        largest_difference=difference,
        tolerance=TOLERANCE[arithmetic],
        verdict="PASS" if is_good else "FAIL",
    )
    del embedder
    gc.collect()
    return is_good


def made(folder: Path, family: str, texts: list[str], *, is_tiny: bool) -> Path:
    """A random model of the family with a tokenizer of the corpus's words."""
    if family == "bert":
        random_bert(folder, TINY_BERT if is_tiny else BERT_BASE)
    else:
        random_llama(folder, TINY_LLAMA if is_tiny else LLAMA_1B)
    add_tokenizer(folder, texts, special=family == "bert", limit=MAX_TOKENS)
    return folder


def by_cpu(folder: Path, texts: list[str]) -> Any:
    embedder = load(resolve(ModelRequest(str(folder))), Context(Runtime(device="cpu")))
    return embedder.encode(texts, "document").vectors


def n_tokens(folder: Path, texts: list[str]) -> list[int]:
    tokenizer = open_tokenizer(folder / "tokenizer.json", MAX_TOKENS)
    return [len(encoding.ids) for encoding in tokenizer.encode_batch(texts)]


def demo_texts(n_texts: int | None) -> list[str]:
    """Titles and abstracts of the demo corpus."""
    table = generate().slice(0, n_texts)
    pairs = zip(table["title"].to_pylist(), table["abstract"].to_pylist(), strict=True)
    return [f"{title}. {abstract}" for title, abstract in pairs]


def matmul_flops(device: str, arithmetic: str) -> float:
    """Operations a second of large matrix products in that arithmetic: what the card can do."""
    import torch

    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[arithmetic]
    size = 8192 if device.startswith("cuda") else 256
    left = torch.rand((size, size), device=device).to(dtype)
    best = 0.0
    for _ in range(10):
        synchronize(device)
        start = time.perf_counter()
        left @ left
        synchronize(device)
        best = max(best, 2 * size**3 / (time.perf_counter() - start))
    return best


def synchronize(device: str) -> None:
    import torch

    if device.startswith("cuda"):
        torch.cuda.synchronize()


def start_memory(device: str) -> None:
    import torch

    if device.startswith("cuda"):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak_memory(device: str, engine: str) -> int | None:
    """Bytes of the card: torch's own peak, or with ONNX Runtime all that is taken now."""
    import torch

    if not device.startswith("cuda"):
        return None
    if engine == "torch":
        return int(torch.cuda.max_memory_allocated())
    free, whole = torch.cuda.mem_get_info()
    return int(whole - free)


if __name__ == "__main__":
    sys.exit(main())
