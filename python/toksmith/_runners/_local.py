"""Shards on this machine: in this process, or in several that are started with `spawn`."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

import toksmith

__all__ = ["run"]

TRIES = 4  # the first and three more


def run(
    job: Path, numbers: Sequence[int], *, workers: int, threads: int, max_memory: int | None, address: str | None
) -> Iterator[toksmith.Receipt]:
    """Makes shards and yields their receipts. A shard whose process dies is tried again three times."""
    if workers == 1:
        yield from (toksmith.run_shard(job, number, threads=threads, max_memory=max_memory) for number in numbers)
        return
    context = multiprocessing.get_context("spawn")
    waiting, died = list(reversed(numbers)), dict.fromkeys(numbers, 0)
    busy: dict[Any, tuple[int, Any]] = {}  # by connection: the number of the shard, and the process
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                own, its = context.Pipe()
                process = context.Process(target=work, args=(its, job, threads, max_memory), daemon=True)
                process.start()
                its.close()
                busy[own] = (given(own, waiting.pop()), process)
            for own in cast("list[Connection]", wait(list(busy))):
                number, process = busy[own]
                try:
                    found = own.recv()
                except (EOFError, ConnectionError):
                    ended(own, busy.pop(own)[1])
                    died[number] += 1
                    if died[number] >= TRIES:
                        said = f"the process of shard {number} died {TRIES} times; it may need more memory"
                        raise toksmith.JobError(str(job.parent), said) from None
                    waiting.append(number)
                    continue
                if isinstance(found, BaseException):
                    raise found
                if waiting:
                    busy[own] = (given(own, waiting.pop()), process)
                else:
                    ended(own, busy.pop(own)[1])
                yield found
    finally:
        for own, (_, process) in busy.items():
            own.close()
            process.terminate()
            process.join()


def given(own: Connection, number: int) -> int:
    """Gives a process the number of a shard. Of one that is dead, reading its answer says so."""
    with suppress(ConnectionError):
        own.send(number)
    return number


def ended(own: Connection, process: Any) -> None:
    """Waits for the end of a process that is dead, or that ends because nothing more comes."""
    own.close()
    process.join()


def work(own: Connection, job: Path, threads: int, max_memory: int | None) -> None:
    """Makes the shards whose numbers come, until the other end is closed. Ctrl-C is the parent's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    with suppress(EOFError, ConnectionError):
        while True:
            number = own.recv()
            try:
                own.send(toksmith.run_shard(job, number, threads=threads, max_memory=max_memory))
            except Exception as problem:  # noqa: BLE001 - the parent raises it
                own.send(problem)


def stop(*_: object) -> None:
    """Ends this process as an error does, so that unfinished files are removed; once, whoever sends the signal again."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(128 + signal.SIGTERM)
