"""Ordered prefetching on threads: workers make the next values while the caller uses the earlier ones.

Before a worker makes a large value, it calls `wait_for_demand`: so one large value exists at a time, for any number of
threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from queue import Full, Queue
from threading import Condition, Event, Thread, local
from typing import TypeVar

T = TypeVar("T")
V = TypeVar("V")
VALUES_AHEAD = 2
WAITING = 1
LOOK_S = 0.1
OWN = local()


class DemandCounter:
    """Counts the values of an iterator that were made, and the values that were requested."""

    def __init__(self, stop: Event) -> None:
        self._changed = Condition()
        self._stop, self._made, self._asked = stop, 0, 0

    def ask(self) -> None:
        """Requests the next value; all values before it have been used."""
        with self._changed:
            self._asked += 1
            self._changed.notify_all()

    def made(self) -> None:
        self._made += 1

    def wait(self) -> None:
        """Waits until the next value is requested."""
        with self._changed:
            while self._asked <= self._made and not self._stop.is_set():
                self._changed.wait(LOOK_S)


def wait_for_demand() -> None:
    """On a prefetching thread: waits until all values that it has made are used, and the next one is requested."""
    turn: DemandCounter | None = getattr(OWN, "turn", None)
    if turn is not None:
        turn.wait()


def chain_prefetched(several: Iterable[Iterator[T]], most: int) -> Generator[T, None, None]:
    """The values of several iterators, one iterator after another. In addition to the current iterator, at most `most`
    others are prefetched, each by a thread.

    So at most `(most + 1) * (VALUES_AHEAD + 1)` values are waiting at any time.
    """
    iterators: deque[Iterator[T]] = deque()
    stop = Event()
    try:
        for iterator in several:
            iterators.append(prefetch_values(iterator, stop))
            if len(iterators) > most:
                yield from iterators.popleft()
        while iterators:
            yield from iterators.popleft()
    finally:
        stop.set()


def prefetch_values(some: Iterator[T], stop: Event) -> Iterator[T]:
    """The values of an iterator, prefetched by a thread, which starts now and ends as soon as `stop` is set.

    An error of the iterator is raised in place of its value.
    """
    queue: Queue[tuple[T] | BaseException | None] = Queue(VALUES_AHEAD)
    turn = DemandCounter(stop)

    def put(item: tuple[T] | BaseException | None) -> None:
        while not stop.is_set():
            with suppress(Full):
                queue.put(item, timeout=LOOK_S)
                return

    def work() -> None:
        OWN.turn = turn
        try:
            for value in some:
                put((value,))
                turn.made()
                if stop.is_set():
                    return
            put(None)
        except BaseException as problem:  # noqa: BLE001 - the consumer raises it
            put(problem)

    Thread(target=work, daemon=True).start()
    return take_values(queue, turn)


def take_values(queue: Queue[tuple[T] | BaseException | None], turn: DemandCounter) -> Iterator[T]:
    """The values of a queue; raises an exception that is in it."""
    while True:
        turn.ask()
        if (item := queue.get()) is None:
            return
        if isinstance(item, BaseException):
            raise item
        yield item[0]


def map_ordered(
    make: Callable[[V, int], T], values: Iterable[V], threads: int, is_large: Callable[[V], bool]
) -> Generator[T, None, None]:
    """`make(value, 1)` for each value, in order, on `threads` threads; for a large value `make(value, threads)`, alone.

    At most `threads + WAITING` results are waiting at any time. An error of `values` is raised after all results of the
    values before it. Under `TOKSMITH_SLOW=1` the caller's thread makes one after another.
    """
    if is_slow():
        yield from (make(value, threads) for value in values)
        return
    futures: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for value in yield_final_error(values):
                if isinstance(value, Exception) or is_large(value):
                    while futures:
                        yield futures.popleft().result()
                    if isinstance(value, Exception):
                        raise value
                    yield make(value, threads)
                    continue
                futures.append(pool.submit(make, value, 1))
                if len(futures) > threads + WAITING:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def write_in_background(blocks: Generator[V, None, None], write: Callable[[V], T]) -> Iterator[T]:
    """Calls `write` for each block, in order, on another thread while this thread makes the next blocks. Yields the results."""
    results = map_ordered(lambda block, _: write(block), blocks, 1, lambda _: False)
    with closing(blocks), closing(results):
        yield from results


def yield_final_error(values: Iterable[V]) -> Iterator[V | Exception]:
    """The values; an error that ends them is yielded as the last value."""
    try:
        yield from values
    except Exception as problem:  # noqa: BLE001 - the caller raises it in order
        yield problem


def is_slow() -> bool:
    """Whether `TOKSMITH_SLOW=1` requests the slow twin."""
    return os.environ.get("TOKSMITH_SLOW") == "1"
