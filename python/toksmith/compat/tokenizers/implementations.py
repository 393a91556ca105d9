"""`tokenizers.implementations`: ready-made tokenizers. They are not here: each says so when it is made, and what to build instead."""

from __future__ import annotations

from typing import Any

from ._parts import refused

__all__ = [
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
]


class Implementation:
    """One that is not here."""

    PARTS = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refused(type(self).__name__, f"build a Tokenizer of {self.PARTS}")

    @classmethod
    def from_file(cls, *args: Any, **kwargs: Any) -> Any:
        """Not here."""
        return cls()


class BertWordPieceTokenizer(Implementation):
    """BERT's."""

    PARTS = "models.WordPiece, normalizers.BertNormalizer and pre_tokenizers.BertPreTokenizer"


class ByteLevelBPETokenizer(Implementation):
    """GPT-2's."""

    PARTS = "models.BPE, pre_tokenizers.ByteLevel and decoders.ByteLevel"


class CharBPETokenizer(Implementation):
    """The first GPT's."""

    PARTS = "models.BPE(end_of_word_suffix='</w>') and decoders.BPEDecoder"


class SentencePieceBPETokenizer(Implementation):
    """As SentencePiece has it."""

    PARTS = "models.BPE, pre_tokenizers.Metaspace and decoders.Metaspace"


class SentencePieceUnigramTokenizer(Implementation):
    """As SentencePiece has it."""

    PARTS = "models.Unigram, pre_tokenizers.Metaspace and decoders.Metaspace"
