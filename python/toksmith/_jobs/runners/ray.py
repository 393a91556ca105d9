"""Shards as core tasks of Ray. Only receipts travel; the folder of the job must be one that all nodes see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import toksmith

__all__ = ["library", "start"]

IN_FLIGHT_PER_CPU = 4


@contextmanager
def start(job: str, *, workers: int, threads: int, max_memory: int | None, address: str | None) -> Iterator[RayTasks]:
    """Tasks of the cluster at an address. Ray runs a task again that failed with its worker, its node or a file."""
    ray = library()
    started = not ray.is_initialized()
    if started:
        ray.init(address=address, log_to_driver=False)
    try:
        yield RayTasks(ray, job, workers, threads, max_memory)
    finally:
        if started:
            ray.shutdown()


def library() -> Any:
    """The module `ray`.

    Raises:
        ImportError: It is not installed.
    """
    try:
        ray: Any = import_module("ray")
    except ImportError as missing:
        raise ImportError("run='ray' needs the library ray: pip install 'toksmith[ray]'") from missing
    return ray


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


def largest(nodes: Sequence[Mapping[str, Any]]) -> int:
    """The most processors that one node has; a task that asks for more would wait forever."""
    return max((int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]), default=1)


class UnreadableInput(toksmith.CorpusError, OSError):
    """An input cannot be read, unlike one whose rows are bad: another try may succeed."""

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError keeps at most two arguments.
        return UnreadableInput, (self.path, self.record, self.problem)


UnreadableInput.__module__ = __name__  # where pickle finds it; it is not a public name


def made(job: str, number: int, threads: int, max_memory: int | None = None) -> toksmith.Receipt:
    """What a task does."""
    try:
        return toksmith.run_shard(job, number, threads=threads, max_memory=max_memory)
    except toksmith.CorpusError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        raise UnreadableInput(error.path, error.record, error.problem) from error
