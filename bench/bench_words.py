"""jieba through patcache's memory of runs, against plain jieba.lcut: same words, texts a second.

python -m bench.bench_words ../shared/data/patents_en.parquet [NUMBER OF TEXTS]
"""

from __future__ import annotations

import json
import logging
import platform
import statistics
import sys
import time

import jieba
import pyarrow.parquet as pq

from patcache.embedders.words import JiebaWords, words_of

REPEATS = 3


def main(path: str, n_texts: str = "") -> None:
    """One JSON line: medians of interleaved runs, and whether every word is equal."""
    jieba.setLogLevel(logging.ERROR)
    jieba.initialize()
    table = pq.read_table(path, columns=["title", "abstract"]).to_pylist()
    table = table[: int(n_texts or len(table))]
    texts = [f"{row['title']}. {row['abstract'] or ''}" for row in table]
    plain_s, memo_s, is_equal = [], [], True
    for _ in range(REPEATS):
        start = time.process_time()
        plain = [words_of(jieba.lcut(text)) for text in texts]
        middle = time.process_time()
        cut = JiebaWords()  # its dictionary is read here, outside the clock, and its memory empty
        begin = time.process_time()
        memo = [cut(text) for text in texts]
        end = time.process_time()
        plain_s.append(middle - start)
        memo_s.append(end - begin)
        is_equal &= plain == memo
    ratios = [a / b for a, b in zip(plain_s, memo_s, strict=True)]
    line = {
        "bench": "words",
        "file": path.rpartition("/")[2],
        "n_texts": len(texts),
        "machine": platform.machine(),
        "repeats": REPEATS,
        "jieba_texts_per_cpu_s": round(len(texts) / statistics.median(plain_s)),
        "patcache_texts_per_cpu_s": round(len(texts) / statistics.median(memo_s)),
        "ratio": [round(ratio, 1) for ratio in ratios],
        "is_equal": is_equal,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main(*sys.argv[1:3])
