"""The messages `SentencePieceText` and `NBestSentencePieceText`, described here for the protobuf library."""

from __future__ import annotations

from typing import Any

from ..._formats.protobuf import message_classes

__all__ = ["NBestSentencePieceText", "SentencePieceText"]

MESSAGES: dict[str, tuple[tuple[str, int, str, str], ...]] = {
    "Piece": (
        ("piece", 1, "string", ""),
        ("id", 2, "uint32", ""),
        ("surface", 3, "string", ""),
        ("begin", 4, "uint32", ""),
        ("end", 5, "uint32", ""),
    ),
    "SentencePieceText": (("text", 1, "string", ""), ("pieces", 2, "*Piece", ""), ("score", 3, "float", "")),
    "NBestSentencePieceText": (("nbests", 1, "*SentencePieceText", ""),),
}
CLASSES = message_classes("toksmith.sentencepiece_text", MESSAGES)
SentencePieceText: Any = CLASSES["SentencePieceText"]
NBestSentencePieceText: Any = CLASSES["NBestSentencePieceText"]
