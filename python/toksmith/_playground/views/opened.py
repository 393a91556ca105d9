"""Tokenizers that the page sends, and what it proposes to look at."""

from __future__ import annotations

from typing import Any

import toksmith

from ..opened import new_name, received_tokenizer
from ..opened import proposed as proposed_of
from .asked import Asked
from .session import MOST_LOADED, Session

__all__ = ["added", "opened", "proposed"]


def opened(asked: Asked) -> dict[str, Any]:
    """Adds a tokenizer from files; what the page then has to know, and its name."""
    tok = received_tokenizer(asked.values.get("files"), asked.values.get("pattern"))
    return added(asked.session, asked.string("name", "tokenizer"), tok)


def added(session: Session, name: str, tok: toksmith.Tokenizer) -> dict[str, Any]:
    """Adds a tokenizer to the page, by the name or one like it."""
    with session.lock:
        if len(session.toks) >= MOST_LOADED:
            raise toksmith.InvalidOption("tokenizers", len(session.toks), f"at most {MOST_LOADED} of them on a page")
        name = new_name(name, {**session.toks, **session.failed})
        session.toks = {**session.toks, name: tok}
    return {"name": name, "about": session.about()}


def proposed(asked: Asked) -> dict[str, Any]:
    """Pieces and tokens of the text, from which the page lets one choose."""
    return proposed_of(asked.tok, asked.text)
