r"""The symbols of a piece before the first merge, where not every character has a token (HF's rules).

A character that continues a piece carries a prefix, the last one a suffix. A character without a token becomes its
bytes, if all of these have tokens (written `<0x41>`), or else the unknown id.

>>> ids = {"a": 0, "?": 1, "<0xC3>": 2, "<0xA9>": 3}
>>> start_ids("xaé", Symbols(ids, unknown=1, byte_fallback=True))
[1, 0, 2, 3]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from . import Pair, merge
from .names import listing


class Symbols(NamedTuple):
    """A model of characters that merge by pairs, and what it does with characters that have no token.

    Attributes:
        ids: The id of each token.
        ranks: As in `reference.Model`.
        prefix: The start of each token that continues a piece.
        suffix: The end of each token that ends a piece.
        unknown: The id of a character without a token; None if such a character is an error.
        fuse_unknown: Whether a run of unknown characters gives one id.
        byte_fallback: Whether such a character becomes its bytes, if all of them have tokens.
        whole_piece: Whether a piece that is a token becomes that token without merging.
    """

    ids: Mapping[str, int]
    ranks: Mapping[Pair, tuple[int, int]] = {}
    prefix: str = ""
    suffix: str = ""
    unknown: int | None = None
    fuse_unknown: bool = False
    byte_fallback: bool = False
    whole_piece: bool = False


def start_ids(piece: str, model: Symbols) -> list[int]:
    """The ids of a piece before the first merge.

    An unknown id is held back until a character with a token or the end comes, so byte tokens come before it; with
    `fuse_unknown`, ids that are held back become one.

    >>> ids = {"a": 0, "?": 1, "<0xC3>": 2, "<0xA9>": 3}
    >>> start_ids("xéa", Symbols(ids, unknown=1, byte_fallback=True))
    [2, 3, 1, 0]
    >>> start_ids("xxa", Symbols(ids, unknown=1)), start_ids("xxa", Symbols(ids, unknown=1, fuse_unknown=True))
    ([1, 1, 0], [1, 0])
    """
    ids: list[int] = []
    waits = False
    for at, char in enumerate(piece):
        symbol = (model.prefix if at else "") + char + (model.suffix if at == len(piece) - 1 else "")
        as_bytes = [model.ids.get(f"<0x{byte:02X}>") for byte in symbol.encode()]
        if symbol in model.ids:
            ids += ([model.unknown] if waits and model.unknown is not None else []) + [model.ids[symbol]]
            waits = False
        elif model.byte_fallback and None not in as_bytes:
            ids += [id for id in as_bytes if id is not None]
        elif model.unknown is None:
            raise ValueError(f"{symbol!r} is not in the vocabulary")
        else:
            ids += [model.unknown] if waits and not model.fuse_unknown else []
            waits = True
    return [*ids, model.unknown] if waits and model.unknown is not None else ids


def encode_symbols(piece: str, model: Symbols) -> list[int]:
    """The ids of a piece.

    >>> model = Symbols({"a": 0, "##b": 1, "ab": 2}, {(0, 1): (0, 2)}, prefix="##")
    >>> encode_symbols("ab", model)
    [2]
    """
    if model.whole_piece and piece in model.ids:
        return [model.ids[piece]]
    return merge(start_ids(piece, model), model.ranks)


__dir__ = listing(__name__)
