"""The pieces of a text: what `encode` merges, each by itself; whether ids are those of their text; and texts that change.

The rule is that of `encode`: special and added tokens are cut out first, then the model's splitters cut the text between
them. Left out: the merging.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .. import _core
from .._base.arguments import special_choice
from .._model.model import Model
from . import boundaries
from .stream import Special, as_utf8

if TYPE_CHECKING:
    from .session import TextSession

__all__ = ["first_drift", "is_canonical", "session", "split"]

Some = TypeVar("Some", str, bytes)


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
    pieces = pieces_of(self._engine, self.model, text, special_choice(special))
    return [like(text, piece) for piece in pieces]


def is_canonical(self: Any, ids: Iterable[int]) -> bool:
    """Whether decoding the ids and encoding the text gives the same ids; see
    `first_drift`.

    Raises: UnknownId, if no token has one of the ids.
    """
    return first_drift(self, ids) is None


def first_drift(self: Any, ids: Iterable[int]) -> int | None:
    """The position of the first id that differs after decoding and encoding
    again; None if none does.

    Special tokens are not text: each run of ids between them is decoded to
    bytes, and encoded with `special="text"`.

    Raises:
        UnknownId: No token has one of the ids.

    >>> import toksmith
    >>> tok = toksmith.train("low", merges=2, pattern=None)
    >>> tok.first_drift([32, 108, 111, 119]), tok.first_drift([32, 257])
    (1, None)
    """
    return boundaries.first_drift(self._engine, self.model, ids)


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


def session(self: Any, text: str | bytes = "", *, special: Special = "raise") -> TextSession:
    """A text that changes, and its ids: after each edit they are those of the
    whole text, but only the text around the edit is encoded again.

    Args:
        text: What it holds at first.
        special: As for `encode`, also for the text of edits.
    Raises: as `encode`.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", 262)
    >>> s = tok.session("low lower lowest")
    >>> s.replace(4, 9, "slow")
    <IdEdit 1 id from 1 on become [32, 115, 257]>
    >>> s.text, s.ids.tolist() == tok.encode(s.text)
    ('low slow lowest', True)
    """
    from .session import TextSession  # not above: tokenizers load sooner without it

    return TextSession(self._engine, text, special, boundaries.longest_added(self.model))
