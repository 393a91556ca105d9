"""Ordered prefetching on threads: values in order, few at a time, and errors in the places of their values (`_corpus/prefetch.py`)."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from processors import LIMIT_S

from toksmith._corpus.prefetch import chain_prefetched, map_ordered, wait_for_demand


def never(value: int) -> bool:
    return False


@pytest.mark.parametrize("slow", ["0", "1"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_values_come_in_order(threads: int, slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKSMITH_SLOW", slow)
    made = map_ordered(lambda value, own: value * value, range(100), threads, never)
    assert list(made) == [value * value for value in range(100)]


def test_a_later_value_does_not_wait_for_an_earlier_one() -> None:
    second_is_made = threading.Event()

    def make(value: int, own: int) -> int:
        if value:
            second_is_made.set()
        elif not second_is_made.wait(LIMIT_S):
            raise AssertionError("the second value waited for the first")
        return value

    assert list(map_ordered(make, range(2), 2, never)) == [0, 1]


def test_the_caller_makes_a_large_value_alone_with_all_threads() -> None:
    busy: set[int] = set()
    found: list[tuple[int, bool, set[int]]] = []

    def make(value: int, own: int) -> int:
        busy.add(value)
        if value % 5 == 4:
            found.append((own, threading.current_thread() is threading.main_thread(), set(busy)))
        busy.discard(value)
        return value

    assert list(map_ordered(make, range(20), 3, lambda value: value % 5 == 4)) == list(range(20))
    assert found == [(3, True, {value}) for value in (4, 9, 14, 19)]


def test_an_error_comes_after_the_values_before_it() -> None:
    def failing() -> Iterator[int]:
        yield from range(7)
        raise OSError("the disk is gone")

    def make(value: int, own: int) -> int:
        if value == 5:
            raise ValueError("five")
        return value

    found: list[int] = []
    with pytest.raises(OSError, match="the disk is gone"):
        found.extend(map_ordered(lambda value, own: value, failing(), 2, never))
    with pytest.raises(ValueError, match="five"):
        found.extend(map_ordered(make, failing(), 2, never))
    assert found == [*range(7), *range(5)]


def test_few_values_are_taken_ahead_of_demand() -> None:
    taken: list[int] = []

    def counted() -> Iterator[int]:
        for value in range(1000):
            taken.append(value)
            yield value

    made = map_ordered(lambda value, own: value, counted(), 2, never)
    assert next(made) == 0
    assert len(taken) == 4, "two in progress, one that waits, and the next"
    made.close()
    assert len(taken) == 4


def test_a_large_value_waits_until_those_before_it_are_used() -> None:
    """Both within an iterator and among all iterators that are read at once."""
    used: list[int] = []
    seen: list[tuple[int, int]] = []

    def some(start: int) -> Iterator[int]:
        for value in range(start, start + 10):
            if value % 3 == 0:
                wait_for_demand()
                seen.append((value, len(used)))
            yield value

    found = chain_prefetched(map(some, range(0, 50, 10)), 3)
    while len(used) < 50:
        used.append(next(found))
    assert used == [*range(50)]
    assert seen == [(value, value) for value in range(50) if value % 3 == 0]


def test_a_thread_that_waits_for_demand_ends_with_the_iterator() -> None:
    ended = threading.Event()

    def some() -> Iterator[int]:
        yield 1
        wait_for_demand()
        ended.set()
        yield 2

    found = chain_prefetched([some()], 1)
    assert next(found) == 1
    found.close()
    assert ended.wait(LIMIT_S)
    wait_for_demand()  # does nothing on a thread that makes no values ahead
