"""The pieces of a text: what `encode` merges, each by itself.

The rule is that of `encode`: special and added tokens are cut out first, then the model's splitters cut the text between
them. Left out: the merging.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from . import _core
from ._arguments import checked
from ._model import Model
from ._stream import Special, as_utf8

__all__ = ["split"]

Some = TypeVar("Some", str, bytes)


@checked
def split(self: Any, text: Some, *, special: Special = "raise") -> list[Some]:
    """The pieces of a text, in order: no merge crosses from one into the
    next.

    The pieces joined are the text, unless steps of the model rewrite it:
    then they are in the form that is merged. A special or added token is a
    piece of its own.

    Returns: str for a `str`, bytes for `bytes`.
    Raises: as `encode` for special tokens, patterns and steps.

    >>> import toksmith
    >>> tok = toksmith.train("any text", merges=0, pattern="gpt2")
    >>> tok.split("Hello's World123  !!  ")
    ['Hello', "'s", ' World', '123', ' ', ' !!', '  ']
    """
    pieces = pieces_of(self._engine, self.model, text, special)
    return [like(text, piece) for piece in pieces]


def like(text: object, piece: bytes) -> Any:
    """A piece in the type of the text."""
    return piece.decode(errors="replace") if isinstance(text, str) else piece


def pieces_of(engine: _core.Engine, model: Model, text: str | bytes, special: Special) -> list[bytes]:
    """The pieces as bytes."""
    data = as_utf8(text)
    added = {token.id: token.content.encode() for token in model.added_tokens if special != "text" or not token.special}
    normalized = any(token.normalized for token in model.added_tokens)
    if not normalized and not any(content in data for content in added.values()):
        return engine.split(data) if data else []
    ids, starts, ends = _core.encode_with_offsets(engine, text, special, "replace", False)
    pieces, done = [], 0
    for place in np.flatnonzero(np.isin(ids, list(added))).tolist():
        start, end = int(starts[place]), int(ends[place])
        if start >= done:
            pieces += [*(engine.split(data[done:start]) if start > done else []), data[start:end]]
            done = end
    return pieces + (engine.split(data[done:]) if done < len(data) else [])
