"""Shards as core tasks of Ray. Only receipts travel; the folder of the job must be one that all nodes see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import toksmith

__all__ = ["run"]

IN_FLIGHT_PER_CPU = 4


def run(
    job: Path, numbers: Sequence[int], *, workers: int, threads: int, address: str | None
) -> Iterator[toksmith.Receipt]:
    """Makes shards and yields their receipts. Ray runs a task again that failed with its worker, its node or an OSError."""
    ray = library()
    started = not ray.is_initialized()
    if started:
        ray.init(address=address, log_to_driver=False)
    try:
        cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        own = max(1, min(threads, cpus))
        most = workers if workers > 1 else max(1, IN_FLIGHT_PER_CPU * cpus // own)
        task = ray.remote(num_cpus=own, max_retries=3, retry_exceptions=[OSError])(made)
        waiting: list[int] = list(reversed(numbers))
        flying: list[Any] = []
        while waiting or flying:
            while waiting and len(flying) < most:
                flying.append(task.remote(str(job.absolute()), waiting.pop(), own))
            ready, flying = ray.wait(flying)
            yield from ray.get(ready)
    finally:
        if started:
            ray.shutdown()


def made(job: str, number: int, threads: int) -> toksmith.Receipt:
    """What a task does."""
    return toksmith.run_shard(job, number, threads=threads)


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
