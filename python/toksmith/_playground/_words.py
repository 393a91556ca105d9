"""Errors in the words of the page, which has fields and choices where Python has arguments.

The rule: what a message says to do can be done on the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import toksmith
from toksmith import _render

__all__ = ["words"]

# What the page calls an argument; the others are called by their own names.
FIELDS = {
    "id": "the token id",
    "ids": "the ids",
    "piece": "the piece",
    "query": "the search",
    "by": "the kind of search",
    "text": "the text",
    "context": "your context",
    "end": "the end of the prompt",
    "special": "special tokens",
    "tokenizers": "the tokenizers",
    "pattern": "the split pattern",
    "files": "the files",
}
SHORT = 80  # characters of a value that a message quotes


def words(error: toksmith.ToksmithError) -> str:
    """What an error says on the page."""
    for kind, say in SAID.items():
        if isinstance(error, kind):
            return say(error)
    return str(error)


def invalid(error: Any) -> str:
    value = error.value if isinstance(error.value, str) else repr(error.value)
    given = _render.one_line(value if len(value) <= SHORT else f"{value[:SHORT]}…")
    return f"{FIELDS.get(error.argument, error.argument)}: “{given}” is not possible; expected {error.allowed}"


def special(error: Any) -> str:
    token = _render.one_line(error.token)
    return (
        f"the text holds the special token {token}, which this page is set to refuse; "
        "choose “plain text” or “allowed” under Special tokens"
    )


SAID: Mapping[type[Exception], Callable[[Any], str]] = {
    toksmith.SpecialTokenInText: special,
    toksmith.InvalidOption: invalid,
}
