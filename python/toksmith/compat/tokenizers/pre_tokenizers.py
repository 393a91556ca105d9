"""`tokenizers.pre_tokenizers`: what splits a text into pieces. The engine runs them; see `_runtime.py`."""

from __future__ import annotations

from typing import Any

from ..._formats.texts import spelt
from ._parts import PATTERN, Field, Part, PartSequence, character, refused
from ._runtime import pieces

BYTE_LEVEL = (Field("add_prefix_space", True), Field("trim_offsets", True), Field("use_regex", True))
BEHAVIORS = {
    "removed": "Removed",
    "isolated": "Isolated",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}
SCHEMES = ("always", "never", "first")


def scheme(value: Any) -> Any:
    """A scheme of `Metaspace`, which JSON spells as Python does."""
    if value not in SCHEMES:
        raise ValueError(f"{value} is an unknown variant, should be one of {list(SCHEMES)}")
    return value


def write_behavior(value: Any) -> str:
    """A behavior in JSON."""
    if value not in BEHAVIORS:
        raise ValueError(f"Wrong value for behavior, expected one of: {', '.join(BEHAVIORS)}; found {value!r}")
    return BEHAVIORS[value]


def read_behavior(value: Any) -> str:
    """A behavior in Python."""
    return next(name for name, own in BEHAVIORS.items() if own == value)


METASPACE = (
    Field("replacement", "▁", write=character),
    Field("prepend_scheme", "always", write=scheme),
    Field("split", True),
)
BEHAVIOR = Field("behavior", write=write_behavior, read=read_behavior)


class PreTokenizer(Part):
    """Any pre-tokenizer."""

    ROLE = "pre-tokenizer"

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


class ByteLevel(PreTokenizer):
    """GPT-2's pieces, with bytes as characters."""

    FIELDS = BYTE_LEVEL

    @staticmethod
    def alphabet() -> list[str]:
        """The characters that bytes become, sorted."""
        return sorted(spelt(bytes([byte])) for byte in range(256))


class CharDelimiterSplit(PreTokenizer):
    """Split at a character."""

    FIELDS = (Field("delimiter", write=character),)


class Digits(PreTokenizer):
    """Digits apart from all else."""

    FIELDS = (Field("individual_digits", False),)


class FixedLength(PreTokenizer):
    """Pieces of so many characters."""

    FIELDS = (Field("length", 5),)


class Metaspace(PreTokenizer):
    """Spaces as another character."""

    FIELDS = METASPACE


class Punctuation(PreTokenizer):
    """Punctuation apart from all else."""

    FIELDS = (BEHAVIOR._replace(default="isolated"),)


class Split(PreTokenizer):
    """Split at the matches of a pattern."""

    FIELDS = (PATTERN, BEHAVIOR, Field("invert", False))


class UnicodeScripts(PreTokenizer):
    """Split where the script changes."""


class Whitespace(PreTokenizer):
    r"""The matches of `\w+|[^\w\s]+`."""


class WhitespaceSplit(PreTokenizer):
    """Split at white space."""


class Sequence(PartSequence, PreTokenizer):
    """Pre-tokenizers one after another."""

    KEY = "pretokenizers"


__all__ = ["PreTokenizer", *PreTokenizer.ROWS]  # noqa: PLE0604 - the rows of the role
