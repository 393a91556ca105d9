"""Tasks of Ray that make shards, and how many of them are started at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import toksmith

from .work import made

__all__ = ["RayTasks"]

IN_FLIGHT_PER_CPU = 4


class RayTasks:
    """Tasks, each of which makes a shard."""

    def __init__(self, ray: Any, job: str, workers: int, threads: int, max_memory: int | None) -> None:
        cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        own = max(1, min(threads, largest(ray.nodes())))
        self.most = workers if workers > 1 else max(1, IN_FLIGHT_PER_CPU * cpus // own)
        again = [OSError, toksmith.FormatError]
        self._task = ray.remote(num_cpus=own, max_retries=3, retry_exceptions=again)(made)
        self._ray, self._given = ray, (job, own, max_memory)
        self._flying: dict[Any, int] = {}

    def give(self, number: int) -> str:
        """Starts a task."""
        job, own, max_memory = self._given
        self._flying[self._task.remote(job, number, own, max_memory)] = number
        return "task"

    def answers(self) -> Iterator[tuple[int, toksmith.Receipt | BaseException]]:
        """Waits for the next task to end."""
        for each in self._ray.wait(list(self._flying))[0]:
            number = self._flying.pop(each)
            try:
                found = self._ray.get([each])[0]
            except Exception as problem:  # noqa: BLE001 - whoever handed out the shard raises it
                found = problem
            yield number, found

    def close(self) -> None:
        """Does nothing: Ray ends its tasks."""


def largest(nodes: Sequence[Mapping[str, Any]]) -> int:
    """The most processors that one node has; a task that asks for more would wait forever."""
    return max((int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]), default=1)
