"""All documents in one call, on as many threads as the request gives."""

from __future__ import annotations

from typing import Any

from .. import adapters
from ..adapters import Engine, Ids, as_ids
from ..request import Reply, Request
from .clock import ids_proof, middle, settle, timed


def measure(request: Request) -> Reply:
    """The seconds of the first call, and the median of `passes` calls with the same documents."""
    texts = request.text.load()
    engine = adapters.load(request.engine, request.encoding)
    call = getattr(engine, request.first)
    if request.warm:
        call(["word"], request.threads)
    settle()
    figures: dict[str, float] = {}
    figures["first"], result = timed(request.clock, call, texts, request.threads)
    digest, sizes = ids_proof([flattened(engine, result)])
    seconds = []
    for _ in range(request.passes if request.again else 0):
        del result
        took, result = timed(request.clock, call, texts, request.threads)
        seconds.append(took)
    if seconds:
        figures["again"] = middle(seconds)
        last, _ = ids_proof([flattened(engine, result)])
        digest = digest if digest == last else f"{digest} {last}"
    return Reply(figures, {"ids": digest, "tokens": sum(sizes)})


def flattened(engine: Engine, result: Any) -> Ids:
    """The ids of a batch, one text after another."""
    if isinstance(result, list) and isinstance(result[0], list):
        return as_ids([id for ids in result for id in ids])
    return engine.flatten(result)
