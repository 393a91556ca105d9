"""Resident memory: the growth of a process after loading, and after encoding a long new text.

Documents are read one by one from disk and dropped with their ids, so the text itself does not count.
"""

from __future__ import annotations

import gc
from pathlib import Path

from .. import adapters
from ..request import Reply, Request


def measure(request: Request) -> Reply:
    """Bytes above a bare interpreter: `loaded` after importing, loading and one word, `worked` after the whole text."""
    bare = resident()
    engine = adapters.load(request.engine, request.encoding)
    engine.arrays(["word"])
    gc.collect()
    loaded = resident() - bare
    tokens = sum(engine.arrays([text])[0] for text in request.text.stream())
    gc.collect()
    return Reply({"loaded": loaded, "worked": resident() - bare}, {"tokens": tokens})


def resident() -> int:
    """The resident bytes of this process."""
    status = Path("/proc/self/status")
    if not status.is_file():
        raise adapters.Unsupported("no /proc on this machine")
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024
