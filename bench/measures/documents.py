"""Documents one by one, in one thread: the first pass, and later passes.

The timed passes drop each result and keep only its size. The ids are checked twice: a separate process compares all ids
of a first pass, and every timed process compares the sizes of all its passes and all ids of one pass after the first.
"""

from __future__ import annotations

import numpy as np

from .. import adapters, hostile
from ..adapters import Engine, Ids
from ..request import Reply, Request
from .clock import have_memory, ids_proof, middle, settle, sizes_proof, timed


def measure(request: Request) -> Reply:
    """The seconds of one pass over all documents: `first`, and the median of `passes` for each of `again`."""
    texts = request.text.load()
    engine = adapters.load(request.engine, request.encoding)
    if request.warm:
        engine.arrays(["word"])
    settle()
    have_memory()
    figures: dict[str, float] = {}
    sizes: set[str] = set()
    if not request.check_only:
        figures["first"], sizes_of_pass = timed(request.clock, getattr(engine, request.first), texts)
        sizes.add(sizes_proof(sizes_of_pass))
    digest, sizes_of_pass = ids_proof(engine.ids(text) for text in texts)
    sizes.add(sizes_proof(sizes_of_pass))
    for name in () if request.check_only else request.again:
        try:
            runs = [timed(request.clock, getattr(engine, name), texts) for _ in range(request.passes)]
        except adapters.Unsupported:
            continue
        figures[name] = middle(seconds for seconds, _ in runs)
        sizes.update(sizes_proof(sizes_of_pass) for _, sizes_of_pass in runs)
    return Reply(figures, {"ids": digest, "sizes": " ".join(sorted(sizes)), "tokens": sum(sizes_of_pass)})


def answer(request: Request) -> Reply:
    """The answer of the reference engine for the documents; the ids go to the file `request.ids`, if given."""
    engine = adapters.load(request.engine, request.encoding)
    parts = [reference_ids(engine, request.text.name, text) for text in request.text.load()]
    digest, sizes = ids_proof(parts)
    if request.ids:
        np.savez(request.ids, ids=np.concatenate(parts), sizes=np.array(sizes, np.uint64))
    return Reply({}, {"ids": digest, "sizes": sizes_proof(sizes), "tokens": sum(sizes)})


def reference_ids(engine: Engine, name: str, text: str) -> Ids:
    """The ids of a text; a run on which the engine's split gives up goes to its merges as one piece."""
    try:
        return engine.ids(text)
    except BaseException:  # a panic that crosses into Python is not an Exception
        if name.rpartition("-")[0] not in hostile.ONE_PIECE:
            raise
        return engine.piece(text)
