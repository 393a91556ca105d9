"""The measurements by name: functions of a request that run in the fresh process."""

from __future__ import annotations

from collections.abc import Callable

from ..request import Reply, Request
from . import batches, conversations, decoding, documents, loading, memory

__all__ = ["MEASURES"]

MEASURES: dict[str, Callable[[Request], Reply]] = {
    "answer": documents.answer,
    "documents": documents.measure,
    "batch": batches.measure,
    "share": batches.measure_share,
    "conversations": conversations.measure,
    "decode": decoding.measure,
    "load": loading.measure,
    "memory": memory.measure,
}
