"""An attack: a name, the libraries with the entry point, and the calls that it makes on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Call = Callable[[], object]
Tries = Callable[[str, Path], Iterator[Call]]

SEED = 20261122
SECONDS, SECONDS_LONG = 10, 30


class Wrong(Exception):
    """A library returned a wrong result; the message describes it."""


@dataclass(frozen=True)
class Attack:
    """One row of the table.

    Attributes:
        name: The row's first cell.
        libraries: The libraries with the entry point.
        tries: The calls, by the library's name and the folder of the inputs, always in the same order. A text that a
        call
            returns describes the answer.
        seconds: The limit on CPU seconds for all calls.
        idle_s: The limit on seconds without work, for a process that only waits.
        gigabytes: The limit on address space.
        most_mb: A peak of memory above this is a finding.
    """

    name: str
    libraries: tuple[str, ...]
    tries: Tries
    seconds: int = SECONDS
    idle_s: int = 20
    gigabytes: int = 4
    most_mb: int = 4000


def require(holds: bool, problem: str) -> None:
    """Raise `Wrong` if a condition does not hold."""
    if not holds:
        raise Wrong(problem)
