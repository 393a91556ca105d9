"""Errors in the words of the page, which has fields and choices where Python has arguments.

The user can follow the advice of every message on the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import toksmith
from toksmith import _render

# The page's names for arguments; other arguments keep their own names.
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
SHORT = 80  # characters of a value that a message quotes


def message_of(error: toksmith.ToksmithError) -> str:
    for kind, say in MESSAGES.items():
        if isinstance(error, kind):
            return say(error)
    return str(error)


def invalid_message(error: Any) -> str:
    field = FIELDS.get(error.argument, error.argument)
    if isinstance(error.value, toksmith.Tokenizer):
        return f"this view needs {error.allowed}"
    if type(error.value).__name__ == "Unset":  # not given
        return f"{field} is missing; expected {error.allowed}"
    value = error.value if isinstance(error.value, str) else repr(error.value)
    return f"{field}: “{shorten(value)}” is not possible; expected {error.allowed}"


def shorten(text: str) -> str:
    """The beginning of a value, on one line."""
    return _render.one_line(text if len(text) <= SHORT else f"{text[:SHORT]}…")


def unread_message(error: Any) -> str:
    return f"{error.path} is not a tokenizer in a format that toksmith reads"


def missing_message(error: Any) -> str:
    content = error.content
    excerpt = shorten(content) if isinstance(content, str) else _render.token_text(content[:SHORT])
    where = "" if error.offset is None else f" (at character {error.offset:,})"
    return f"“{excerpt}”{where} is not in the vocabulary, and this tokenizer has no token for unknown text"


def special_message(error: Any) -> str:
    token = _render.one_line(error.token)
    return (
        f"the text holds the special token {token}, which this page is set to refuse; "
        "choose “plain text” or “allowed” under Special tokens"
    )


MESSAGES: Mapping[type[Exception], Callable[[Any], str]] = {
    toksmith.errors.SpecialTokenInText: special_message,
    toksmith.errors.InvalidOption: invalid_message,
    toksmith.errors.NotInVocabulary: missing_message,
    toksmith.errors.UnknownFormat: unread_message,
}
