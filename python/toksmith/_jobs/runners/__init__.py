"""Runners map `toksmith.corpus.run_shard` over the numbers of a job's shards.

A runner is a module with `start`, which yields `Workers` for a run and ends them after it, and a row in `RUNNERS`
(`_jobs/job/job.py`): `local.py` uses local processes, `ray.py` tasks of Ray. `hand_out` is common to all: it chooses the next
shard, retries after a worker died, and reports progress.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import toksmith

TRIES = 4  # the first and three more


class WorkerDied(Exception):
    """A worker ended without an answer."""

    def __str__(self) -> str:
        return "its process died"


class Workers(Protocol):
    """The workers of a run.

    Attributes: `most`, the number of shards that they make at once.
    """

    most: int

    def give(self, number: int) -> int | str:
        """Gives a shard to a worker, and returns the worker's name."""

    def answers(self) -> Iterable[tuple[int, toksmith.corpus.Receipt | BaseException]]:
        """Waits for the next answers: the numbers of shards, with their receipts or errors."""


def hand_out(job: str, numbers: Sequence[int], workers: Workers, seen: Any) -> Iterator[toksmith.corpus.Receipt]:
    """Yields the receipts of shards. A shard whose worker dies is tried again three times; any other error is raised.

    `seen` gets each shard with its worker (`started`), and each failed shard (`failed`).
    """
    queue, busy, deaths = deque(numbers), set[int](), Counter[int]()
    while queue or busy:
        while queue and len(busy) < workers.most:
            number = queue.popleft()
            busy.add(number)
            seen.started(number, workers.give(number))
        for number, answer in workers.answers():
            busy.remove(number)
            if isinstance(answer, toksmith.corpus.Receipt):
                yield answer
                continue
            seen.failed(number, str(answer).rpartition("\n")[2] or type(answer).__name__)
            if not isinstance(answer, WorkerDied):
                raise answer
            deaths[number] += 1
            if deaths[number] == TRIES:
                problem = f"the process of shard {number} died {TRIES} times; it may need more memory"
                raise toksmith.errors.JobError(job.removesuffix("/job.json"), problem)
            queue.appendleft(number)
