"""Makes shards on this machine: in this process, or in several processes started with `spawn`."""

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


@contextmanager
def start(job: str, *, workers: int, threads: int, max_memory: int | None, address: str | None) -> Iterator[Workers]:
    """Yields this process for one worker, else new processes."""
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
    """Makes one shard at a time, when its answer is requested."""

    most = 1

    def __init__(self, job: str, way: dict[str, Any]) -> None:
        self._job, self._way, self._number = job, way, 0

    def give(self, number: int) -> int:
        self._number = number
        return 1

    def answers(self) -> list[tuple[int, toksmith.corpus.Receipt | BaseException]]:
        try:
            return [(self._number, toksmith.corpus.run_shard(self._job, self._number, **self._way))]
        except Exception as problem:  # noqa: BLE001 - `hand_out` raises it
            return [(self._number, problem)]


class Processes:
    """Processes, started on demand, each with a pipe for numbers and receipts."""

    def __init__(self, job: str, most: int, way: dict[str, Any]) -> None:
        self.most, self._given = most, (job, way)
        self._all: dict[Any, tuple[int, Any]] = {}  # the name of each process and the process, by its pipe
        self._busy: dict[Any, int] = {}

    def give(self, number: int) -> int:
        """Sends a number to an idle process, or to a new one. If it has died, reading its answer reports that."""
        pipe = next((other for other in self._all if other not in self._busy), None) or self._start_process()
        self._busy[pipe] = number
        with suppress(ConnectionError):
            pipe.send(number)
        return self._all[pipe][0]

    def answers(self) -> Iterator[tuple[int, toksmith.corpus.Receipt | BaseException]]:
        pipe: Any
        for pipe in wait(list(self._busy)):
            number = self._busy.pop(pipe)
            try:
                answer = pipe.recv()
            except (EOFError, ConnectionError):
                answer = WorkerDied()
                pipe.close()
                self._all.pop(pipe)[1].join()
            yield number, answer

    def close(self) -> None:
        """Ends all processes: terminates busy ones, which then clean up; idle ones end because their pipe is closed."""
        for pipe, (_, process) in self._all.items():
            pipe.close()
            if pipe in self._busy:
                process.terminate()
        for _, process in self._all.values():
            process.join()

    def _start_process(self) -> Any:
        context = multiprocessing.get_context("spawn")
        pipe, worker_pipe = context.Pipe()
        process = context.Process(target=serve_shards, args=(worker_pipe, *self._given), daemon=True)
        process.start()
        worker_pipe.close()
        names = {name for name, _ in self._all.values()}
        self._all[pipe] = (next(name for name in count(1) if name not in names), process)
        return pipe


def serve_shards(own: Connection, job: str, way: dict[str, Any]) -> None:
    """Makes the shards whose numbers arrive, until the other end of the pipe closes. The parent handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, exit_on_signal)
    _render.guard_terminals()
    with suppress(EOFError, ConnectionError):
        while True:
            number = own.recv()
            try:
                own.send(toksmith.corpus.run_shard(job, number, **way))
            except Exception as problem:  # noqa: BLE001 - the parent raises it
                own.send(problem)


def exit_on_signal(*_: object) -> None:
    """Ends this process with an exception, so that unfinished files are removed; a repeated signal is ignored."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(128 + signal.SIGTERM)
