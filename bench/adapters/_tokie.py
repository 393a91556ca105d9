"""tokie, from a `tokenizer.json`: the calls of Hugging Face's library, with the batch under another name."""

from __future__ import annotations

from ._engine import Encoding, Engine, import_peer
from ._shared import Objects

tokie = import_peer("tokie")


def load(encoding: Encoding) -> Engine:
    """From the converted file."""
    return Tokie(tokie.Tokenizer.from_json(encoding.json()))


class Tokie(Objects):
    """Calls of `tokie.Tokenizer`."""

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        return [encoding.ids for encoding in self.tok.encode_batch(texts, add_special_tokens=False)]
