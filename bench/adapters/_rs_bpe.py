"""rs_bpe: two vocabularies compiled into the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._engine import Encoding, Engine, Ids, Unsupported, as_ids, installed

openai = installed("rs_bpe.bpe").openai


def load(encoding: Encoding) -> Engine:
    """The compiled-in vocabulary of this name."""
    makers = {"cl100k": openai.cl100k_base, "o200k": openai.o200k_base}
    if encoding.name not in makers:
        raise Unsupported(f"{encoding.name} is not compiled in")
    return RsBpe(makers[encoding.name]())


class RsBpe(Engine):
    """Calls of `rs_bpe.bpe.openai.Tokenizer`."""

    def __init__(self, tok: Any) -> None:
        self.tok = tok

    def ids(self, text: str) -> Ids:
        return as_ids(self.tok.encode(text))

    def arrays(self, texts: Sequence[str]) -> list[int]:
        return self.lists(texts)

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text)) for text in texts]

    def decode_lists(self, batch: Sequence[list[int]]) -> list[int]:
        decode = self.tok.decode
        return [len(decode(ids)) for ids in batch]

    def text(self, ids: list[int]) -> str:
        text: str = self.tok.decode(ids)
        return text
