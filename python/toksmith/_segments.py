"""`Tokenizer.encode_segments`: the ids of a text of which some parts are trusted.

The rule: a special token counts only where trusted text spells all of it; everything else is ordinary text, as if the
segments were one text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from ._arguments import checked_late, items
from ._errors import OF_A_PLACE
from ._model import AddedToken
from ._stream import as_utf8, offset_in

__all__ = ["cut_segments", "encode_segments"]

Text = str | bytes


@checked_late
def encode_segments(self: Any, segments: Iterable[tuple[Text, bool]]) -> list[int]:
    """The ids of a text that consists of trusted and untrusted segments.

    The segments form one text, so pieces may cross their edges. A special
    token is found only if it lies completely in adjacent trusted segments.
    Everywhere else it is ordinary text.

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
    ids: list[int] = []
    begun = 0  # where in all of the text the part begins
    tokens = [token for token in self.model.added_tokens if not token.normalized]
    for text, token in cut_segments(tokens, joined(listed)):
        try:
            ids += self._engine.encode(text, "text", "replace", None) if token is None else [token.id]
        except OF_A_PLACE as error:
            raise error if error.offset is None else error.at(*in_segments(listed, begun + error.offset)) from None
        begun += len(text)
    return ids


def cut_segments(
    tokens: Sequence[AddedToken], segments: Iterable[tuple[bytes, bool]]
) -> Iterator[tuple[bytes, AddedToken | None]]:
    """The special tokens that trusted text spells, and the stretches of ordinary text between them, in order."""
    runs = [(b"".join(data for data, _ in run), trusted) for trusted, run in groupby(segments, key=itemgetter(1))]
    contents = {token.content.encode(): token for token in reversed(tokens)}
    longest_first = sorted(contents, key=len, reverse=True)
    finder = re.compile(b"|".join(map(re.escape, longest_first))) if contents else None
    waiting = b""
    for data, trusted in runs:
        start = 0
        for found in finder.finditer(data) if finder and trusted else ():
            if (token := contents[found[0]]).special:
                yield waiting + data[start : found.start()], None
                yield found[0], token
                waiting, start = b"", found.end()
        waiting += data[start:]
    yield waiting, None


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
