"""What all views share: tokenizers by name, and the tokens and pieces of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from .._base.arguments import items
from .._base.errors import InvalidOption, number_of
from .._render import TokenView, token_text, token_views
from .._tokenizer.tokenizer import Special, Text, Tokenizer
from ..reference import cut

__all__ = [
    "Tokenizers",
    "drawn",
    "name_of",
    "named_tokenizers",
    "piece_ends",
    "pieces_in",
    "token_ends",
    "views_of",
]

INVALID = re.compile("([\udc80-\udcff]+)")  # decoded bytes that are not part of a character
SEVERAL = "a Tokenizer, a dict of them by name, or a list of them"
Tokenizers = Tokenizer | Mapping[str, Tokenizer] | Sequence[Tokenizer]


@lru_cache(maxsize=64)
def name_of(tok: Tokenizer) -> str:
    """The description of a tokenizer without a name."""
    return f"{tok.model.kind}, {number_of(len(tok), 'token')}"


def named_tokenizers(toks: Tokenizers) -> dict[str, Tokenizer]:
    """The tokenizers by name; those without a name get a numbered description."""
    if isinstance(toks, Tokenizer):
        return {name_of(toks): toks}
    if isinstance(toks, Mapping):
        named = dict(toks)
    else:
        listed = items(toks, "toks", SEVERAL)
        named = {f"{place}: {name_of(as_tokenizer(tok))}": tok for place, tok in enumerate(listed, 1)}
    for name, tok in named.items():
        if not isinstance(name, str):
            raise TypeError(f"toks: expected str as names, not {type(name).__name__}")
        as_tokenizer(tok)
    if not named:
        raise InvalidOption("toks", toks, "at least one tokenizer")
    return named


def as_tokenizer(tok: object) -> Tokenizer:
    """A tokenizer, as it is."""
    if not isinstance(tok, Tokenizer):
        raise TypeError(f"toks: expected {SEVERAL}, not {type(tok).__name__}")
    return tok


def token_ends(tok: Tokenizer, text: Text, special: Special) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The ids of a text, and where in its bytes each ends; the ids partition the text."""
    encoding = tok.encode_with_offsets(text, unit="byte", special=special)
    return encoding.ids, encoding.ends


def piece_ends(tok: Tokenizer, data: bytes, special: Special) -> list[int]:
    """Where each piece ends in the bytes of the text; each special or added token is one piece."""
    model = tok.model
    specials = {added.content: added.id for added in model.added_tokens if added.special}
    others = {added.content: added.id for added in model.added_tokens if not (added.special or added.normalized)}
    cuts = cut(data, specials, special, others)
    pieces = (piece for part, id in cuts for piece in (pieces_in(tok, part) if id is None else [part]))
    return [*accumulate(map(len, pieces))]


def pieces_in(tok: Tokenizer, data: bytes) -> list[bytes]:
    """The pieces of a text without special tokens; where a normalizer changes texts, the text is one piece."""
    if tok.model.normalizers:
        return [data] if data else []
    pieces: list[bytes] = []
    for part in INVALID.split(data.decode("utf-8", "surrogateescape")):
        encoded = part.encode("utf-8", "surrogateescape")
        if part:
            pieces += [encoded] if INVALID.match(part) else tok._engine.split(encoded)
    return pieces


def views_of(tok: Tokenizer, ids: Iterable[int]) -> tuple[TokenView, ...]:
    """Tokens as they are drawn."""
    return tuple(token_views(ids, tok.token_bytes, frozenset(tok.special_tokens.values())))


def drawn(tokens: Iterable[bytes]) -> str:
    """Tokens in a cell of a table."""
    return "".join(f"▏{token_text(token)}" for token in tokens)
