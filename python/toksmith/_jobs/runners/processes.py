"""Processes of this machine that make shards until nothing more comes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from multiprocessing.connection import wait
from typing import Any

import toksmith

from .hand_out import WorkerDied
from .work import work

__all__ = ["Processes"]


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
