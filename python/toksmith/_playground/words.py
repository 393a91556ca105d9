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
    "size": "the vocabulary size",
    "vocab_size": "the vocabulary size",
    "special_tokens": "the special tokens",
    "texts": "the texts",
}
UNKNOWN = "matches no known format of tokenizers"  # what a `FormatError` says of a file that nothing recognises
SHORT = 80  # characters of a value that a message quotes


def words(error: toksmith.ToksmithError) -> str:
    for kind, say in SAID.items():
        if isinstance(error, kind):
            return say(error)
    return str(error)


def invalid(error: Any) -> str:
    field = FIELDS.get(error.argument, error.argument)
    if type(error.value).__name__ == "Unset":  # not given
        return f"{field} is missing; expected {error.allowed}"
    value = error.value if isinstance(error.value, str) else repr(error.value)
    return f"{field}: “{short(value)}” is not possible; expected {error.allowed}"


def short(text: str) -> str:
    """The beginning of a value, on one line."""
    return _render.one_line(text if len(text) <= SHORT else f"{text[:SHORT]}…")


def unread(error: Any) -> str:
    if UNKNOWN in error.problem:
        return f"{error.path} is not a tokenizer in a format that toksmith reads"
    return str(error)


def missing(error: Any) -> str:
    content = error.content
    shown = short(content) if isinstance(content, str) else _render.token_text(content[:SHORT])
    where = "" if error.offset is None else f" (at character {error.offset:,})"
    return f"“{shown}”{where} is not in the vocabulary, and this tokenizer has no token for what it does not know"


def special(error: Any) -> str:
    token = _render.one_line(error.token)
    return (
        f"the text holds the special token {token}, which this page is set to refuse; "
        "choose “plain text” or “allowed” under Special tokens"
    )


SAID: Mapping[type[Exception], Callable[[Any], str]] = {
    toksmith.SpecialTokenInText: special,
    toksmith.InvalidOption: invalid,
    toksmith.NotInVocabulary: missing,
    toksmith.FormatError: unread,
}
