"""A text inside markup: what `html` and the files beside it write of a token, a name or a label."""

from __future__ import annotations

from .view import plain

__all__ = ["attribute", "escaped"]


def escaped(text: str, chars: int | None = None) -> str:
    """A text between tags; of a longer one the first `chars` characters, and how many there are."""
    if chars is not None and len(text) > chars:
        text = f"{text[:chars]}… ({len(text):,} characters)"
    return plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def attribute(text: str) -> str:
    """A text inside the double quotes of an attribute."""
    return escaped(text).replace('"', "&quot;")
