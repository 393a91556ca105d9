"""sentencepiece: the reference for its own models."""

from __future__ import annotations

from ._engine import Encoding, Engine, ListEngine, Unsupported, import_peer

sentencepiece = import_peer("sentencepiece")


def load(encoding: Encoding) -> Engine:
    """From the published model."""
    if encoding.kind != "sentencepiece":
        raise Unsupported("ranks are not a SentencePiece model")
    return Sentencepiece(sentencepiece.SentencePieceProcessor(model_file=encoding.source))


class Sentencepiece(ListEngine):
    """Calls of `SentencePieceProcessor`, which returns lists."""

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        lists: list[list[int]] = self.tok.encode(texts, num_threads=threads)
        return lists
