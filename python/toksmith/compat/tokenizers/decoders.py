"""`tokenizers.decoders`: what makes a text of tokens. The engine runs them; see `_pieces.py`."""

from __future__ import annotations

from collections.abc import Sequence as Sequences
from typing import Any, ClassVar

from ._parts import Part, PartSequence, field, pattern_field, refused
from ._pieces import decoded
from ._streams import DecodeStream
from .pre_tokenizers import scheme

__all__ = [
    "CTC",
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]


class Decoder(Part):
    """Any decoder."""

    ROLE = "decoder"
    ROWS: ClassVar[dict[str, type[Part]]] = {}

    def decode(self, tokens: Sequences[str]) -> str:
        """The text of these tokens."""
        return decoded(self.data, tokens)

    @staticmethod
    def custom(decoder: Any) -> Any:
        """Not here."""
        refused("Decoder.custom", "use the decoders that a tokenizer.json can hold, such as Replace")


class BPEDecoder(Decoder):
    """A space for the mark of the end of a word."""

    TYPE = "BPEDecoder"
    FIELDS = (field("suffix", "</w>"),)


class ByteFallback(Decoder):
    """The bytes of tokens such as `<0x61>`."""

    TYPE = "ByteFallback"


class ByteLevel(Decoder):
    """The bytes of characters."""

    TYPE = "ByteLevel"
    FIELDS = (field("add_prefix_space", True), field("trim_offsets", True), field("use_regex", True))


class CTC(Decoder):
    """Of CTC."""

    TYPE = "CTC"
    FIELDS = (field("pad_token", "<pad>"), field("word_delimiter_token", "|"), field("cleanup", True))


class Fuse(Decoder):
    """The tokens in one."""

    TYPE = "Fuse"


class Metaspace(Decoder):
    """Spaces for another character."""

    TYPE = "Metaspace"
    FIELDS = (
        field("replacement", "▁", one=True),
        field("prepend_scheme", "always")._replace(write=scheme),
        field("split", True),
    )


class Replace(Decoder):
    """One text for each match of a pattern."""

    TYPE = "Replace"
    FIELDS = (pattern_field(), field("content"))
    HIDDEN = ("pattern",)


class Strip(Decoder):
    """Without so many of a character at the ends of each token."""

    TYPE = "Strip"
    FIELDS = (field("content", " ", one=True), field("left", 0, key="start"), field("right", 0, key="stop"))


class WordPiece(Decoder):
    """Spaces between words, none before what continues one."""

    TYPE = "WordPiece"
    FIELDS = (field("prefix", "##"), field("cleanup", True))


class Sequence(PartSequence, Decoder):
    """Decoders one after another."""

    TYPE = "Sequence"
    KEY = "decoders"
