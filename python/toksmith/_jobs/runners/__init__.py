"""Where shards are made: each runner maps `toksmith.run_shard` over the numbers of a job's shards, and does nothing else.

A runner is a module with `start`, which gives `Workers` for a run and ends them after it, and a row in `RUNNERS`
(`_jobs/job/job.py`): `local.py` has processes of this machine, `ray.py` tasks of Ray. `hand_out` is the same for all: which
shard is next, what is tried again, and who is told.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
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


def hand_out(job: str, numbers: Sequence[int], workers: Workers, seen: Any) -> Iterator[toksmith.Receipt]:
    """Yields the receipts of shards. A shard whose worker dies is tried again three times; any other problem is raised.

    `seen` is told which shard is given to which worker (`started`), and which one failed (`failed`).
    """
    waiting, busy, died = deque(numbers), set[int](), Counter[int]()
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
