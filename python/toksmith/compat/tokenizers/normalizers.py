"""`tokenizers.normalizers`: what rewrites a text before it is split. The engine runs them; see `_pieces.py`."""

from __future__ import annotations

from typing import Any, ClassVar

from ._parts import Part, PartSequence, field, pattern_field, refused
from ._pieces import normalized

__all__ = [
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "BertNormalizer",
    "ByteLevel",
    "Lowercase",
    "Nmt",
    "Normalizer",
    "Precompiled",
    "Prepend",
    "Replace",
    "Sequence",
    "Strip",
    "StripAccents",
    "unicode_normalizer_from_str",
]


class Normalizer(Part):
    """Any normalizer."""

    ROLE = "normalizer"
    ROWS: ClassVar[dict[str, type[Part]]] = {}

    def normalize_str(self, sequence: str) -> str:
        """The text that this makes of a text."""
        return normalized(self.data, sequence)

    def normalize(self, normalized: Any) -> None:
        """Not here."""
        refused("Normalizer.normalize of a NormalizedString", "call normalize_str with the text")

    @staticmethod
    def custom(normalizer: Any) -> Any:
        """Not here."""
        refused("Normalizer.custom", "use the normalizers that a tokenizer.json can hold, such as Replace")


class NFC(Normalizer):
    """Unicode's NFC."""

    TYPE = "NFC"


class NFD(Normalizer):
    """Unicode's NFD."""

    TYPE = "NFD"


class NFKC(Normalizer):
    """Unicode's NFKC."""

    TYPE = "NFKC"


class NFKD(Normalizer):
    """Unicode's NFKD."""

    TYPE = "NFKD"


class Nmt(Normalizer):
    """The clean-up of NMT."""

    TYPE = "Nmt"


class Lowercase(Normalizer):
    """Lower case."""

    TYPE = "Lowercase"


class StripAccents(Normalizer):
    """Without marks."""

    TYPE = "StripAccents"


class ByteLevel(Normalizer):
    """Bytes as characters."""

    TYPE = "ByteLevel"


class BertNormalizer(Normalizer):
    """BERT's."""

    TYPE = "BertNormalizer"
    FIELDS = (
        field("clean_text", True),
        field("handle_chinese_chars", True),
        field("strip_accents", None),
        field("lowercase", True),
    )


class Strip(Normalizer):
    """Without white space at the ends."""

    TYPE = "Strip"
    FIELDS = (field("left", True, key="strip_left"), field("right", True, key="strip_right"))


class Prepend(Normalizer):
    """A text before each text that is not empty."""

    TYPE = "Prepend"
    FIELDS = (field("prepend", "▁"),)


class Replace(Normalizer):
    """One text for each match of a pattern."""

    TYPE = "Replace"
    FIELDS = (pattern_field(), field("content"))
    HIDDEN = ("pattern",)


class Precompiled(Normalizer):
    """SentencePiece's compiled table."""

    TYPE = "Precompiled"
    FIELDS = (field("precompiled_charsmap"),)


class Sequence(PartSequence, Normalizer):
    """Normalizers one after another."""

    TYPE = "Sequence"
    KEY = "normalizers"


FORMS = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """The normalizer of a Unicode form."""
    if normalizer not in FORMS:
        raise ValueError(f"{normalizer} is not a known unicode normalizer. Available are {list(FORMS)}")
    return FORMS[normalizer]()
