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
    job: Path,
    numbers: Sequence[int],
    *,
    workers: int,
    threads: int,
    max_memory: int | None,
    address: str | None,
    seen: Any,
) -> Iterator[toksmith.Receipt]:
    """Makes shards and yields their receipts. A shard whose process dies is tried again three times."""
    if workers == 1:
        yield from here(job, numbers, threads, max_memory, seen)
        return
    context = multiprocessing.get_context("spawn")
    waiting, died = list(reversed(numbers)), dict.fromkeys(numbers, 0)
    busy: dict[Any, tuple[int, Any]] = {}  # by connection: the number of the shard, and the process
    free = list(range(workers, 0, -1))
    names: dict[Any, int] = {}

    def given(own: Any) -> int:
        """Gives a process the next shard. Of one that is dead, reading its answer says so."""
        number = waiting.pop()
        seen.started(number, names[own])
        with suppress(ConnectionError):
            own.send(number)
        return number

    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                own, its = context.Pipe()
                process = context.Process(target=work, args=(its, job, threads, max_memory), daemon=True)
                process.start()
                its.close()
                names[own] = free.pop()
                busy[own] = (given(own), process)
            for own in cast("list[Connection]", wait(list(busy))):
                number, process = busy[own]
                try:
                    found = own.recv()
                except (EOFError, ConnectionError):
                    ended(own, busy.pop(own)[1])
                    free.append(names.pop(own))
                    died[number] += 1
                    seen.failed(number, "its process died")
                    if died[number] >= TRIES:
                        said = f"the process of shard {number} died {TRIES} times; it may need more memory"
                        raise toksmith.JobError(str(job.parent), said) from None
                    waiting.append(number)
                    continue
                if isinstance(found, BaseException):
                    seen.failed(number, str(found))
                    raise found
                yield found
                if waiting:
                    busy[own] = (given(own), process)
                else:
                    ended(own, busy.pop(own)[1])
    finally:
        for own, (_, process) in busy.items():
            own.close()
            process.terminate()
            process.join()


def here(
    job: Path, numbers: Sequence[int], threads: int, max_memory: int | None, seen: Any
) -> Iterator[toksmith.Receipt]:
    """Makes shards in this process."""
    for number in numbers:
        seen.started(number, 1)
        try:
            receipt = toksmith.run_shard(job, number, threads=threads, max_memory=max_memory)
        except toksmith.ToksmithError as problem:
            seen.failed(number, str(problem))
            raise
        yield receipt


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
