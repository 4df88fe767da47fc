"""Word ids of texts, kept on disk once per segmenter and text: TF-IDF and Word2Vec share them.

A block is a folder that never changes: keys.npy, indptr.npy, ids.npy (numbers into its own
words.txt). It is written aside and renamed, so that a killed process or a second one harms
nothing; a damaged block is removed. Everything here can be deleted and comes back.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from patcache.embedders.words import Segmenter, segmenter
from patcache.hashing import KEY_BYTES, keys_digest, text_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_TEXTS = 8192  # a block is written once so many new texts wait
_KEY = f"S{KEY_BYTES}"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Words of some texts as numbers: those of text i are ids[indptr[i]:indptr[i + 1]].

    Shapes: ids (total,) int32 into TokenCache.words; indptr (n + 1,) int64.
    """

    ids: NDArray[np.int32]
    indptr: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def blocks(self, n_texts: int) -> Iterator[Tokens]:
        """The same in parts of n_texts texts."""
        for start in range(0, len(self), n_texts):
            indptr = self.indptr[start : start + n_texts + 1]
            yield Tokens(self.ids[indptr[0] : indptr[-1]], indptr - indptr[0])


@dataclass(frozen=True, slots=True)
class _Block:
    ids: NDArray[np.int32]  # memory-mapped
    indptr: NDArray[np.int64]
    number_of: NDArray[np.int32]  # (words of the block,): their numbers in TokenCache.words

    def row(self, index: int) -> NDArray[np.int32]:
        own = self.ids[self.indptr[index] : self.indptr[index + 1]]
        numbers: NDArray[np.int32] = self.number_of.take(own)
        return numbers


class TokenCache:
    """Words of texts as numbers, segmenting only the texts that no block on disk holds.

    words: every word met so far; a word's number is its place. It only grows.
    """

    def __init__(self, setting: Mapping[str, str], folder: Path | None) -> None:
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}
        self._setting = setting
        self._segment: Segmenter | None = None
        self._folder = folder and folder / "tokens" / f"{setting['name']}-{setting['version']}"
        self._waiting: dict[bytes, NDArray[np.int32]] = {}
        self._blocks: list[_Block] = []
        self._keys = np.empty(0, dtype=_KEY)
        self._places = np.empty((0, 2), dtype=np.int64)  # block, row
        self._read_blocks()

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Words of each text as numbers."""
        keys = text_keys(texts).view(_KEY).ravel()
        at = np.searchsorted(self._keys, keys)
        rows = [
            self._row(key, int(place), text)
            for key, place, text in zip(keys, at, texts, strict=True)
        ]
        indptr = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=indptr[1:])
        ids = np.concatenate([*rows, np.empty(0, dtype=np.int32)])
        if len(self._waiting) >= BLOCK_TEXTS:
            self.flush()
        return Tokens(ids, indptr)

    def collect(self, texts: Iterable[str]) -> Tokens:
        """Words of a whole corpus, block by block; the numbers lie in a file, not in memory."""
        stream, counts = iter(texts), [np.zeros(1, dtype=np.int64)]
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            while block := list(islice(stream, BLOCK_TEXTS)):
                tokens = self.tokens(block)
                file.write(tokens.ids.tobytes())
                counts.append(np.diff(tokens.indptr))
            self.flush()
            indptr = np.cumsum(np.concatenate(counts))
            file.flush()
            empty = np.empty(0, dtype=np.int32)
            ids = np.memmap(file, dtype=np.int32, mode="r") if indptr[-1] else empty
            return Tokens(ids, indptr)

    def flush(self) -> None:
        """Writes the waiting texts as one block: aside, then renamed to its digest."""
        if self._folder is None or not self._waiting:
            return
        keys = sorted(self._waiting)
        rows = [self._waiting[key] for key in keys]
        used, ids = np.unique(np.concatenate(rows), return_inverse=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".writing-", dir=self._folder))
        _save(aside / "keys.npy", np.array(keys, dtype=_KEY))
        _save(aside / "indptr.npy", np.cumsum([0, *map(len, rows)], dtype=np.int64))
        _save(aside / "ids.npy", ids.astype(np.int32))
        _write(aside / "words.txt", "".join(f"{self.words[i]}\n" for i in used).encode())
        target = self._folder / keys_digest(keys)[:16]
        try:
            aside.rename(target)
        except OSError:  # another process wrote the same block first
            shutil.rmtree(aside)
        self._waiting.clear()
        self._add_block(target)

    def _row(self, key: bytes, place: int, text: str) -> NDArray[np.int32]:
        if place < len(self._keys) and self._keys[place] == key:
            block, row = map(int, self._places[place])
            return self._blocks[block].row(row)
        full_key = bytes(key).ljust(KEY_BYTES, b"\0")  # numpy strips zero bytes at the end
        if full_key not in self._waiting:
            self._segment = self._segment or segmenter(self._setting)
            self._waiting[full_key] = self._number(self._segment(text))
        found = self._waiting[full_key]
        if self._folder is None:
            del self._waiting[full_key]
        return found

    def _number(self, words: Iterable[str]) -> NDArray[np.int32]:
        return np.fromiter(map(self._number_of, words), dtype=np.int32)

    def _number_of(self, word: str) -> int:
        number = self._numbers.setdefault(word, len(self.words))
        if number == len(self.words):
            self.words.append(word)
        return number

    def _read_blocks(self) -> None:
        if self._folder is None or not self._folder.is_dir():
            return
        for folder in sorted(self._folder.iterdir()):
            if folder.is_dir() and not folder.name.startswith("."):
                self._add_block(folder)

    def _add_block(self, folder: Path) -> None:
        try:
            keys, indptr, ids, words = _load(folder)
        except (OSError, ValueError, EOFError) as error:
            log.warning("removed the damaged token block %s: %s", folder, error)
            shutil.rmtree(folder, ignore_errors=True)
            return
        self._blocks.append(_Block(ids, indptr, self._number(words)))
        places = np.stack([np.full(len(keys), len(self._blocks) - 1), np.arange(len(keys))], axis=1)
        merged = np.concatenate([self._keys, keys])
        order = np.argsort(merged, kind="stable")
        self._keys = merged[order]
        self._places = np.concatenate([self._places, places])[order]


def _load(
    folder: Path,
) -> tuple[NDArray[np.bytes_], NDArray[np.int64], NDArray[np.int32], list[str]]:
    """keys, indptr, ids and words of a block. Errors: ValueError if they do not fit together."""
    keys = np.load(folder / "keys.npy", allow_pickle=False)
    indptr = np.load(folder / "indptr.npy", allow_pickle=False)
    ids = np.load(folder / "ids.npy", allow_pickle=False)
    words = (folder / "words.txt").read_bytes().decode().split("\n")[:-1]
    if keys.dtype != np.dtype(_KEY) or len(indptr) != len(keys) + 1 or indptr[-1] != len(ids):
        raise ValueError("its arrays do not fit together")
    if len(ids) and not 0 <= ids.min() <= ids.max() < len(words):
        raise ValueError("its numbers and words do not fit together")
    if len(ids):  # checked above, read from now on through the page cache only
        ids = np.load(folder / "ids.npy", mmap_mode="r", allow_pickle=False)
    return keys, indptr, ids, words


def _save(path: Path, array: NDArray[np.generic]) -> None:
    with path.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)
        stream.flush()
        os.fsync(stream.fileno())


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
