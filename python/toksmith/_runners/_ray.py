"""Shards as core tasks of Ray. Only receipts travel; the folder of the job must be one that all nodes see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import toksmith

__all__ = ["run"]

IN_FLIGHT_PER_CPU = 4


def run(
    job: str,
    numbers: Sequence[int],
    *,
    workers: int,
    threads: int,
    max_memory: int | None,
    address: str | None,
    seen: Any,
) -> Iterator[toksmith.Receipt]:
    """Makes shards and yields their receipts. Ray runs a task again that failed with its worker, its node or a file."""
    ray = library()
    started = not ray.is_initialized()
    if started:
        ray.init(address=address, log_to_driver=False)
    try:
        cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        own = max(1, min(threads, largest(ray.nodes())))
        most = workers if workers > 1 else max(1, IN_FLIGHT_PER_CPU * cpus // own)
        again = [OSError, toksmith.FormatError]
        task = ray.remote(num_cpus=own, max_retries=3, retry_exceptions=again)(made)
        waiting: list[int] = list(reversed(numbers))
        flying: list[Any] = []
        shards: dict[Any, int] = {}
        while waiting or flying:
            while waiting and len(flying) < most:
                seen.started(waiting[-1], "task")
                flying.append(task.remote(job, waiting[-1], own, max_memory))
                shards[flying[-1]] = waiting.pop()
            ready, flying = ray.wait(flying)
            try:
                receipts = ray.get(ready)
            except Exception as problem:
                seen.failed(shards[ready[0]], str(problem).rpartition("\n")[2])
                raise
            yield from receipts
            for each in ready:
                del shards[each]
    finally:
        if started:
            ray.shutdown()


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


def largest(nodes: Sequence[Mapping[str, Any]]) -> int:
    """The most processors that one node has; a task that asks for more would wait forever."""
    return max((int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]), default=1)


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
