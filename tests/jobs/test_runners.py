"""The logic that all runners share: the next shard, retries and reports. Real processes: test_jobs.py, test_ray.py."""

from collections.abc import Iterator
from typing import Any

import pytest

from toksmith._jobs.runners import WorkerDied, hand_out
from toksmith.corpus import Receipt
from toksmith.errors import CorpusError, JobError


def receipt(number: int) -> Receipt:
    return Receipt(number, 1, 1, 1, 0, 0, {}, "", ())


class Scripted:
    """Workers with scripted answers: the problems of a shard, then its receipt. The last shard given answers first."""

    def __init__(self, most: int, problems: dict[int, list[BaseException]]) -> None:
        self.most, self.problems = most, problems
        self.busy: list[int] = []
        self.given: list[int] = []
        self.largest = 0

    def give(self, number: int) -> str:
        self.busy.append(number)
        self.given.append(number)
        self.largest = max(self.largest, len(self.busy))
        return f"worker of {number}"

    def answers(self) -> Iterator[tuple[int, Receipt | BaseException]]:
        number = self.busy.pop()
        problems = self.problems.get(number)
        yield number, problems.pop(0) if problems else receipt(number)


class Seen:
    """Records the reports."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []

    def started(self, shard: int, worker: str) -> None:
        self.said.append((shard, worker))

    def failed(self, shard: int, problem: str) -> None:
        self.said.append((shard, problem))


def test_shards_are_handed_out_in_order_and_no_more_than_fit() -> None:
    workers, seen = Scripted(3, {}), Seen()
    found = [each.shard for each in hand_out("f/job.json", range(10), workers, seen)]
    assert sorted(found) == workers.given == [*range(10)] and workers.largest == 3
    assert seen.said == [(number, f"worker of {number}") for number in range(10)]


@pytest.mark.parametrize("most", [1, 2])
def test_a_shard_whose_worker_dies_is_tried_three_times_more(most: int) -> None:
    workers, seen = Scripted(most, {1: [WorkerDied(), WorkerDied(), WorkerDied()]}), Seen()
    found = [each.shard for each in hand_out("f/job.json", [0, 1, 2], workers, seen)]
    assert sorted(found) == [0, 1, 2] and workers.given.count(1) == 4
    assert seen.said.count((1, "its process died")) == 3
    workers = Scripted(most, {1: [WorkerDied() for _ in range(4)]})
    with pytest.raises(JobError, match=r"^f: the process of shard 1 died 4 times; it may need more memory"):
        list(hand_out("f/job.json", [0, 1, 2], workers, Seen()))
    assert workers.given.count(1) == 4


def test_any_other_problem_ends_the_run() -> None:
    problem = CorpusError("a.jsonl", 5, "is bad")
    workers, seen = Scripted(1, {1: [problem]}), Seen()
    with pytest.raises(CorpusError) as raised:
        list(hand_out("f/job.json", [0, 1, 2], workers, seen))
    assert raised.value is problem and workers.given == [0, 1]
    assert seen.said[-1] == (1, str(problem))
