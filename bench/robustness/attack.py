"""What an attack is: a name, the libraries that have the entry, and the calls that it tries on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Call = Callable[[], object]
Tries = Callable[[str, Path], Iterator[Call]]

SEED = 20261122
SECONDS, SECONDS_LONG = 10, 30


class Wrong(Exception):
    """A library gave a result, and the result is wrong; the message says how."""


@dataclass(frozen=True)
class Attack:
    """One row of the table.

    Attributes:
        name: The row's first cell.
        libraries: Those that have the entry.
        tries: The calls, by the library's name and the folder of the inputs; they come in the same order at every call.
            A call that returns a text says with it what the library answered.
        seconds: The most seconds of the processor for all calls.
        idle_s: The most seconds without work, for a process that only waits.
        gigabytes: The most address space.
        most_mb: A peak of memory above this is a finding.
    """

    name: str
    libraries: tuple[str, ...]
    tries: Tries
    seconds: int = SECONDS
    idle_s: int = 20
    gigabytes: int = 4
    most_mb: int = 4000


def require(holds: bool, said: str) -> None:
    """Raises `Wrong` where something does not hold."""
    if not holds:
        raise Wrong(said)
