"""Hands out the shards of a job to workers, and yields receipts; one way for all runners.

Whoever watches is told which shard is given to which worker (`seen.started`), and which one failed (`seen.failed`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Protocol

import toksmith

__all__ = ["WorkerDied", "Workers", "hand_out"]

TRIES = 4  # the first and three more


class WorkerDied(Exception):
    """A worker ended without an answer."""

    def __str__(self) -> str:
        return "its process died"


class Workers(Protocol):
    """Those who make shards.

    Attributes: `most`, how many shards they make at once.
    """

    most: int

    def give(self, number: int) -> int | str:
        """Gives a shard to a worker, and returns who that is."""

    def answers(self) -> Iterable[tuple[int, toksmith.Receipt | BaseException]]:
        """Waits for the next answers: the numbers of shards, with their receipts or with what went wrong."""

    def close(self) -> None:
        """Ends all workers."""


def hand_out(job: str, numbers: Sequence[int], workers: Workers, seen: Any) -> Iterator[toksmith.Receipt]:
    """Yields the receipts of shards. A shard whose worker dies is tried again three times; any other problem is raised."""
    waiting, busy, died = deque(numbers), set[int](), Counter[int]()
    with closing(workers):
        while waiting or busy:
            while waiting and len(busy) < workers.most:
                number = waiting.popleft()
                busy.add(number)
                seen.started(number, workers.give(number))
            for number, found in workers.answers():
                busy.remove(number)
                if isinstance(found, toksmith.Receipt):
                    yield found
                    continue
                seen.failed(number, str(found).rpartition("\n")[2] or type(found).__name__)
                if not isinstance(found, WorkerDied):
                    raise found
                died[number] += 1
                if died[number] == TRIES:
                    said = f"the process of shard {number} died {TRIES} times; it may need more memory"
                    raise toksmith.JobError(job.removesuffix("/job.json"), said)
                waiting.appendleft(number)
