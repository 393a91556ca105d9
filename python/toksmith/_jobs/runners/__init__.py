"""Runners map `toksmith.corpus.run_shard` over the numbers of a job's shards.

A runner is a module with `start`, which yields `Workers` for a run and ends them after it, and a row in `RUNNERS`
(`_jobs/job/job.py`): `local.py` uses local processes, `ray.py` tasks of Ray. `hand_out` is common to all: it chooses the next
shard, retries after a worker died, and reports progress.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
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


def hand_out(job: str, numbers: Iterable[int], workers: Workers, seen: Any) -> Iterator[toksmith.corpus.Receipt]:
    """Yields the receipts of shards. A shard whose worker dies is tried again three times; any other error is raised.

    `numbers` is asked for the next shard when a worker is free. `seen` gets each shard with its worker (`started`), and each
    failed shard (`failed`).
    """
    rest, again, busy, deaths = iter(numbers), list[int](), set[int](), Counter[int]()
    while True:
        while len(busy) < workers.most:
            number = again.pop() if again else next(rest, None)
            if number is None:
                break
            busy.add(number)
            seen.started(number, workers.give(number))
        if not busy:
            return
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
            again.append(number)
