"""`Tokenizer.encode_segments`: the ids of a text of which some parts are trusted.

The rule: an added token counts only where trusted text spells all of it; everything else is ordinary text, as if the segments
were one text. `_tokenizer/marks.py` says which added tokens this is about, and encodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from .._base.arguments import items
from .._base.errors import OF_A_PLACE
from .stream import as_utf8, offset_in

__all__ = ["encode_segments"]

Text = str | bytes


def encode_segments(self: Any, segments: Iterable[tuple[Text, bool]]) -> list[int]:
    """The ids of a text that consists of trusted and untrusted segments.

    The segments form one text, so pieces may cross their edges. An added
    token, special or not, is found only if it lies completely in adjacent
    trusted segments. Everywhere else it is ordinary text; only added
    tokens of white space are found there too.

    Args:
        segments: Pairs of a text and a bool that says whether it is
            trusted.
    Raises: NotInVocabulary, PatternError and TextTooLong as `encode`;
        `index` is the number of the segment.

    >>> import toksmith
    >>> tok = toksmith.train("low lower", merges=2, pattern=None, special_tokens=["<|end|>"])
    >>> tok.encode_segments([("low", True), ("<|end|>", False), ("<|end|>", True)]) == [
    ...     *tok.encode("low<|end|>", special="text"), tok.token_id("<|end|>")
    ... ]
    True
    """
    listed = items(segments, "segments", "pairs of a text and whether it is trusted")
    runs = [(b"".join(data for data, _ in run), trusted) for trusted, run in groupby(joined(listed), key=itemgetter(1))]
    try:
        ids: list[int] = self._trusted_encoder.encode(runs)
    except OF_A_PLACE as error:
        raise error if error.offset is None else error.at(*in_segments(listed, error.offset)) from None
    return ids


def in_segments(segments: Iterable[tuple[Text, bool]], place: int) -> tuple[int, int]:
    """The offset of a byte of the joined segments in its segment, and the number of the segment."""
    number, offset = 0, 0
    for number, (text, _) in enumerate(segments):  # noqa: B007 - that of the last counts
        size = len(as_utf8(text))
        offset = offset_in(text, min(place, size))
        if place < size:
            break
        place -= size
    return offset, number


def joined(segments: Sequence[object]) -> list[tuple[bytes, bool]]:
    """The segments as bytes. Two halves of a surrogate pair in different segments are not joined."""
    found = []
    for number, segment in enumerate(segments):
        if isinstance(segment, (str, bytes)) or not isinstance(segment, Sequence) or len(segment) != 2:
            raise TypeError(f"segments: segment {number}: expected a pair of a text and whether it is trusted")
        text, trusted = segment
        if not isinstance(text, (str, bytes)) or not isinstance(trusted, (bool, np.bool_)):
            kinds = f"{type(text).__name__} and {type(trusted).__name__}"
            raise TypeError(f"segments: segment {number}: expected a str or bytes and a bool, not {kinds}")
        found.append((as_utf8(text), bool(trusted)))
    return found
