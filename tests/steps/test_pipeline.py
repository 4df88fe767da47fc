"""Stages overlap, keep their order, and leave nothing running or unsaid."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from patcache.steps.pipeline import in_order, read_ahead


def counted(n: int, taken: list[int]) -> Generator[int, None, None]:
    for number in range(n):
        taken.append(number)
        yield number


def test_stages_keep_the_order_of_their_items() -> None:
    squares = in_order(lambda x: x * x, read_ahead(counted(50, [])), threads=4)
    assert list(in_order(str, squares)) == [str(x * x) for x in range(50)]


def test_no_more_is_taken_than_what_is_asked_for_and_the_next() -> None:
    taken: list[int] = []
    items = read_ahead(counted(100, taken))
    assert next(items) == 0
    items.close()
    assert taken in ([0], [0, 1])


def test_the_next_item_is_worked_on_while_one_is_used() -> None:
    begun = [threading.Event() for _ in range(3)]

    def work(number: int) -> int:
        begun[number].set()
        return number

    results = in_order(work, counted(3, []))
    assert next(results) == 0
    assert begun[1].wait(10)
    results.close()


def test_several_threads_work_at_once() -> None:
    meeting = threading.Barrier(3, timeout=10)  # broken unless three are there together

    def work(number: int) -> int:
        meeting.wait()
        return number

    assert list(in_order(work, counted(6, []), threads=3)) == list(range(6))


def test_an_error_comes_where_its_result_would() -> None:
    def work(number: int) -> int:
        if number == 2:
            raise LookupError("two")
        return number

    found = []
    with pytest.raises(LookupError, match="two"):
        for item in in_order(work, read_ahead(counted(9, []))):
            found.append(item)
    assert found == [0, 1]


def test_an_error_of_the_source_is_raised_and_the_source_closed() -> None:
    closed = []

    def broken() -> Generator[int, None, None]:
        try:
            yield 1
            raise OSError("gone")
        finally:
            closed.append(True)

    with pytest.raises(OSError, match="gone"):
        list(in_order(lambda x: x, read_ahead(broken())))
    assert closed == [True]


def test_leaving_early_waits_for_what_runs_and_closes_the_source() -> None:
    finished = []
    release = threading.Event()

    running = threading.Event()

    def slow(number: int) -> int:
        if number == 1:
            running.set()
            release.wait(10)
        finished.append(number)
        return number

    results = in_order(slow, counted(5, []))
    assert next(results) == 0
    assert running.wait(10)
    release.set()
    results.close()
    assert finished == [0, 1]
