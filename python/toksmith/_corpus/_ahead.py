"""Values that one thread makes while another uses those made before."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

__all__ = ["ahead", "in_turn"]

T = TypeVar("T")
VALUES_AHEAD = 2
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
