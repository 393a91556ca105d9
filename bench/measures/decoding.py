"""Ids back to text: lists to str, or arrays to bytes, document by document."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .. import adapters
from ..request import Reply, Request
from .clock import middle, settle, timed


def measure(request: Request) -> Reply:
    """The seconds of the first pass over all documents, and the median of `passes` more."""
    with np.load(request.ids) as stored:
        parts = np.split(stored["ids"], np.cumsum(stored["sizes"])[:-1].astype(np.int64))
    engine = adapters.load(request.engine, request.encoding)
    as_lists = request.first == "decode_lists"
    batch: list[Any] = [part.tolist() for part in parts] if as_lists else [part.copy() for part in parts]
    settle()
    call = getattr(engine, request.first)
    first, sizes = timed(request.clock, call, batch)
    again = [timed(request.clock, call, batch) for _ in range(request.passes)]
    digest = hashlib.sha256()
    for ids in batch:
        digest.update(engine.text(ids).encode("utf-8", "replace") if as_lists else engine.data(ids))
    steady = all(counted == sizes for _, counted in again)
    proof: dict[str, str | int] = {"text": digest.hexdigest() if steady else "sizes differ between passes"}
    return Reply({"first": first, "again": middle(seconds for seconds, _ in again)}, proof)
