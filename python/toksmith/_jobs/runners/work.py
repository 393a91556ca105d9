"""What a worker does that is not the process of the run: a process of this machine, or a task of Ray."""

from __future__ import annotations

import signal
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import toksmith
from toksmith import _render

__all__ = ["made", "work"]


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
