"""The default number of threads, and a guard for objects that only one thread at a time can change."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from ..errors import InvalidOption
from .arguments import check_int
from .system import SYSTEM

if TYPE_CHECKING:
    import threading

MOST_THREADS = 1 << 16


def thread_count(threads: int | None) -> int:
    """The number of threads to use: the argument, or the number of processors available to this process.

    That number is the least of: its CPU affinity, `SLURM_CPUS_PER_TASK`, and the quotas of its control group and of the
    enclosing groups.
    """
    if threads is None:
        return processor_count()
    threads = check_int(threads, "threads")
    if not 1 <= threads <= MOST_THREADS:
        raise InvalidOption("threads", threads, f"from 1 to {MOST_THREADS}, or None for all processors")
    return threads


class OneCall(Protocol):
    """An object for one call at a time: a call holds the lock `_free`, and errors name the object `_what`."""

    _free: threading.Lock
    _what: str


Self = TypeVar("Self", bound=OneCall)
Given = ParamSpec("Given")
Result = TypeVar("Result")


class cached_property(functools.cached_property[Result]):
    """`functools.cached_property` without its lock. Before Python 3.12 all objects share it, and a forked process can
    inherit it locked."""

    def __init__(self, func: Callable[[Any], Result]) -> None:
        super().__init__(func)
        self.lock = contextlib.nullcontext()


def one_call_at_a_time(
    method: Callable[Concatenate[Self, Given], Result],
) -> Callable[Concatenate[Self, Given], Result]:
    """Decorates methods of an object that must run one at a time: a concurrent call raises RuntimeError.

    It does not wait: chance would decide the order of the two calls, and in a forked child the wait might never end.
    """

    @functools.wraps(method)
    def run(self: Self, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        if not self._free.acquire(False):
            raise RuntimeError(f"another call uses this {self._what}; make one for each thread, or call in turn")
        try:
            return method(self, *args, **kwargs)
        finally:
            self._free.release()

    return run


@functools.cache
def processor_count(root: str = "/") -> int:
    """The number of processors available to this process, measured at the first call; `root` is the root folder."""
    count = SYSTEM.processors()
    slurm_count = parse_positive(os.environ.get("SLURM_CPUS_PER_TASK", ""))
    count = min(count, slurm_count) if slurm_count else count
    return max(1, min([count, *cgroup_quotas(root)] if count > 1 else [count]))


def cgroup_quotas(root: str) -> Iterator[int]:
    """The processor quotas of this process's control group and of each enclosing group (cgroups version 2)."""
    rows = read_small_file(root, "proc/self/cgroup").splitlines()
    group = next((row.removeprefix("0::") for row in rows if row.startswith("0::")), "/")
    parts = [part for part in group.split("/") if part]
    for depth in range(len(parts), -1, -1):
        if ".." in parts[:depth]:  # outside the namespace of this process
            continue
        words = read_small_file(root, "sys/fs/cgroup", *parts[:depth], "cpu.max").split()
        quota, period = map(parse_positive, words) if len(words) == 2 else (0, 0)
        if quota and period:
            yield -(-quota // period)


def read_small_file(*path: str) -> str:
    """The text of a small file; empty if it cannot be read."""
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def parse_positive(text: str) -> int:
    """A positive number in decimal digits; 0 for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
