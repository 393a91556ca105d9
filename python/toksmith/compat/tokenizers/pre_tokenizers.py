"""`tokenizers.pre_tokenizers`: parts that split a text into pieces. The engine runs them; see `_runtime.py`."""

from __future__ import annotations

from typing import Any

from ..._formats.hf_steps import BEHAVIORS as PYTHON_NAMES
from ..._formats.texts import to_gpt2_alphabet
from ._parts import PATTERN, Field, NotHere, Part, PartSequence, check_character
from ._runtime import split_text

BYTE_LEVEL = (Field("add_prefix_space", True), Field("trim_offsets", True), Field("use_regex", True))
BEHAVIORS = {name: json_name for json_name, name in PYTHON_NAMES.items()}
SCHEMES = ("always", "never", "first")


def check_scheme(value: Any) -> Any:
    """A scheme of `Metaspace`, which is the same in JSON and in Python."""
    if value not in SCHEMES:
        raise ValueError(f"{value} is an unknown variant, should be one of {list(SCHEMES)}")
    return value


def write_behavior(value: Any) -> str:
    """The JSON form of a behavior."""
    if value not in BEHAVIORS:
        raise ValueError(f"Wrong value for behavior, expected one of: {', '.join(BEHAVIORS)}; found {value!r}")
    return BEHAVIORS[value]


METASPACE = (
    Field("replacement", "▁", write=check_character),
    Field("prepend_scheme", "always", write=check_scheme),
    Field("split", True),
)
BEHAVIOR = Field("behavior", write=write_behavior, read=PYTHON_NAMES.__getitem__)


class PreTokenizer(Part):
    """Any pre-tokenizer."""

    ROLE = "pre-tokenizer"

    def pre_tokenize_str(self, sequence: str) -> list[tuple[str, tuple[int, int]]]:
        """The pieces of a text, each with its range of characters."""
        return split_text(self.data, sequence)

    def pre_tokenize(self, pretok: Any) -> None:
        """Not here."""
        raise NotHere("PreTokenizer.pre_tokenize of a PreTokenizedString", "call pre_tokenize_str with the text")

    @staticmethod
    def custom(pretok: Any) -> Any:
        """Not here."""
        raise NotHere(
            "PreTokenizer.custom", "use the pre-tokenizers that a tokenizer.json can hold, such as Split with a Regex"
        )


class BertPreTokenizer(PreTokenizer):
    """BERT's words."""


class ByteLevel(PreTokenizer):
    """GPT-2's pieces, with bytes as characters."""

    FIELDS = BYTE_LEVEL

    @staticmethod
    def alphabet() -> list[str]:
        """The characters that stand for bytes, sorted."""
        return sorted(to_gpt2_alphabet(bytes([byte])) for byte in range(256))


class CharDelimiterSplit(PreTokenizer):
    """Split at a character."""

    FIELDS = (Field("delimiter", write=check_character),)


class Digits(PreTokenizer):
    """Separates digits from other text."""

    FIELDS = (Field("individual_digits", False),)


class FixedLength(PreTokenizer):
    """Pieces of a fixed number of characters."""

    FIELDS = (Field("length", 5),)


class Metaspace(PreTokenizer):
    """Another character in place of spaces."""

    FIELDS = METASPACE


class Punctuation(PreTokenizer):
    """Separates punctuation from other text."""

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
    """Pre-tokenizers in sequence."""

    KEY = "pretokenizers"


__all__ = ["PreTokenizer", *PreTokenizer.ROWS]  # noqa: PLE0604 - the rows of the role
