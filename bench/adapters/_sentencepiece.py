"""sentencepiece: the reference for its own models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._engine import Encoding, Engine, Ids, Unsupported, as_ids, installed

sentencepiece = installed("sentencepiece")


def load(encoding: Encoding) -> Engine:
    """From the published model."""
    if encoding.kind != "sentencepiece":
        raise Unsupported("ranks are no SentencePiece model")
    return Sentencepiece(sentencepiece.SentencePieceProcessor(model_file=encoding.source))


class Sentencepiece(Engine):
    """Calls of `SentencePieceProcessor`, which returns lists."""

    def __init__(self, tok: Any) -> None:
        self.tok = tok

    def ids(self, text: str) -> Ids:
        return as_ids(self.tok.encode(text))

    def arrays(self, texts: Sequence[str]) -> list[int]:
        return self.lists(texts)

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text)) for text in texts]

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        lists: list[list[int]] = self.tok.encode(texts, num_threads=threads)
        return lists
