"""The allowed differences between sentencepiece and `toksmith.compat.sentencepiece`."""

from __future__ import annotations

from dropins import Allowed, Case

__all__ = ["ROWS"]


def is_encode(case: Case, fields: frozenset[str]) -> bool:
    """Whether the drop-in's `parallel_encode` returns the result of the library's own `encode`."""
    return "parallel" in case.call.lower() and case.ours == case.about["encode"]


ROWS = [
    Allowed(
        "sentencepiece",
        "parallel_encode gives what encode gives",
        "the library encodes chunks of a text on their own, and may give other pieces, or lose a part of an unknown word",
        is_encode,
    ),
]
