"""Shards on this machine: in this process, or in several that are started with `spawn`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import toksmith

from .hand_out import Workers, hand_out
from .processes import Processes

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
    """Makes shards and yields their receipts. A shard whose process dies is tried again three times."""
    way = {"threads": threads, "max_memory": max_memory}
    makers: Workers = ThisProcess(job, way) if workers == 1 else Processes(job, workers, way)
    return hand_out(job, numbers, makers, seen)


class ThisProcess:
    """Makes one shard at a time, when it is asked for the answer."""

    most = 1

    def __init__(self, job: str, way: dict[str, Any]) -> None:
        self._job, self._way, self._number = job, way, 0

    def give(self, number: int) -> int:
        """Keeps the number of a shard."""
        self._number = number
        return 1

    def answers(self) -> list[tuple[int, toksmith.Receipt | BaseException]]:
        """Makes the shard."""
        try:
            return [(self._number, toksmith.run_shard(self._job, self._number, **self._way))]
        except Exception as problem:  # noqa: BLE001 - whoever handed out the shard raises it
            return [(self._number, problem)]

    def close(self) -> None:
        """Does nothing: no process was started."""
