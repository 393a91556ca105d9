"""Values that threads make while another uses those made before, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

from ._one_by_one import is_slow

__all__ = ["ahead", "in_turn", "made_in_order"]

T = TypeVar("T")
V = TypeVar("V")
VALUES_AHEAD = 2
WAITING = 1
LOOK_S = 0.1


def in_turn(several: Iterable[Iterator[T]], most: int) -> Generator[T, None, None]:
    """The values of several iterators, one iterator after another. Beside the one whose turn it is, values of at most
    `most` others are made ahead, each by a thread.

    So there are never more than `(most + 1) * (VALUES_AHEAD + 1)` values that nobody has taken.
    """
    waiting: deque[Iterator[T]] = deque()
    stop = Event()
    try:
        for some in several:
            waiting.append(ahead(some, stop))
            if len(waiting) > most:
                yield from waiting.popleft()
        while waiting:
            yield from waiting.popleft()
    finally:
        stop.set()


def ahead(some: Iterator[T], stop: Event) -> Iterator[T]:
    """The values of an iterator. A thread makes a few of them ahead; it starts now and ends as soon as `stop` is set.

    An error of the iterator is raised where its value would be taken.
    """
    queue: Queue[tuple[T] | BaseException | None] = Queue(VALUES_AHEAD)

    def put(item: tuple[T] | BaseException | None) -> None:
        while not stop.is_set():
            with suppress(Full):
                queue.put(item, timeout=LOOK_S)
                return

    def work() -> None:
        try:
            for value in some:
                put((value,))
                if stop.is_set():
                    return
            put(None)
        except BaseException as problem:  # noqa: BLE001 - whatever it is, it is raised where the values are taken
            put(problem)

    Thread(target=work, daemon=True).start()
    return taken(queue)


def taken(queue: Queue[tuple[T] | BaseException | None]) -> Iterator[T]:
    """The values from a queue."""
    while (item := queue.get()) is not None:
        if isinstance(item, BaseException):
            raise item
        yield item[0]


def made_in_order(
    make: Callable[[V, int], T], values: Iterable[V], threads: int, is_large: Callable[[V], bool]
) -> Generator[T, None, None]:
    """`make(value, 1)` of each value, in order, on so many threads; of a large value `make(value, threads)`, alone.

    At most `threads + WAITING` results are there that nobody has taken. An error of `values` is raised behind all results of
    the values before it. Under `TOKSMITH_SLOW=1` the caller's thread makes one after another.
    """
    if is_slow():
        yield from (make(value, threads) for value in values)
        return
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for value in caught(values):
                if isinstance(value, Exception) or is_large(value):
                    while waiting:
                        yield waiting.popleft().result()
                    if isinstance(value, Exception):
                        raise value
                    yield make(value, threads)
                    continue
                waiting.append(pool.submit(make, value, 1))
                if len(waiting) > threads + WAITING:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def caught(values: Iterable[V]) -> Iterator[V | Exception]:
    """The values, and the error that ends them as the last of them."""
    try:
        yield from values
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is raised in its turn
        yield problem
