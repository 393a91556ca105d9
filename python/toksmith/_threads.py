"""How many threads a call uses when the caller does not say."""

from __future__ import annotations

import os

from ._arguments import whole_number
from ._errors import InvalidOption

__all__ = ["thread_count"]

MOST_THREADS = 1 << 16


def thread_count(threads: int | None) -> int:
    """The number of threads to use: as asked, else the processors that this process may run on."""
    if threads is None:
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    threads = whole_number(threads, "threads")
    if not 1 <= threads <= MOST_THREADS:
        raise InvalidOption("threads", threads, f"from 1 to {MOST_THREADS}, or None for all processors")
    return threads
