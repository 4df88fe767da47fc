"""Missing texts through models: block by block, by each alone or by several in one pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patcache.records import Progress
from patcache.steps.encoding import Done, Step, Work, block_size
from patcache.steps.interrupts import Interrupts
from patcache.steps.loading import Loaded
from patcache.steps.needed import Scopes
from patcache.steps.pipeline import in_order, read_ahead
from patcache.steps.work import AnyNeeded, Counted, find_needed, work_of
from patcache.vectors.rows import AnyRows

if TYPE_CHECKING:
    from patcache.records import IntArray
    from patcache.store import StoreFolder


@dataclass(frozen=True, slots=True)
class Pass:
    """Texts that some models (by number) encode together. Shapes: positions (n,), in order."""

    members: tuple[int, ...]
    positions: IntArray


def passes_of(missing: Sequence[IntArray], size: int) -> list[Pass]:
    """Who encodes what with whom, so that each model's blocks are those it would make alone.

    What all lack at the end of their lists goes through all at once, after whole blocks that only
    some lack: those that a killed run had not yet written. Otherwise each model goes alone.
    missing: positions of each model; size: of a block.
    """
    wanting = [i for i, positions in enumerate(missing) if len(positions)]
    if not wanting:
        return []
    common = min((missing[i] for i in wanting), key=len)
    heads = {i: missing[i][: len(missing[i]) - len(common)] for i in wanting}
    is_shared = all(
        len(head) % size == 0 and np.array_equal(missing[i][len(head) :], common)
        for i, head in heads.items()
    )
    if not is_shared:
        return [Pass((i,), missing[i]) for i in wanting]
    alone = [Pass((i,), head) for i, head in heads.items() if len(head)]
    return [*alone, Pass(tuple(wanting), common)]


def check_run(store: StoreFolder, first: Loaded, rows: AnyRows, parts: Sequence[Scopes]) -> None:
    """Shows an embedder that asks for it (Checking) every text it lacks, before the first.

    Errors: ModelRefused, as the embedder finds.
    """
    look = getattr(first.embedder, "check_run", None)
    if look is None:
        return
    texts = _texts(store, first, rows, parts)
    one = next(texts, None)
    if one is not None:
        look(itertools.chain([one], texts))


def _texts(
    store: StoreFolder, first: Loaded, rows: AnyRows, parts: Sequence[Scopes]
) -> Iterator[str]:
    """Every text without a row, prompt included."""
    for part in parts:
        work = work_of(store, first.embedder, find_needed(store, first.spec, part))
        for block in work.blocks(rows.missing(work.keys)):
            for each in block.parts:
                yield from each.prepared


def encode_parts(
    store: StoreFolder,
    loaded: Sequence[Loaded],
    rows: Sequence[AnyRows],
    parts: Sequence[Scopes],
    progress: Progress,
) -> Counted:
    """Encodes what is missing of part after part, each looked up when its turn comes.

    progress: the total is an estimate until the last part was looked up.
    """
    counted = Counted()
    n_done = 0
    sizes = [sum(scope.n_patents for scope in part) for part in parts]
    for number, part in enumerate(parts):
        needed = find_needed(store, loaded[0].spec, part)
        counted = counted.plus(needed)
        later = sum(sizes[number + 1 :]) / sizes[number]  # in sizes of this part

        def advance(done: int, total: int, before: int = n_done, later: float = later) -> None:
            progress(before + done, before + round(total * (1 + later)))

        n_done += encode_passes(store, loaded, rows, needed, advance)
    if len(parts) > 1:
        progress(n_done, n_done)  # the last part may have lacked nothing
    return counted


def encode_passes(
    store: StoreFolder,
    loaded: Sequence[Loaded],
    rows: Sequence[AnyRows],
    needed: AnyNeeded,
    progress: Progress,
) -> int:
    """Encodes what is missing, by each model alone or by all in the same passes; the number."""
    first = loaded[0].embedder
    size = block_size(first.spec.embedder, first.device)
    passes = passes_of([each.missing(needed.keys) for each in rows], size)
    total = sum(len(each.positions) for each in passes)
    n_done = 0

    def count(n_texts: int) -> None:
        nonlocal n_done
        n_done += n_texts
        progress(n_done, total)

    count(0)
    for each in passes:
        embedder, *siblings = (loaded[i].embedder for i in each.members)
        work = work_of(store, embedder, needed, siblings)
        _encode_blocks(work, [rows[i] for i in each.members], each.positions, count)
    return total


def _encode_blocks(
    work: Work[Step],
    rows: Sequence[AnyRows],
    missing: IntArray,
    count: Callable[[int], None],
) -> None:
    """Encodes what is missing, while the next block is read and the last one written.

    rows: of each embedder of the work; each gets a block before any gets the next.
    count: is told how many texts a block had once it is on disk, in the thread that wrote it.
    Errors: KeyboardInterrupt, once what was begun is on disk.
    """
    with Interrupts() as interrupts:

        def encode(block: Step) -> list[Done] | None:
            return None if interrupts.is_asked else work.encode(block)

        def write(done: list[Done] | None) -> bool:
            if done is None:
                return False
            for mine, own in zip(rows, done, strict=True):
                mine.append(work.keys[own.positions], own.vectors, own.run)
            count(len(done[0].positions))
            return True

        prepared = in_order(work.prepare, read_ahead(work.blocks(missing)))
        # none ahead: a kill loses the block that is computed and the one that is written
        encoded = in_order(
            encode, prepared, threads=work.n_parallel, n_ahead=0, is_waited_for=False
        )
        for is_written in in_order(write, encoded):
            if not is_written:
                break
        interrupts.stop_if_asked()
