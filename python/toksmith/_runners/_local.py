"""Shards on this machine: in this process, or in several that are started with `spawn`."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection, wait
from typing import Any, cast

import toksmith

__all__ = ["run"]

TRIES = 4  # the first and three more


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
    if workers == 1:
        yield from here(job, numbers, threads, max_memory, seen)
        return
    processes = Processes(job, numbers, seen)
    try:
        while processes.waiting or processes.busy:
            processes.begin(workers, (job, threads, max_memory))
            for own in cast("list[Connection]", wait(list(processes.busy))):
                receipt = processes.answer(own)
                if receipt is not None:
                    yield receipt
                    processes.go_on(own)
    finally:
        processes.end()


class Processes:
    """Processes that make shards, and the shards that wait for one.

    Attributes: `waiting`, numbers of shards; `busy`, by connection the number of the shard that a process makes, and the
    process.
    """

    def __init__(self, job: str, numbers: Sequence[int], seen: Any) -> None:
        self.waiting, self.busy = list(reversed(numbers)), dict[Any, tuple[int, Any]]()
        self._job, self._seen = job, seen
        self._died = dict.fromkeys(numbers, 0)
        self._names: dict[Any, int] = {}

    def begin(self, most: int, way: tuple[Any, ...]) -> None:
        """Starts processes while shards wait; each makes shards until nothing more comes."""
        context = multiprocessing.get_context("spawn")
        while self.waiting and len(self.busy) < most:
            own, its = context.Pipe()
            process = context.Process(target=work, args=(its, *way), daemon=True)
            process.start()
            its.close()
            self._names[own] = next(name for name in count(1) if name not in self._names.values())
            self._give(own, process)

    def answer(self, own: Connection) -> toksmith.Receipt | None:
        """What a process answers; None if it died, and its shard waits again."""
        number, process = self.busy[own]
        try:
            found = own.recv()
        except (EOFError, ConnectionError):
            self._forget(own, process)
            self._died[number] += 1
            self._seen.failed(number, "its process died")
            if self._died[number] >= TRIES:
                said = f"the process of shard {number} died {TRIES} times; it may need more memory"
                raise toksmith.JobError(self._job[: -len("/job.json")], said) from None
            self.waiting.append(number)
            return None
        if isinstance(found, BaseException):
            self._seen.failed(number, str(found))
            raise found
        return cast("toksmith.Receipt", found)

    def go_on(self, own: Connection) -> None:
        """Gives a process that has answered the next shard, or ends it."""
        process = self.busy[own][1]
        if self.waiting:
            self._give(own, process)
        else:
            self._forget(own, process)

    def end(self) -> None:
        """Ends all processes."""
        for own, (_, process) in self.busy.items():
            own.close()
            process.terminate()
            process.join()

    def _give(self, own: Any, process: Any) -> None:
        """Gives a process the next shard. Of one that is dead, reading its answer says so."""
        number = self.waiting.pop()
        self._seen.started(number, self._names[own])
        self.busy[own] = (number, process)
        with suppress(ConnectionError):
            own.send(number)

    def _forget(self, own: Connection, process: Any) -> None:
        """Waits for the end of a process that is dead, or that ends because nothing more comes."""
        del self.busy[own], self._names[own]
        own.close()
        process.join()


def here(
    job: str, numbers: Sequence[int], threads: int, max_memory: int | None, seen: Any
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


def work(own: Connection, job: str, threads: int, max_memory: int | None) -> None:
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
