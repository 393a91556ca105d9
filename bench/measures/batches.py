"""All documents in one call, on the threads of the request; or a share, while other processes encode the rest."""

from __future__ import annotations

import sys
import time
from typing import Any

from .. import adapters
from ..adapters import Engine, Ids, as_ids
from ..request import READY, Reply, Request
from .clock import have_memory, ids_proof, middle, settle, timed


def measure(request: Request) -> Reply:
    """The seconds of the first call, and the median of `passes` calls with the same documents."""
    texts = request.text.load()
    engine = adapters.load(request.engine, request.encoding)
    call = getattr(engine, request.first)
    if request.warm:
        call(["word"], request.threads)
    settle()
    have_memory()
    figures: dict[str, float] = {}
    figures["first"], result = timed(request.clock, call, texts, request.threads)
    digest, sizes = ids_proof([flatten_ids(engine, result)])
    seconds = []
    for _ in range(request.passes if request.again else 0):
        del result
        took, result = timed(request.clock, call, texts, request.threads)
        seconds.append(took)
    if seconds:
        figures["again"] = middle(seconds)
        last, _ = ids_proof([flatten_ids(engine, result)])
        digest = digest if digest == last else f"{digest} {last}"
    return Reply(figures, {"ids": digest, "tokens": sum(sizes)})


def measure_share(request: Request) -> Reply:
    """The end of each call with a share of the documents, on a clock that all processes of the machine share.

    Before each call, this process reports that it is ready and waits for a line.
    """
    texts = request.text.load(request.share)
    engine = adapters.load(request.engine, request.encoding)
    call = getattr(engine, request.first)
    settle()
    have_memory()
    figures: dict[str, float] = {}
    tokens = 0
    for place in range(1 + request.passes):
        print(READY, flush=True)
        sys.stdin.readline()
        result = call(texts, request.threads)
        figures[str(place)] = time.perf_counter()
        tokens = len(flatten_ids(engine, result))
        del result
    return Reply(figures, {"tokens": tokens})


def flatten_ids(engine: Engine, result: Any) -> Ids:
    """The ids of a batch, one text after another."""
    if isinstance(result, list) and isinstance(result[0], list):
        return as_ids([id for ids in result for id in ids])
    return engine.flatten(result)
