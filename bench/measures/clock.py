"""Takes times, and turns results into digests."""

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
    """Collect garbage, freeze the survivors, and wait until no thread of this process works.

    No engine pays for another's objects. The import of numpy starts threads of OpenBLAS, which keep the other
    processors busy for about 0.1 s without any work.
    """
    gc.collect()
    gc.freeze()
    for _ in range(LOOKS):
        before = time.process_time()
        time.sleep(BETWEEN_LOOKS_S)
        if time.process_time() - before < BETWEEN_LOOKS_S / 10:
            return


FIRST_MEMORY = 192 << 20  # bytes: more than any engine takes for a first pass


def have_memory() -> None:
    """Touch memory and free it again, so that the system has pages ready.

    A virtual machine returns memory that is free for a few seconds to its host. At the next touch the host must find a
    page, which takes longer than an engine's work with that page.
    """
    with mmap.mmap(-1, FIRST_MEMORY) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        memory[:: mmap.PAGESIZE] = bytes(FIRST_MEMORY // mmap.PAGESIZE)


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def timed(clock: str, call: Callable[..., T], *arguments: Any) -> tuple[float, T]:
    """The seconds of a call, and its result.

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
    """A digest of the numbers of ids of all documents."""
    return hashlib.sha256(array("Q", sizes).tobytes()).hexdigest()


def ids_proof(parts: Iterable[Ids]) -> tuple[str, list[int]]:
    """A digest of the ids of all documents, and the number of ids of each."""
    digest, sizes = hashlib.sha256(), []
    for ids in parts:
        digest.update(as_ids(ids).tobytes())
        sizes.append(len(ids))
    return digest.hexdigest(), sizes
