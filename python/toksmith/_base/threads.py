"""How many threads a call uses when the caller does not say; and what one thread at a time may change."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from .arguments import whole_number
from .errors import InvalidOption
from .system import SYSTEM

if TYPE_CHECKING:
    import threading

__all__ = ["alone", "processors", "thread_count"]

MOST_THREADS = 1 << 16


def thread_count(threads: int | None) -> int:
    """The number of threads to use: as asked, else the number of processors that this process may use.

    That is the least of three: the processors that it may run on, `SLURM_CPUS_PER_TASK`, and the quotas of its control group
    and of the groups around it.
    """
    if threads is None:
        return processors()
    threads = whole_number(threads, "threads")
    if not 1 <= threads <= MOST_THREADS:
        raise InvalidOption("threads", threads, f"from 1 to {MOST_THREADS}, or None for all processors")
    return threads


class OneCall(Protocol):
    """What one call at a time may change: `_free` is held during a call, and `_what` is its name in errors."""

    _free: threading.Lock
    _what: str


Self = TypeVar("Self", bound=OneCall)
Given = ParamSpec("Given")
Result = TypeVar("Result")


def alone(method: Callable[Concatenate[Self, Given], Result]) -> Callable[Concatenate[Self, Given], Result]:
    """A method that does not run beside another of its kind, of the same object: the later call raises RuntimeError.

    It does not wait. Chance would decide the order of the two, and in a forked child it might wait for ever.
    """

    @functools.wraps(method)
    def run(self: Self, /, *given: Given.args, **named: Given.kwargs) -> Result:
        if not self._free.acquire(False):
            raise RuntimeError(f"another call uses this {self._what}; make one for each thread, or call in turn")
        try:
            return method(self, *given, **named)
        finally:
            self._free.release()

    return run


@functools.cache
def processors(root: str = "/") -> int:
    """The number of processors that this process may use, as it was at the first call; `root` is the folder of the system."""
    found = SYSTEM.processors()
    asked = number(os.environ.get("SLURM_CPUS_PER_TASK", ""))
    found = min(found, asked) if asked else found
    return max(1, min([found, *quotas(root)] if found > 1 else [found]))


def quotas(root: str) -> Iterator[int]:
    """How many processors the control group of this process may use, and each group around it; of version 2."""
    rows = text_of(root, "proc/self/cgroup").splitlines()
    own = next((row.removeprefix("0::") for row in rows if row.startswith("0::")), "/")
    parts = [part for part in own.split("/") if part]
    for depth in range(len(parts), -1, -1):
        if ".." in parts[:depth]:  # outside what this process sees
            continue
        words = text_of(root, "sys/fs/cgroup", *parts[:depth], "cpu.max").split()
        quota, period = map(number, words) if len(words) == 2 else (0, 0)
        if quota and period:
            yield -(-quota // period)


def text_of(*path: str) -> str:
    """The text of a small file; empty if it cannot be read."""
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def number(text: str) -> int:
    """A positive number in decimal digits; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
