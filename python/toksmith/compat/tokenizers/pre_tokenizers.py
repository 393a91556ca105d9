"""`tokenizers.pre_tokenizers`: what splits a text into pieces. The engine runs them; see `_pieces.py`."""

from __future__ import annotations

from typing import Any, ClassVar

from ..._formats.texts import spelt
from ._parts import Part, PartSequence, field, pattern_field, refused
from ._pieces import pieces

__all__ = [
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "PreTokenizer",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
]

BEHAVIORS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
SCHEMES = ("always", "never", "first")


def scheme(value: Any) -> Any:
    """A scheme of `Metaspace`, which JSON spells as Python does."""
    if value not in SCHEMES:
        raise ValueError(f"{value} is an unknown variant, should be one of {list(SCHEMES)}")
    return value


class PreTokenizer(Part):
    """Any pre-tokenizer."""

    ROLE = "pre-tokenizer"
    ROWS: ClassVar[dict[str, type[Part]]] = {}

    def pre_tokenize_str(self, sequence: str) -> list[tuple[str, tuple[int, int]]]:
        """The pieces of a text, each with its characters in the text."""
        return pieces(self.data, sequence)

    def pre_tokenize(self, pretok: Any) -> None:
        """Not here."""
        refused("PreTokenizer.pre_tokenize of a PreTokenizedString", "call pre_tokenize_str with the text")

    @staticmethod
    def custom(pretok: Any) -> Any:
        """Not here."""
        refused(
            "PreTokenizer.custom", "use the pre-tokenizers that a tokenizer.json can hold, such as Split with a Regex"
        )


class BertPreTokenizer(PreTokenizer):
    """BERT's words."""

    TYPE = "BertPreTokenizer"


class ByteLevel(PreTokenizer):
    """GPT-2's pieces, with bytes as characters."""

    TYPE = "ByteLevel"
    FIELDS = (field("add_prefix_space", True), field("trim_offsets", True), field("use_regex", True))

    def __init__(self, add_prefix_space: bool = True, use_regex: bool = True, **kwargs: Any) -> None:
        super().__init__(add_prefix_space=add_prefix_space, use_regex=use_regex, **kwargs)

    @staticmethod
    def alphabet() -> list[str]:
        """The characters that bytes become, sorted."""
        return sorted(spelt(bytes([byte])) for byte in range(256))


class CharDelimiterSplit(PreTokenizer):
    """Split at a character."""

    TYPE = "CharDelimiterSplit"
    FIELDS = (field("delimiter", one=True),)


class Digits(PreTokenizer):
    """Digits apart from all else."""

    TYPE = "Digits"
    FIELDS = (field("individual_digits", False),)


class FixedLength(PreTokenizer):
    """Pieces of so many characters."""

    TYPE = "FixedLength"
    FIELDS = (field("length", 5),)


class Metaspace(PreTokenizer):
    """Spaces as another character."""

    TYPE = "Metaspace"
    FIELDS = (
        field("replacement", "▁", one=True),
        field("prepend_scheme", "always")._replace(write=scheme),
        field("split", True),
    )


class Punctuation(PreTokenizer):
    """Punctuation apart from all else."""

    TYPE = "Punctuation"
    FIELDS = (field("behavior", "isolated", choices=BEHAVIORS),)


class Split(PreTokenizer):
    """Split at the matches of a pattern."""

    TYPE = "Split"
    FIELDS = (pattern_field(), field("behavior", choices=BEHAVIORS), field("invert", False))
    HIDDEN = ("pattern",)


class UnicodeScripts(PreTokenizer):
    """Split where the script changes."""

    TYPE = "UnicodeScripts"


class Whitespace(PreTokenizer):
    r"""The matches of `\w+|[^\w\s]+`."""

    TYPE = "Whitespace"


class WhitespaceSplit(PreTokenizer):
    """Split at white space."""

    TYPE = "WhitespaceSplit"


class Sequence(PartSequence, PreTokenizer):
    """Pre-tokenizers one after another."""

    TYPE = "Sequence"
    KEY = "pretokenizers"
