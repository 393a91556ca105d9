"""Values that threads make while another uses those made before, in order.

A few values are made ahead. Before it makes a large one, whoever makes them calls `wait_to_be_asked`: so there is one large
value at a time, however many threads there are.
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

__all__ = ["ahead", "in_turn", "is_slow", "made_in_order", "wait_to_be_asked", "written_behind"]

T = TypeVar("T")
V = TypeVar("V")
VALUES_AHEAD = 2
WAITING = 1
LOOK_S = 0.1
OWN = local()


class Turn:
    """How many values of an iterator were made, and how many were asked for."""

    def __init__(self, stop: Event) -> None:
        self._changed = Condition()
        self._stop, self._made, self._asked = stop, 0, 0

    def ask(self) -> None:
        """Says that the next value is wanted now, so that those before it are used."""
        with self._changed:
            self._asked += 1
            self._changed.notify_all()

    def made(self) -> None:
        """Says that a value was made."""
        self._made += 1

    def wait(self) -> None:
        """Waits until the next value is asked for."""
        with self._changed:
            while self._asked <= self._made and not self._stop.is_set():
                self._changed.wait(LOOK_S)


def wait_to_be_asked() -> None:
    """On a thread that makes values ahead: waits until all values that it has made are used, and the next one is wanted."""
    turn: Turn | None = getattr(OWN, "turn", None)
    if turn is not None:
        turn.wait()


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
    turn = Turn(stop)

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
        except BaseException as problem:  # noqa: BLE001 - whatever it is, it is raised where the values are taken
            put(problem)

    Thread(target=work, daemon=True).start()
    return taken(queue, turn)


def taken(queue: Queue[tuple[T] | BaseException | None], turn: Turn) -> Iterator[T]:
    """The values from a queue."""
    while True:
        turn.ask()
        if (item := queue.get()) is None:
            return
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


def written_behind(blocks: Generator[T, None, None], write: Callable[[T], None]) -> Iterator[None]:
    """Calls `write` for each block, in order, on another thread while this one makes the next blocks."""
    written = made_in_order(lambda block, _: write(block), blocks, 1, lambda _: False)
    with closing(blocks), closing(written):
        yield from written


def caught(values: Iterable[V]) -> Iterator[V | Exception]:
    """The values, and the error that ends them as the last of them."""
    try:
        yield from values
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is raised in its turn
        yield problem


def is_slow() -> bool:
    """Whether the slow twin is asked for."""
    return os.environ.get("TOKSMITH_SLOW") == "1"
