"""Makes shards as core tasks of Ray. Only receipts are sent; all nodes must have access to the folder of the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import toksmith

IN_FLIGHT_PER_CPU = 4


@contextmanager
def start(job: str, *, workers: int, threads: int, max_memory: int | None, address: str | None) -> Iterator[RayTasks]:
    """Tasks of the cluster at an address. Ray retries a task whose worker or node died, or whose file access failed.

    Raises:
        JobError: Ray itself failed, for example because its process on this machine died.
    """
    ray = library()
    started = not ray.is_initialized()
    if started:
        ray.init(address=address, log_to_driver=False)
    try:
        yield RayTasks(ray, job, workers, threads, max_memory)
    except ray.exceptions.RayError as problem:
        if isinstance(problem, ray.exceptions.RayTaskError):  # an error of a shard
            raise
        text = f"Ray failed ({type(problem).__name__}: {str(problem).strip()}); finished shards stay, and the same command continues"
        raise toksmith.errors.JobError(job.removesuffix("/job.json"), text) from problem
    finally:
        if started:
            ray.shutdown()


def library() -> Any:
    try:
        ray: Any = import_module("ray")
    except ImportError as missing:
        raise ImportError("run='ray' needs the library ray: pip install 'toksmith[ray]'") from missing
    return ray


class RayTasks:
    """Tasks of Ray, one per shard."""

    def __init__(self, ray: Any, job: str, workers: int, threads: int, max_memory: int | None) -> None:
        cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        cpus_per_task = max(1, min(threads, most_cpus(ray.nodes())))
        self.most = workers if workers > 1 else max(1, IN_FLIGHT_PER_CPU * cpus // cpus_per_task)
        retried = [OSError, toksmith.errors.FormatError]
        self._task = ray.remote(num_cpus=cpus_per_task, max_retries=3, retry_exceptions=retried)(run_task)
        self._ray, self._given = ray, (job, cpus_per_task, max_memory)
        self._flying: dict[Any, int] = {}

    def give(self, number: int) -> str:
        job, threads, max_memory = self._given
        self._flying[self._task.remote(job, number, threads, max_memory)] = number
        return "task"

    def answers(self) -> Iterator[tuple[int, toksmith.corpus.Receipt | BaseException]]:
        for task in self._ray.wait(list(self._flying))[0]:
            number = self._flying.pop(task)
            try:
                answer = self._ray.get([task])[0]
            except Exception as problem:  # noqa: BLE001 - `hand_out` raises it
                answer = problem
            yield number, answer


def most_cpus(nodes: Sequence[Mapping[str, Any]]) -> int:
    """The most processors of one node; a task that requests more would wait forever."""
    return max((int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]), default=1)


class UnreadableInput(toksmith.errors.CorpusError, OSError):
    """An input cannot be read. Unlike for bad rows, a retry can succeed."""

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError keeps at most two arguments.
        return UnreadableInput, (self.path, self.record, self.problem)


UnreadableInput.__module__ = __name__  # for pickle; the class is not public


def run_task(job: str, number: int, threads: int, max_memory: int | None = None) -> toksmith.corpus.Receipt:
    try:
        return toksmith.corpus.run_shard(job, number, threads=threads, max_memory=max_memory)
    except toksmith.errors.CorpusError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        raise UnreadableInput(error.path, error.record, error.problem) from error
