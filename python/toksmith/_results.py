"""What calls of a tokenizer return when it is more than a list: ragged batches and streaming decoders."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._errors import InvalidOption

__all__ = ["Fit", "Ragged", "StreamDecoder"]


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


@dataclass(frozen=True)
class Fit:
    """How a vocabulary goes with the pattern that splits its texts; made by `Tokenizer.pattern_fits`.

    Attributes:
        tokens: How many tokens were encoded: those that are UTF-8.
        misfits: How many of them do not encode to themselves. 0, or nearly, for the pattern of the training.
        examples: Some of these, as (id, token), the lowest ids first.
    """

    tokens: int
    misfits: int
    examples: tuple[tuple[int, bytes], ...]

    def __bool__(self) -> bool:
        return self.misfits == 0

    def __str__(self) -> str:
        if self:
            return f"each of {self.tokens} tokens encodes to itself"
        shown = ", ".join(repr(token.decode()) for _, token in self.examples)
        return f"{self.misfits} of {self.tokens} tokens do not encode to themselves, such as {shown}"


class StreamDecoder:
    """Decodes ids as they come; made by `Tokenizer.decoder`.

    `feed` returns the characters that no later id can change: bytes of a character that is not complete yet are kept
    back, so that a stream of valid UTF-8 never shows U+FFFD, wherever its tokens end.
    """

    def __init__(self, decode_more: Callable[[Iterable[int], bool], tuple[bytes, bool]], errors: str) -> None:
        try:
            codecs.lookup_error(errors)
        except LookupError:
            raise InvalidOption("errors", errors, "a name that bytes.decode knows: 'replace', 'strict', …") from None
        self._decode_more = decode_more
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
        rest = self._characters.decode(b"", final=True)
        self._characters.reset()
        self._fresh = True
        return rest
