"""What calls of a tokenizer return when it is more than a list: ragged batches and streaming decoders."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._errors import InvalidOption

__all__ = ["Ragged", "Retold", "StreamDecoder"]


@dataclass(frozen=True, eq=False)
class Ragged:
    """The ids of many texts in one array: text i has `ids[ends[i - 1]:ends[i]]`, which is `ragged[i]`.

    Attributes:
        ids: uint32, shape (n,).
        ends: uint64, shape (texts,), ascending; the last is n.
    """

    ids: NDArray[np.uint32]
    ends: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> NDArray[np.uint32]:
        place = range(len(self))[index]
        start = int(self.ends[place - 1]) if place else 0
        return self.ids[start : int(self.ends[place])]

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        return (self[index] for index in range(len(self)))


class StreamDecoder:
    """Decodes ids as they come; made by `Tokenizer.decoder`.

    `feed` returns the characters that no later id can change: bytes of a character that is not complete yet are kept
    back, so that a stream of valid UTF-8 never shows U+FFFD, wherever its tokens end.
    """

    def __init__(
        self,
        decode_more: Callable[[Iterable[int], bool], tuple[bytes, bool]],
        errors: str,
        rest: Callable[[], bytes] = bytes,
    ) -> None:
        try:
            codecs.lookup_error(errors)
        except LookupError:
            raise InvalidOption("errors", errors, "a name that bytes.decode knows: 'replace', 'strict', …") from None
        self._decode_more, self._rest = decode_more, rest
        self._fresh = True
        self._characters = codecs.getincrementaldecoder("utf-8")(errors)

    def feed(self, ids: Iterable[int] | int) -> str:
        """The text that is settled by these ids and not returned before.

        Args:
            ids: One id or several.
        Returns: zero or more whole characters.
        Raises:
            UnknownId: An id stands for no token; the decoder is as it was before the call.
        """
        several = [ids] if isinstance(ids, (int, np.integer)) else ids
        decoded, self._fresh = self._decode_more(several, self._fresh)
        return self._characters.decode(decoded)

    def finish(self) -> str:
        """The text of what was kept back, after which the decoder is new again.

        Returns: "" when the stream ended with a whole character; otherwise what `errors` makes of the rest.
        """
        rest = self._characters.decode(self._rest(), final=True)
        self._characters.reset()
        self._fresh = True
        return rest


class Retold:
    """The bytes of a stream of ids where steps make a text of all tokens together: decodes from the start each time.

    What is settled is what another token does not change, and `breaker` is the one that changes most: a byte that makes
    no UTF-8 of the bytes before it.
    """

    def __init__(self, decode: Callable[[list[int]], bytes], breaker: int | None) -> None:
        self._decode = decode
        self._breaker = [] if breaker is None else [breaker]
        self._ids: list[int] = []
        self._told = b""

    def more(self, ids: Iterable[int], fresh: bool) -> tuple[bytes, bool]:
        """The bytes that are settled by these ids, and that the stream is not fresh any more."""
        if fresh:
            self._ids, self._told = [], b""
        longer = [*self._ids, *ids]
        now, then = self._decode(longer), self._decode(longer + self._breaker)
        self._ids = longer
        same = next((at for at, (a, b) in enumerate(zip(now, then, strict=False)) if a != b), min(len(now), len(then)))
        settled = now[:same]
        if not settled.startswith(self._told):
            return b"", False
        told, self._told = self._told, settled
        return settled[len(told) :], False

    def rest(self) -> bytes:
        """The bytes that are not told yet."""
        return self._decode(self._ids)[len(self._told) :] if self._ids else b""
