"""How many threads a call uses when the caller does not say; and what one thread at a time may change."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from ._arguments import whole_number
from ._errors import InvalidOption
from ._system import SYSTEM

if TYPE_CHECKING:
    from pathlib import Path

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
    from pathlib import Path  # slow to import

    found = [SYSTEM.processors(), *quotas(Path(root))]
    asked = number(os.environ.get("SLURM_CPUS_PER_TASK", ""))
    return max(1, min([*found, asked] if asked else found))


def quotas(root: Path) -> Iterator[int]:
    """How many processors the control group of this process may use, and each group around it; of version 2."""
    from pathlib import PurePosixPath

    try:
        rows = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    own = next((row.removeprefix("0::") for row in rows if row.startswith("0::")), "/")
    place = PurePosixPath(own.lstrip("/"))
    for group in (place, *place.parents):
        if ".." in group.parts:  # outside what this process sees
            continue
        try:
            words = (root / "sys/fs/cgroup" / group / "cpu.max").read_text(encoding="utf-8", errors="replace").split()
        except (OSError, ValueError):
            continue
        quota, period = map(number, words) if len(words) == 2 else (0, 0)
        if quota and period:
            yield -(-quota // period)


def number(text: str) -> int:
    """A positive number in decimal digits; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
