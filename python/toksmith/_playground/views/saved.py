"""The text and the tokenizers as one file that needs no server."""

from __future__ import annotations

from typing import Any

from ..snapshots import snapshot
from .asked import Asked

__all__ = ["saved"]


def saved(asked: Asked) -> dict[str, Any]:
    """A snapshot of the text with the tokenizers that are compared, with a `title`: its HTML."""
    title = asked.string("title", "")
    return {"html": snapshot(asked.toks, asked.text, title=title or None, special=asked.special).html}
