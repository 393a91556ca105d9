"""What a process that makes shards may use: threads, and memory.

Peak memory is below `BASE` + `PER_THREAD` for each thread + `PER_BYTE` for each byte of the longest document, or of the texts
of the largest row group or batch of a table. The blocks that are read ahead are part of the first two. So a limit of memory
decides how many threads there are, and how long a document may be.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..._arguments import whole_number
from ..._corpus import TABLES, kind_of
from ..._corpus._parquet import row_group_sizes
from ..._encode_files import PACKED
from ..._errors import InvalidOption
from ..._threads import thread_count
from ._plan import COUNTS, Plan

__all__ = ["BASE", "PER_BYTE", "PER_THREAD", "ShardRoom", "check_room", "room_of"]

BASE, PER_THREAD, PER_BYTE = 300_000_000, 64_000_000, 6
MOST_MEMORY = 1 << 60
# Every limit has room for documents of so many bytes.
LEAST_LONGEST = 1 << 22


class ShardRoom(NamedTuple):
    """What a process uses: `threads`, and documents of at most `longest` bytes; None for no limit."""

    threads: int
    longest: int | None = None


def room_of(threads: int | None, max_memory: int | None, longest: int = LEAST_LONGEST) -> ShardRoom:
    """The threads for documents of up to `longest` bytes.

    Raises:
        InvalidOption: So much memory is not enough for one thread.
    """
    count = thread_count(threads)
    if max_memory is None:
        return ShardRoom(count)
    left = whole_number(max_memory, "max_memory") - BASE - PER_BYTE * max(longest, LEAST_LONGEST)
    if max_memory > MOST_MEMORY:
        raise InvalidOption("max_memory", max_memory, f"at most {MOST_MEMORY:,}, or None")
    if left < PER_THREAD:
        least = max_memory - left + PER_THREAD
        said = f"{BASE // 10**6} MB, {PER_THREAD // 10**6} MB for a thread and {PER_BYTE} times the longest document"
        raise InvalidOption("max_memory", max_memory, f"at least {least:,} bytes: {said}")
    count = min(count, left // PER_THREAD)
    return ShardRoom(count, (max_memory - BASE - PER_THREAD * count) // PER_BYTE)


def check_room(plan: Plan, max_memory: int | None) -> None:
    """Raises InvalidOption if a document of the plan needs more memory. The length of rows is not known before they are
    read; a shard ends at one that is too long."""
    if max_memory is None:
        return
    room_of(1, max_memory)
    for found in plan.inputs:
        path = Path(found.path)
        if path.suffix == ".parquet":
            largest, what = max(row_group_sizes(path, found.field), default=0), "a row group with texts"
        elif kind_of(path) in (".jsonl", *TABLES) or path.suffix in PACKED or plan.options.to == COUNTS:
            continue
        else:
            largest, what = found.bytes, "a text"
        try:
            room_of(1, max_memory, largest)
        except InvalidOption as error:
            allowed = f"{error.allowed}, which is {what} of {largest:,} bytes in {found.path}"
            raise InvalidOption("max_memory", max_memory, allowed) from None
