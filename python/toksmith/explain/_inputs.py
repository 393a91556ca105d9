"""The inputs of all views: tokenizers by name, and the tokens and pieces of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from .._render import TokenView, token_text, token_views
from .._tokenizer.tokenizer import Special, Text, Tokenizer
from ..reference import cut

INVALID = re.compile("([\udc80-\udcff]+)")  # decoded bytes that are not part of a character


def token_ends(tok: Tokenizer, text: Text, special: Special) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The ids of a text, and the byte offset at which each ends; the ids partition the text."""
    encoding = tok.encode_with_offsets(text, unit="byte", special=special)
    return encoding.ids, encoding.ends


def piece_ends(tok: Tokenizer, data: bytes, special: Special) -> list[int]:
    """The byte offset at which each piece ends; each special or added token is one piece."""
    model = tok.model
    specials = {added.content: added.id for added in model.added_tokens if added.special}
    others = {added.content: added.id for added in model.added_tokens if not (added.special or added.normalized)}
    cuts = cut(data, specials, special, others)
    pieces = (piece for part, id in cuts for piece in (split_pieces(tok, part) if id is None else [part]))
    return [*accumulate(map(len, pieces))]


def split_pieces(tok: Tokenizer, data: bytes) -> list[bytes]:
    """The pieces of a text without special tokens; with normalizers, the text is one piece."""
    if tok.model.normalizers:
        return [data] if data else []
    pieces: list[bytes] = []
    for part in INVALID.split(data.decode("utf-8", "surrogateescape")):
        encoded = part.encode("utf-8", "surrogateescape")
        if part:
            pieces += [encoded] if INVALID.match(part) else tok._engine.split(encoded)
    return pieces


def view_tokens(tok: Tokenizer, ids: Iterable[int]) -> tuple[TokenView, ...]:
    """The views of tokens, for drawing."""
    return tuple(token_views(ids, tok.token_bytes, frozenset(tok.special_tokens.values())))


def format_tokens(tokens: Iterable[bytes]) -> str:
    """Tokens as the text of a table cell."""
    return "".join(f"▏{token_text(token)}" for token in tokens)
