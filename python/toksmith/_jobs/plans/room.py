"""What a process that makes shards may use: threads, and memory.

Peak memory is below `BASE` + `PER_THREAD` for each thread + `per_byte` for each byte of the longest document, or of the texts
of the largest row group or batch of a table. A text may have as many ids as bytes. Most formats take the ids of a long text in
parts; some need all of them at once, as shuffling and packing do. The blocks that are read ahead are part of the first two. So
a limit of memory decides how many threads there are, and how long a document may be.

A shuffle and best-fit packing also hold all ids of a shard. A plan keeps `HELD_PER_BYTE` for each byte that the largest shard
reads, which normal texts do not need; a shard that needs more ends (`HeldRoom`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..._base.arguments import whole_number
from ..._base.errors import InvalidOption, JobError
from ..._base.threads import thread_count
from ..._corpus import TABLES, kind_of
from ..._corpus.encode_files import PACKED
from ..._corpus.parquet import row_group_sizes
from .options import COUNTS
from .plan import Plan, PlannedInput, sizes_of

__all__ = [
    "BASE",
    "HELD_PER_BYTE",
    "PER_BYTE",
    "PER_THREAD",
    "WHOLE_PER_BYTE",
    "WHOLE_PER_BYTE_OF",
    "HeldRoom",
    "ShardRoom",
    "check_room",
    "held_of",
    "per_byte",
    "room_of",
]

BASE, PER_THREAD, PER_BYTE = 300_000_000, 64_000_000, 6
PER_BYTE_OF = {"hf": 9, "parquet": 20}
# More of them for texts of tables, which their readers hold as well.
TABLE_PER_BYTE = 2
# Of jobs whose documents do not come in parts.
WHOLE_PER_BYTE = 12
WHOLE_PER_BYTE_OF = {"dolma": 14, "mds": 17, "hf": 20, "parquet": 38}
HELD_PER_BYTE = 6
HELD_PER_ID, HELD_PER_DOCUMENT = 8, 400
# How many times its size a packed file or a table has in texts; a shard whose texts are larger ends when its ids are.
UNPACKED = 4
MOST_MEMORY = 1 << 60
# Every limit has room for documents of so many bytes.
LEAST_LONGEST = 1 << 22


class ShardRoom(NamedTuple):
    """What a process uses: `threads`, documents of at most `longest` bytes, and `held` bytes for the ids of a whole shard;
    None for no limit."""

    threads: int
    longest: int | None = None
    held: int | None = None


class HeldRoom:
    """How much room the ids of a shard still have that are held together."""

    def __init__(self, number: int, room: ShardRoom) -> None:
        self._number, self._most, self._held = number, room.held, 0

    def add(self, documents: int, ids: int) -> None:
        """Counts documents with their ids.

        Raises:
            JobError: There is no room for them.
        """
        self._held += HELD_PER_DOCUMENT * documents + HELD_PER_ID * ids
        if self._most is not None and self._held > self._most:
            said = f"its ids, which are held together, need more than {self._most:,} bytes, the most that max_memory allows"
            advice = "raise max_memory, or plan the job again with a smaller shard_size and force=True"
            raise JobError(f"shard {self._number}", f"{said}; {advice}")


def held_of(plan: Plan) -> int:
    """The room to keep for the ids of the largest shard; 0 if the job does not hold them together."""
    if plan.options.shuffle is None and plan.options.pack != "best-fit":
        return 0

    def times(found: PlannedInput) -> int:
        path = Path(found.path)
        return UNPACKED if path.suffix in PACKED or kind_of(path) in TABLES else 1

    return HELD_PER_BYTE * max(sizes_of(plan, times)[: len(plan.shards)], default=0)


def per_byte(plan: Plan) -> int:
    """The bytes of memory for each byte of the longest document."""
    options = plan.options
    if options.shuffle is not None or options.pack is not None:
        return WHOLE_PER_BYTE_OF.get(options.to, WHOLE_PER_BYTE)
    has_tables = any(kind_of(Path(found.path)) in TABLES for found in plan.inputs)
    return PER_BYTE_OF.get(options.to, PER_BYTE) + TABLE_PER_BYTE * has_tables


def room_of(
    threads: int | None, max_memory: int | None, longest: int = LEAST_LONGEST, *, held: int = 0, times: int = PER_BYTE
) -> ShardRoom:
    """The threads for documents of up to `longest` bytes, which need so many `times` as much, beside what is `held` of a shard.

    Raises:
        InvalidOption: So much memory is not enough for one thread.
    """
    count = thread_count(threads)
    if max_memory is None:
        return ShardRoom(count)
    left = whole_number(max_memory, "max_memory") - BASE - times * max(longest, LEAST_LONGEST) - held
    if max_memory > MOST_MEMORY:
        raise InvalidOption("max_memory", max_memory, f"at most {MOST_MEMORY:,}, or None")
    if left < PER_THREAD:
        least = max_memory - left + PER_THREAD
        said = f"{BASE // 10**6} MB, {PER_THREAD // 10**6} MB for a thread and {times} times the longest document"
        said += f", and {HELD_PER_BYTE} times the largest shard ({held:,}): pass a smaller shard_size" if held else ""
        raise InvalidOption("max_memory", max_memory, f"at least {least:,} bytes: {said}")
    count = min(count, left // PER_THREAD)
    more = left - PER_THREAD * count
    longest = max(longest, LEAST_LONGEST)
    if not held:
        return ShardRoom(count, longest + more // times)
    return ShardRoom(count, longest + more // 2 // times, held + more // 2)


def check_room(plan: Plan, max_memory: int | None) -> None:
    """Raises InvalidOption if a document of the plan needs more memory. The length of rows is not known before they are
    read; a shard ends at one that is too long."""
    if max_memory is None:
        return
    held, own = held_of(plan), per_byte(plan)
    room_of(1, max_memory, held=held, times=own)
    for found in plan.inputs:
        path = Path(found.path)
        if path.suffix == ".parquet":
            largest, what = max(row_group_sizes(path, found.field), default=0), "a row group with texts"
        elif kind_of(path) in (".jsonl", *TABLES) or path.suffix in PACKED or plan.options.to == COUNTS:
            continue
        else:
            largest, what = found.bytes, "a text"
        try:
            room_of(1, max_memory, largest, held=held, times=own)
        except InvalidOption as error:
            allowed = f"{error.allowed}, which is {what} of {largest:,} bytes in {found.path}"
            raise InvalidOption("max_memory", max_memory, allowed) from None
