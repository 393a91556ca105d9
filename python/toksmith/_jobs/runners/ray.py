"""Shards as core tasks of Ray. Only receipts travel; the folder of the job must be one that all nodes see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import toksmith

from .hand_out import hand_out
from .ray_tasks import RayTasks

__all__ = ["run"]


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
        yield from hand_out(job, numbers, RayTasks(ray, job, workers, threads, max_memory), seen)
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
