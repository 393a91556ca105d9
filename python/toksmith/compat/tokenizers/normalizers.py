"""`tokenizers.normalizers`: parts that rewrite a text before it is split. The engine runs them; see `_runtime.py`."""

from __future__ import annotations

from typing import Any

from ._parts import PATTERN, Field, NotHere, Part, PartSequence
from ._runtime import normalize_text


class Normalizer(Part):
    """Any normalizer."""

    ROLE = "normalizer"

    def normalize_str(self, sequence: str) -> str:
        """The normalized text."""
        return normalize_text(self.data, sequence)

    def normalize(self, normalized: Any) -> None:
        """Not here."""
        raise NotHere("Normalizer.normalize of a NormalizedString", "call normalize_str with the text")

    @staticmethod
    def custom(normalizer: Any) -> Any:
        """Not here."""
        raise NotHere("Normalizer.custom", "use the normalizers that a tokenizer.json can hold, such as Replace")


class NFC(Normalizer):
    """Unicode's NFC."""


class NFD(Normalizer):
    """Unicode's NFD."""


class NFKC(Normalizer):
    """Unicode's NFKC."""


class NFKD(Normalizer):
    """Unicode's NFKD."""


class Nmt(Normalizer):
    """NMT's clean-up."""


class Lowercase(Normalizer):
    """Lower case."""


class StripAccents(Normalizer):
    """Without marks."""


class ByteLevel(Normalizer):
    """Bytes as characters."""


class BertNormalizer(Normalizer):
    """BERT's."""

    FIELDS = (
        Field("clean_text", True),
        Field("handle_chinese_chars", True),
        Field("strip_accents", None),
        Field("lowercase", True),
    )


class Strip(Normalizer):
    """Removes white space at the ends."""

    FIELDS = (Field("left", True, key="strip_left"), Field("right", True, key="strip_right"))


class Prepend(Normalizer):
    """Adds a text before each text that is not empty."""

    FIELDS = (Field("prepend", "▁"),)


class Replace(Normalizer):
    """A replacement for each match of a pattern."""

    FIELDS = (PATTERN, Field("content"))


class Precompiled(Normalizer):
    """SentencePiece's compiled table."""

    FIELDS = (Field("precompiled_charsmap"),)


class Sequence(PartSequence, Normalizer):
    """Normalizers in sequence."""

    KEY = "normalizers"


FORMS = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """The normalizer of a Unicode form."""
    if normalizer not in FORMS:
        raise ValueError(f"{normalizer} is not a known unicode normalizer. Available are {list(FORMS)}")
    return FORMS[normalizer]()


__all__ = ["Normalizer", *Normalizer.ROWS, "unicode_normalizer_from_str"]  # noqa: PLE0604 - the rows of the role
