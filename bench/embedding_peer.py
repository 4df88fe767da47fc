"""The other side of bench_embedding: sentence-transformers in a Python environment of its own.

Reads one JSON line a call from standard input, answers with one on what was standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    """Opens the model of argv[1] by the back end of argv[2], then encodes what it is sent."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print goes to stderr
    import numpy as np
    from sentence_transformers import SentenceTransformer, __version__

    folder, backend, max_tokens = sys.argv[1:4]
    more = {"model_kwargs": {"provider": "CPUExecutionProvider"}} if backend == "onnx" else {}
    model = SentenceTransformer(folder, backend=backend, device="cpu", **more)
    model.max_seq_length = int(max_tokens)
    print(json.dumps({"version": __version__}), file=answers, flush=True)
    for line in sys.stdin:
        call = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        vectors = model.encode(call["texts"], normalize_embeddings=True, show_progress_bar=False)
        answer = {"elapsed_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
        np.save(call["out"], np.asarray(vectors, dtype=np.float32))
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
