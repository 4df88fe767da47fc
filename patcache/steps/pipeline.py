"""Work in stages that overlap: while one block is computed, the next is read, the last written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

In = TypeVar("In")
Out = TypeVar("Out")
_END: Any = object()


def read_ahead(items: Generator[In, None, None]) -> Generator[In, None, None]:
    """The items as they come, each taken in another thread before it is asked for."""
    with ThreadPoolExecutor(1) as pool:
        try:
            begun: Future[In] = pool.submit(next, items, _END)
            while (item := begun.result()) is not _END:
                begun = pool.submit(next, items, _END)
                yield item
        finally:
            pool.shutdown(cancel_futures=True)
            items.close()


def in_order(
    work: Callable[[In], Out],
    items: Generator[In, None, None],
    *,
    threads: int = 1,
    n_ahead: int = 1,
    is_waited_for: bool = True,
) -> Generator[Out, None, None]:
    """work(item) for each item in its order, begun in as many threads, each result taken in turn.

    An error of `work` is raised where its result would come; what was begun after it is left.
    n_ahead: items begun, beside one a thread, before a result is taken.
    is_waited_for: whether leaving early waits for what runs.
    """
    pool = ThreadPoolExecutor(threads)
    begun: deque[Future[Out]] = deque()
    try:
        for item in items:
            begun.append(pool.submit(work, item))
            if len(begun) == threads + n_ahead:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        pool.shutdown(wait=is_waited_for, cancel_futures=True)
        items.close()
