"""What callers pass as texts, pairs of texts and batches, checked in the library's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._parts import limited, shown

__all__ = ["batch", "row", "shown_tokenizer", "text"]

MANY = (list, tuple, np.ndarray)


def text(value: Any, words: bool) -> Any:
    """A text, or a list of words."""
    if not words:
        if not isinstance(value, str):
            raise TypeError("TextInputSequence must be str")
        return str(value)
    if not isinstance(value, MANY) or not all(isinstance(word, str) for word in value):
        raise TypeError("PreTokenizedInputSequence must be Union[List[str], Tuple[str]]")
    return [str(word) for word in value]


def row(value: Any, words: bool) -> list[Any]:
    """A text or a pair of texts, as one member of a batch."""
    if not words:
        if isinstance(value, str):
            return [str(value)]
        if isinstance(value, MANY) and len(value) == 2 and all(isinstance(each, str) for each in value):
            return [str(each) for each in value]
        raise TypeError("TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]")
    if isinstance(value, MANY):
        if all(isinstance(word, str) for word in value):
            return [[str(word) for word in value]]
        if len(value) == 2 and all(isinstance(each, MANY) for each in value):
            return [text(each, True) for each in value]
    problem = "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, Tuple[PreTokenizedInputSequence, "
    raise TypeError(problem + "PreTokenizedInputSequence]]")


def batch(value: Any) -> Iterable[Any]:
    """The members of a batch."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(f"expected a list of texts or of pairs of texts, not {type(value).__name__}")
    return value


def shown_tokenizer(value: Mapping[str, Any], most: int | None) -> str:
    """A tokenizer as the library shows it."""
    fields = []
    for name, each in value.items():
        if name == "added_tokens":
            fields.append(f"added_tokens=[{limited([shown_token(token, most) for token in each], most)}]")
        else:
            fields.append(f"{name}={shown(each, most)}")
    return f"Tokenizer({', '.join(fields)})"


def shown_token(token: Mapping[str, Any], most: int | None) -> str:
    """An added token as the library shows it."""
    pairs = [f'"{name}":{shown(value, None)}' for name, value in token.items()]
    return "{" + limited(pairs, most) + "}"
