"""`tokenizers.decoders`: parts that turn tokens into text. The engine runs them; see `_runtime.py`."""

from __future__ import annotations

import copy
from collections.abc import Sequence as Sequences
from typing import Any

from ._parts import PATTERN, Field, NotHere, Part, PartSequence, check_character
from ._runtime import decode_tokens
from .pre_tokenizers import BYTE_LEVEL, METASPACE


class Decoder(Part):
    """Any decoder."""

    ROLE = "decoder"

    def decode(self, tokens: Sequences[str]) -> str:
        """The text of these tokens."""
        return decode_tokens(self.data, tokens)

    @staticmethod
    def custom(decoder: Any) -> Any:
        """Not here."""
        raise NotHere("Decoder.custom", "use the decoders that a tokenizer.json can hold, such as Replace")


class BPEDecoder(Decoder):
    """A space in place of the end-of-word mark."""

    FIELDS = (Field("suffix", "</w>"),)


class ByteFallback(Decoder):
    """The bytes of tokens such as `<0x61>`."""


class ByteLevel(Decoder):
    """The bytes of byte-level characters."""

    FIELDS = BYTE_LEVEL


class CTC(Decoder):
    """Of CTC."""

    FIELDS = (Field("pad_token", "<pad>"), Field("word_delimiter_token", "|"), Field("cleanup", True))


class Fuse(Decoder):
    """All tokens joined into one."""


class Metaspace(Decoder):
    """Spaces in place of another character."""

    FIELDS = METASPACE


class Replace(Decoder):
    """A replacement for each match of a pattern."""

    FIELDS = (PATTERN, Field("content"))


class Strip(Decoder):
    """Removes up to a number of one character from the ends of each token."""

    FIELDS = (
        Field("content", " ", write=check_character),
        Field("left", 0, key="start"),
        Field("right", 0, key="stop"),
    )


class WordPiece(Decoder):
    """Spaces between words, and none before a token that continues a word."""

    FIELDS = (Field("prefix", "##"), Field("cleanup", True))


class Sequence(PartSequence, Decoder):
    """Decoders in sequence."""

    KEY = "decoders"


class DecodeStream:
    """Returns the text that each further id adds; None while a character is incomplete."""

    def __init__(self, ids: Sequences[int] | None = None, skip_special_tokens: bool = False) -> None:
        self.skip_special_tokens = skip_special_tokens
        self.ids = list(ids or ())
        self.prefix = ""
        self.settled_count = 0

    def step(self, tokenizer: Any, id: int | Sequences[int]) -> str | None:
        """The text that one id, or several, add."""
        if not self.prefix and self.ids:
            self.prefix = self.text(tokenizer)
            if self.prefix.endswith("�"):
                self.prefix = ""
            else:
                self.settled_count = len(self.ids)
        self.ids += [id] if isinstance(id, int) else list(id)
        text = self.text(tokenizer)
        if len(text.encode()) <= len(self.prefix.encode()) or text.endswith("�"):
            return None
        if not text.startswith(self.prefix):
            raise ValueError("Invalid prefix encountered while decoding stream")
        new, remaining = text[len(self.prefix) :], len(self.ids) - self.settled_count
        self.ids = self.ids[self.settled_count :]
        self.prefix, self.settled_count = self.text(tokenizer), remaining
        return new

    def text(self, tokenizer: Any) -> str:
        """The text of the ids that are kept."""
        return str(tokenizer.decode(self.ids, skip_special_tokens=self.skip_special_tokens))

    def __copy__(self) -> DecodeStream:
        return copy.deepcopy(self)  # because `step` changes `ids`


__all__ = ["Decoder", *Decoder.ROWS, "DecodeStream"]  # noqa: PLE0604 - the rows of the role
