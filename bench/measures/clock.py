"""How time is taken, and how results become digests."""

from __future__ import annotations

import gc
import hashlib
import mmap
import statistics
import time
from array import array
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..adapters import Ids, as_ids

T = TypeVar("T")


LOOKS, BETWEEN_LOOKS_S = 100, 0.02


def settle() -> None:
    """Collects garbage, excludes what survives from later collections, and waits until no thread of this process works.

    No engine pays for the objects of another. The import of numpy starts threads of OpenBLAS, which keep the other
    processors busy for about 0.1 s without any work.
    """
    gc.collect()
    gc.freeze()
    for _ in range(LOOKS):
        used = time.process_time()
        time.sleep(BETWEEN_LOOKS_S)
        if time.process_time() - used < BETWEEN_LOOKS_S / 10:
            return


FIRST_MEMORY = 192 << 20  # bytes: more than any engine takes for a first pass


def have_memory() -> None:
    """Touches memory and frees it again, so that the system has it at hand.

    A virtual machine gives memory that is free for a few seconds back to its host. At the next touch the host finds a page
    for it, which takes longer than what an engine does with that page.
    """
    with mmap.mmap(-1, FIRST_MEMORY) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        memory[:: mmap.PAGESIZE] = bytes(FIRST_MEMORY // mmap.PAGESIZE)


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def timed(clock: str, call: Callable[..., T], *arguments: Any) -> tuple[float, T]:
    """The seconds that a call takes, and its result.

    Args:
        clock: "wall", or "cpu" for the processor time of all threads, which other processes disturb less.
    """
    now = CLOCKS[clock]
    start = now()
    result = call(*arguments)
    return now() - start, result


def middle(seconds: Iterable[float]) -> float:
    """The median."""
    return statistics.median(list(seconds))


def sizes_proof(sizes: Iterable[int]) -> str:
    """A digest of how many ids each document has."""
    return hashlib.sha256(array("Q", sizes).tobytes()).hexdigest()


def ids_proof(parts: Iterable[Ids]) -> tuple[str, list[int]]:
    """A digest of the ids of all documents, and how many each has."""
    digest, sizes = hashlib.sha256(), []
    for ids in parts:
        digest.update(as_ids(ids).tobytes())
        sizes.append(len(ids))
    return digest.hexdigest(), sizes
