"""tokie, from a `tokenizer.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._engine import Encoding, Engine, Ids, as_ids, installed

tokie = installed("tokie")


def load(encoding: Encoding) -> Engine:
    """From the converted file."""
    return Tokie(tokie.Tokenizer.from_json(encoding.json()))


class Tokie(Engine):
    """Calls of `tokie.Tokenizer`; its encoding object makes a list when asked for `ids`."""

    def __init__(self, tok: Any) -> None:
        self.tok = tok

    def ids(self, text: str) -> Ids:
        return as_ids(self.tok.encode(text, add_special_tokens=False).ids)

    def arrays(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text, add_special_tokens=False)) for text in texts]

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text, add_special_tokens=False).ids) for text in texts]

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        return [encoding.ids for encoding in self.tok.encode_batch(texts, add_special_tokens=False)]

    def decode_lists(self, batch: Sequence[list[int]]) -> list[int]:
        decode = self.tok.decode
        return [len(decode(ids)) for ids in batch]

    def text(self, ids: list[int]) -> str:
        text: str = self.tok.decode(ids)
        return text

    def decode_arrays(self, batch: Sequence[Ids]) -> list[int]:
        decode = self.tok.decode_bytes
        return [len(decode(ids)) for ids in batch]

    def data(self, ids: Ids) -> bytes:
        data: bytes = self.tok.decode_bytes(ids)
        return data
