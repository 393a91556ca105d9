"""From a file to the first ids."""

from __future__ import annotations

from .. import adapters
from ..adapters import Engine, Ids
from ..request import Reply, Request
from .clock import have_memory, ids_proof, settle, sizes_proof, timed


def measure(request: Request) -> Reply:
    """The seconds of loading the vocabulary and encoding the text once; `import` is the engine's import time."""
    texts = request.text.load()
    importing, _ = timed(request.clock, adapters.module, request.engine)
    settle()
    have_memory()

    def load_and_encode() -> tuple[Engine, list[Ids]]:
        engine = adapters.load(request.engine, request.encoding)
        return engine, [engine.ids(text) for text in texts]

    first, (_, parts) = timed(request.clock, load_and_encode)
    digest, sizes = ids_proof(parts)
    proof: dict[str, str | int] = {"ids": digest, "sizes": sizes_proof(sizes), "tokens": sum(sizes)}
    return Reply({"first": first, "import": importing}, proof)
