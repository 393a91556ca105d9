"""Shards on this machine: in this process, or in several that are started with `spawn`."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing.connection import Connection, wait
from typing import Any

import toksmith
from toksmith import _render

from . import WorkerDied, Workers

__all__ = ["start", "work"]


@contextmanager
def start(job: str, *, workers: int, threads: int, max_memory: int | None, address: str | None) -> Iterator[Workers]:
    """This process for one worker, else processes."""
    way = {"threads": threads, "max_memory": max_memory}
    if workers == 1:
        yield ThisProcess(job, way)
        return
    processes = Processes(job, workers, way)
    try:
        yield processes
    finally:
        processes.close()


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


class Processes:
    """Processes that are started as shards come, each with a pipe for numbers and receipts."""

    def __init__(self, job: str, most: int, way: dict[str, Any]) -> None:
        self.most, self._given = most, (job, way)
        self._all: dict[Any, tuple[int, Any]] = {}  # by the end of its pipe, the name of a process and the process
        self._busy: dict[Any, int] = {}

    def give(self, number: int) -> int:
        """Sends a number to a process that has answered, or to a new one. If it is dead, reading its answer says so."""
        own = next((each for each in self._all if each not in self._busy), None) or self._started()
        self._busy[own] = number
        with suppress(ConnectionError):
            own.send(number)
        return self._all[own][0]

    def answers(self) -> Iterator[tuple[int, toksmith.Receipt | BaseException]]:
        """Reads what processes have answered."""
        own: Any
        for own in wait(list(self._busy)):
            number = self._busy.pop(own)
            try:
                found = own.recv()
            except (EOFError, ConnectionError):
                found = WorkerDied()
                own.close()
                self._all.pop(own)[1].join()
            yield number, found

    def close(self) -> None:
        """Ends all processes: those at work as an error does, the others because nothing more comes."""
        for own, (_, process) in self._all.items():
            own.close()
            if own in self._busy:
                process.terminate()
        for _, process in self._all.values():
            process.join()

    def _started(self) -> Any:
        context = multiprocessing.get_context("spawn")
        own, its = context.Pipe()
        process = context.Process(target=work, args=(its, *self._given), daemon=True)
        process.start()
        its.close()
        taken = {name for name, _ in self._all.values()}
        self._all[own] = (next(name for name in count(1) if name not in taken), process)
        return own


def work(own: Connection, job: str, way: dict[str, Any]) -> None:
    """Makes the shards whose numbers come, until the other end is closed. Ctrl-C is the parent's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    _render.guard_terminals()
    with suppress(EOFError, ConnectionError):
        while True:
            number = own.recv()
            try:
                own.send(toksmith.run_shard(job, number, **way))
            except Exception as problem:  # noqa: BLE001 - the parent raises it
                own.send(problem)


def stop(*_: object) -> None:
    """Ends this process as an error does, so that unfinished files are removed; once, whoever sends the signal again."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(128 + signal.SIGTERM)
