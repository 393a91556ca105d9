"""Hugging Face tokenizers, from a `tokenizer.json`."""

from __future__ import annotations

from ._engine import Encoding, Engine, import_peer
from ._shared import Objects

tokenizers = import_peer("tokenizers")


def load(encoding: Encoding) -> Engine:
    """From the converted file."""
    return Tokenizers(tokenizers.Tokenizer.from_file(encoding.json()))


class Tokenizers(Objects):
    """Calls of `tokenizers.Tokenizer`."""

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        return [encoding.ids for encoding in self.tok.encode_batch_fast(texts, add_special_tokens=False)]
